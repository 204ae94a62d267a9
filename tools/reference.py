"""Train the reference solution: every file that a perfect student would hand in.

    python -m tools.reference [--recipe NAME] [--seed N]

Lays solutions/submission over a copy of what students get, in build/reference/, and runs the
commands of the problem sheet there. What is up to date (by a hash of code, data and recipe) is
kept, so that the second call costs nothing and an interrupted one goes on where it was.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .commands import PIPELINES, Command
from .datafiles import DATASET, DEV, REPO, TEST_INPUTS, TRAIN, UNSEEN_INPUTS, WIKI

TARGET = REPO / "build" / "reference"
GIVEN = ("run.py", "dataset.py", "london_baseline.py", "attention_exploration.py")
DATA = (WIKI, TRAIN, DEV, TEST_INPUTS, UNSEEN_INPUTS, DATASET)
STATE = "trained.json"  # what was finished, and for which hash


class TrainingFailed(Exception):
    """A command of the sheet failed with the reference's code; `str()` says which and why."""


def lay_out(repo: Path, target: Path) -> None:
    """Copy what students get, and the complete submission over it; outputs stay."""
    (target / "src").mkdir(parents=True, exist_ok=True)
    for name in GIVEN:
        shutil.copy2(repo / "src" / name, target / "src" / name)
    package = target / "src" / "submission"
    shutil.rmtree(package, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(repo / "solutions" / "submission", package, ignore=ignored)
    (target / "src" / "data").mkdir(exist_ok=True)
    for name in DATA:
        shutil.copy2(repo / name, target / name)


def fingerprint(target: Path, recipe: str | None, seed: int) -> str:
    """A hash of all that decides what comes out: code, data, recipe, seed, interpreter."""
    digest = hashlib.sha256(json.dumps([recipe, seed, sys.version_info[:2]]).encode())
    for path in sorted((target / "src").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            digest.update(f"\0{path.relative_to(target).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def train(
    repo: Path = REPO,
    target: Path = TARGET,
    recipe: str | None = None,
    seed: int = 0,
    say: Callable[[str], None] = print,
) -> Path:
    """Bring build/reference up to date; return the folder.

    The three pipelines run side by side, one core each: two of them finish sooner so than one
    after another on two cores.

    Raises:
        TrainingFailed: a command failed.
    """
    lay_out(repo, target)
    state = _State(target / STATE, fingerprint(target, recipe, seed))
    waiting = [_Pipeline(name, todo) for name, todo in PIPELINES.items()]
    lock, failures = threading.Lock(), []

    def work() -> None:
        while not failures:
            with lock:
                if not waiting:
                    return
                pipeline = waiting.pop()  # the longest first: synthesizer, vanilla
            try:
                pipeline.run(target, state, recipe, seed, say)
            except TrainingFailed as failure:
                failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(min(2, os.cpu_count() or 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return target


class _State:
    """Which outputs are finished for the present fingerprint, on disk."""

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            known = {}
        fresh = {"fingerprint": key, "finished": {}}
        self._data = known if known.get("fingerprint") == key else fresh

    def is_finished(self, command: Command) -> bool:
        written = self._path.parent / command.writes
        digest = self._data["finished"].get(command.writes)
        return digest is not None and written.is_file() and digest == _hash(written)

    def finish(self, command: Command) -> None:
        with self._lock:
            self._data["finished"][command.writes] = _hash(self._path.parent / command.writes)
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(json.dumps(self._data, indent=1), encoding="utf-8")
            os.replace(temporary, self._path)


class _Pipeline:
    """The commands of one question, in order."""

    def __init__(self, name: str, todo: list[Command]) -> None:
        self.name, self._todo = name, todo

    def run(self, target: Path, state: _State, recipe: str | None, seed: int, say) -> None:
        stale = False
        for command in self._todo:
            if not stale and state.is_finished(command):
                continue
            stale = True  # what builds on a fresh file is out of date
            started = time.monotonic()
            say(f"{self.name}: {' '.join(command.arguments[1:3])} -> {command.writes} ...")
            output = _execute(command, target, recipe, seed)
            state.finish(command)
            scores = [line for line in output.splitlines() if line.startswith("Correct:")]
            took = f"{time.monotonic() - started:.0f} s"
            say(f"{self.name}: {command.writes} done in {took}. {' '.join(scores)}".rstrip())


def _execute(command: Command, target: Path, recipe: str | None, seed: int) -> str:
    extra = ["--seed", str(seed)] + (["--recipe", recipe] if recipe else [])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    log = target / "logs" / f"{command.writes}.log"
    log.parent.mkdir(exist_ok=True)
    with open(log, "w+", encoding="utf-8", errors="replace") as output:
        status = subprocess.run(
            [sys.executable, *command.arguments, *extra],
            cwd=target,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
        output.seek(0)
        text = output.read()
    if status != 0:
        last = text.strip().splitlines()[-1:] or ["(it printed nothing)"]
        raise TrainingFailed(f"`{command}` failed with exit code {status}: {last[0]} (see {log})")
    return text


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 done, 1 a training failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", help="default: the installed data set's")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    try:
        train(recipe=asked.recipe, seed=asked.seed)
    except TrainingFailed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    print(f"The reference is up to date in {TARGET.relative_to(REPO)}/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
