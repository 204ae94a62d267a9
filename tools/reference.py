"""Train the reference solution, and so create every file that a perfect student would hand in.

    python -m tools.reference [--recipe NAME] [--edition NAME]

Copies what students get, with solutions/submission over it, to build/reference/, and runs the
commands of an edition's sheet there. Files that are up to date (by a hash of code, data and recipe)
are kept, so a second call does nothing, and an interrupted one resumes where it stopped.
Exit codes: 0 done, 1 a training failed, 2 bad input.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from autograder.description import check_recipe, load_assignment
from grading.edition import EDITION, read, to_json
from pretraining.files import write_atomically

from .archive import hash_of
from .arguments import Failed, OneLineParser, add_recipe, with_one_line_errors
from .commands import Command, pipelines_of
from .datafiles import DEV, REPO, SHIPPED, installed, require_data_set
from .telling import say, telling

TARGET = Path("build/reference")
GIVEN = (
    "environment.py",
    "host.py",
    "run.py",
    "inputs.py",
    "dataset.py",
    "london_baseline.py",
    "attention_exploration.py",
    *(f"grading/{name}.py" for name in ("__init__", "errors", "wire", "worker")),
)
STATE = "trained.json"  # which outputs are finished, and for which hash


def lay_out(repo: Path, target: Path) -> None:
    """Copy what trains of what students get, with the complete code; keep earlier outputs."""
    require_data_set(repo)
    for name in (*(f"src/{given}" for given in GIVEN), *SHIPPED):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repo / name, target / name)
    compose(repo, target / "src")


def compose(repo: Path, source: Path) -> None:
    """Create the packages that train, with the complete submission, in a folder; replace old ones.

    Its edition.json is the default edition's, with all variants: several editions' are trained.
    """
    assignment = load_assignment(repo)
    for package in (source / name for name in ("submission", "pretraining", "experiments")):
        shutil.rmtree(package, ignore_errors=True)
        package.mkdir(parents=True)
    for origin in ("src/submission", "solutions/submission", "src/pretraining", "src/experiments"):
        for path in (*(repo / origin).glob("*.py"), *(repo / origin).glob("inspect.*")):
            shutil.copy2(path, source / path.parent.name / path.name)
    students = assignment.for_students(assignment.default_edition, assignment.variants)
    (source / EDITION.name).write_bytes(to_json(students))


def fingerprint(target: Path, recipe: str, seed: int) -> str:
    """Return a hash of all that decides the outputs: code, data, recipe, seed, interpreter."""
    recipes = read(target / EDITION).for_training()  # not titles and points, which decide nothing
    digest = hashlib.sha256(json.dumps([recipe, seed, sys.version_info[:2], recipes]).encode())
    for path in sorted((target / "src").rglob("*")):
        decides = path != target / EDITION and path.parent.name != "grading"
        if path.is_file() and path.suffix != ".pyc" and decides:
            digest.update(f"\0{path.relative_to(target).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def train(repo: Path = REPO, recipe: str | None = None, editions: Iterable[str] = ()) -> Path:
    """Bring build/reference up to date; return the folder.

    Args:
        editions: those whose sheets' commands are run; by default, the default edition.

    Raises:
        Failed: a command failed.
        UsageError: a recipe, an edition or the data set is missing, or a file has a mistake.
    """
    check_recipe(repo, recipe)
    todos, target = pipelines_of(repo, editions), repo / TARGET
    lay_out(repo, target)
    # Naming the data set's own recipe explicitly changes no hash.
    run_all(todos, target, recipe or own_recipe(target), seed=0)
    return target


def own_recipe(target: Path) -> str:
    """Return the recipe that belongs to the data set, in a folder that is laid out."""
    data = read(target / EDITION).datasets.get(installed(target) or "")
    return data.recipe if data else "laptop"


def trained_with(target: Path) -> str | None:
    """Return the recipe with which a folder was trained; None if this isn't recorded."""
    return _state(target).get("recipe")


def _state(target: Path) -> dict[str, Any]:
    try:
        return json.loads((target / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def run_all(todos: Mapping[str, list[Command]], target: Path, recipe: str, seed: int) -> None:
    """Run the commands whose outputs aren't up to date; raise Failed if one fails."""
    finished = Finished(target, fingerprint(target, recipe, seed), recipe)
    for name, todo in todos.items():
        stale = False
        for command in todo:
            if not stale and command.writes in finished:
                continue
            stale = True  # whatever depends on a new file is out of date
            started = time.monotonic()
            _train(name, command, target, recipe, seed)
            finished.add(command.writes)
            done = f"{name}: {command.writes} done in {time.monotonic() - started:.0f} s."
            if command.writes.endswith(".dev.predictions"):
                dev = right(target / command.writes, target / DEV)
                share = 100 * sum(dev) / len(dev)
                done += f" Correct: {sum(dev)} of {len(dev)}, {share:.1f} percent"
            say(done)


def right(predictions: Path, answers: Path) -> list[bool]:
    """Return for each line of a predictions file whether it equals the correct place."""
    texts = (path.read_text(encoding="utf-8") for path in (predictions, answers))
    lines, rows = (text.removesuffix("\n").split("\n") for text in texts)
    return [row.endswith(f"\t{line}") for row, line in zip(rows, lines, strict=True)]


class Finished:
    """The outputs that are finished for the current fingerprint, recorded on disk."""

    def __init__(self, target: Path, key: str, recipe: str) -> None:
        self._target, self._data = target, _state(target)
        if self._data.get("fingerprint") != key:
            self._data = {"fingerprint": key, "recipe": recipe, "finished": {}}
            for checkpoint in target.glob("*.checkpoint"):
                checkpoint.unlink()  # of other code: it must not be resumed
            self._write()

    def __contains__(self, name: str) -> bool:
        written, digest = self._target / name, self._data["finished"].get(name)
        return digest is not None and written.is_file() and digest == hash_of(written)

    def add(self, name: str) -> None:
        """Record a file as it is now."""
        self._data["finished"][name] = hash_of(self._target / name)
        self._write()

    def _write(self) -> None:
        write_atomically(self._target / STATE, json.dumps(self._data, indent=1))


def _train(name: str, command: Command, target: Path, recipe: str, seed: int) -> None:
    """Run a command, resuming a training; raise Failed with the last line that it printed."""
    function, variant = command.arguments[1:3]
    options = ["--seed", str(seed), "--recipe", recipe]
    options += [] if function == "evaluate" else ["--resume"]
    log = target / "logs" / f"{command.writes}.log"
    log.parent.mkdir(exist_ok=True)

    def progress(seconds: float) -> str:
        # The last progress bar in the log.
        text = log.read_text(encoding="utf-8", errors="replace")[-2000:]
        share = (re.findall(r"(\d+)%\|", text) or ["0"])[-1]
        return f"{command.writes}: {share}% done after {seconds:.0f} s"

    with telling(f"{name}: {function} {variant} -> {command.writes}", progress=progress):
        with open(log, "wb") as output:
            code = subprocess.run(
                [sys.executable, "-X", "utf8", *command.arguments, *options],
                cwd=target,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
    if code:
        text = log.read_text(encoding="utf-8", errors="replace")
        last = text.strip().splitlines()[-1:] or ["(it printed nothing)"]
        raise Failed(f"`{command}` failed with exit code {code}: {last[0]} (see {log})")


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if done, 1 if a training failed, 2 for bad input."""
    parser = OneLineParser("python -m tools.reference", __doc__)
    add_recipe(parser)
    parser.add_argument("--edition", help="whose commands to run (default: the default edition)")
    options = parser.parse_args(arguments)
    editions = [] if options.edition is None else [options.edition]
    train(recipe=options.recipe, editions=editions)
    print(f"The reference is up to date in {TARGET.as_posix()}/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
