"""Build the autograder for Gradescope, and verify it with two submissions.

    python -m tools.autograder [--edition NAME] [--recipe NAME]

dist/autograder-EDITION.zip contains setup.sh, run_autograder, the grader, the solutions, the
answers, the data, and manifest.json with a hash of each file. The same inputs give the same bytes.
The build fails unless the reference submission passes every test through the zip, those without
points, too, and the untouched starter earns 0, or what everybody gets for dropped tests. Both are
saved beside the zip for Gradescope's "Test Autograder", with the expected scores in their names.
Files in dist/ are replaced only when all of them are built and verified.
Exit codes: 0 built and verified; 1 failed, with the reason; 2 wrong usage, a mistake in
assignment.toml or course.toml, or no data set.
"""

import hashlib
import json
import os
import secrets
import sys
import tempfile
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from decimal import Decimal
from pathlib import Path

from autograder.description import (
    ASSIGNMENT,
    ERRATA,
    REPO,
    check_recipe,
    editions,
    load_assignment,
)
from grading.edition import EDITION, to_json
from pretraining.files import save_atomically

from . import archive, container, emulate, leaks, reference, starter
from .arguments import Failed, OneLineParser, add_editions, add_recipe, with_one_line_errors
from .datafiles import GRADING_SECRET, require_data_set
from .exchange import adding
from .starter import GIVEN
from .telling import telling

SCRIPTS = ("setup.sh", "run_autograder")
SCRIPTS_FROM = Path("tools/gradescope")
# The allow-list of the zip: each entry is a file, or a pattern that must match some.
TAKEN = (
    "requirements.txt",
    "requirements-autograder.txt",
    "constraints.txt",
    "LICENSE",
    "autograder/**/*.py",
    "autograder/**/*.json",
    "autograder/templates/*",
    "src/environment.py",
    "src/host.py",
    "src/grader.py",
    "src/grading/**/*.py",
    "src/grading/templates/*",
    "src/questions/**/*.py",
    "src/questions/*/hints.toml",
    "src/data/*",
    "src/pretraining/*.py",
    *(f"src/submission/{name}" for name in GIVEN),
    "solutions/hidden/*.py",
    "solutions/submission/*.py",
    "solutions/data/birth_test.tsv",
    GRADING_SECRET,
)
SOURCES = (*TAKEN, ASSIGNMENT, ERRATA, *(f"{SCRIPTS_FROM.as_posix()}/{s}" for s in SCRIPTS))


def contents(repo: Path, edition: str) -> dict[str, bytes]:
    """Return every file in the zip by its name there; raise Failed if one is missing."""
    files = archive.files_of(repo, TAKEN)
    # Gradescope has no pydantic; it reads what this module resolves:
    del files["autograder/description.py"]
    files[EDITION.as_posix()] = to_json(load_assignment(repo))
    files |= contents_of_scripts(repo, edition)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    files["manifest.json"] = (json.dumps(hashes, indent=1) + "\n").encode()
    return files


def check(repo: Path, names: list[str], recipe: str | None) -> None:
    """Find what would make the build fail, before any training; raise UsageError or Failed."""
    check_recipe(repo, recipe)
    require_data_set(repo)
    keep_secret(repo)
    for name in names:
        contents(repo, name)


def contents_of_scripts(repo: Path, edition: str) -> dict[str, bytes]:
    """Return an edition's setup.sh and run_autograder, with the Python of assignment.toml."""
    python = load_assignment(repo).gradescope_python
    scripts = {}
    for name in SCRIPTS:
        text = (repo / SCRIPTS_FROM / name).read_text(encoding="utf-8")
        scripts[name] = text.replace("@PYTHON@", python).replace("@EDITION@", edition).encode()
    return scripts


def keep_secret(repo: Path) -> None:
    """Create the secret from which runs' seeds are derived, once per data set.

    Because of it, no student can predict a seed.
    """
    path = repo / GRADING_SECRET
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        secret = secrets.token_hex(32).encode() + b"\n"
        save_atomically(lambda file: file.write(secret), path, 0o600)


def hand_in(repo: Path, edition: str, trained: Path) -> dict[str, bytes]:
    """Return what a perfect student hands in; `trained` is a folder like build/reference."""
    code = starter.package_of(repo, edition) | starter.reference_of(repo, edition)
    files = {f"submission/{name}": content for name, content in code.items()}
    outputs = [trained / name for name in load_assignment(repo).edition(edition).required_files]
    return files | {path.name: path.read_bytes() for path in outputs if path.is_file()}


def build(
    repo: Path,
    edition: str,
    trained: Path,
    dist: Path,
    limits: container.Limits = container.GRADESCOPE,
    upload: bytes | None = None,
) -> list[str]:
    """Build one edition's zip and the two test submissions; return a summary, line by line.

    Args:
        trained: a folder like build/reference.
        limits: of the container in which the zip is verified.
        upload: the reference submission as the students' command packs it; None: as `hand_in`.

    Raises:
        Failed: the reference fails a test, or the starter earns a point; no zip is written.
    """
    files, untouched = contents(repo, edition), starter.package_of(repo, edition)
    search = leaks.Search(leaks.secrets_of(repo), leaks.facts_of(repo, edition))
    submissions = {
        "reference": upload or archive.packed(hand_in(repo, edition, trained)),
        "starter": archive.packed({f"submission/{name}": c for name, c in untouched.items()}),
    }
    dist.mkdir(parents=True, exist_ok=True)
    # Both are graded at once: each has half a CPU.
    with tempfile.TemporaryDirectory(dir=dist) as folder, ThreadPoolExecutor() as pool:
        zipped = Path(folder, f"autograder-{edition}.zip")
        archive.write(zipped, files, SCRIPTS)
        built, lines = [zipped], [archive.line_about(zipped, files)]
        proofs: dict[Path, Future[tuple[str, str]]] = {}
        try:
            for kind, submission in submissions.items():
                path = Path(folder, f"{kind}.zip")
                path.write_bytes(submission)
                proofs[path] = pool.submit(_prove, repo, edition, zipped, path, limits, search)
            ended = wait(proofs.values(), return_when=FIRST_EXCEPTION).done
            for proof in filter(ended.__contains__, proofs.values()):
                proof.result()  # raises what it raised: the reference's words first
        finally:
            # If one failed, or at Ctrl-C, the other one is of no use; it may be about to start.
            while wait(proofs.values(), timeout=0.1).not_done:
                container.stop()
        for path, proof in proofs.items():
            points, costs = proof.result()
            name = f"test-{edition}-{path.stem}-expect-{points}.zip"
            built.append(path.rename(path.with_name(name)))
            lines.append(f"dist/{built[-1].name}: earned {points}; {costs}")
        for path in built:
            os.replace(path, dist / path.name)
    return lines


def _prove(
    repo: Path,
    edition: str,
    zipped: Path,
    submission: Path,
    limits: container.Limits,
    search: leaks.Search,
) -> tuple[str, str]:
    """Grade reference.zip or starter.zip through the autograder's; return points and costs."""
    kind = submission.stem
    described = load_assignment(repo).edition(edition)
    dropped = sum((test.max_score for test in described.tests if test.dropped), Decimal(0))
    expected = described.coding if kind == "reference" else dropped
    points = f"{expected.normalize():f}"
    with telling(f"{edition}: grading the {kind} through the zip"):
        result = emulate.grade(zipped, submission, limits=limits)
    if result.score != expected:
        raise Failed(
            f"{edition}: the {kind} earns {result.score} through the zip, expected {points}\n"
            + result.reasons()
        )
    if kind == "reference" and (unpassed := result.unpassed(described)):
        raise Failed(
            f"{edition}: the reference does not pass every test through the zip: "
            f"{', '.join(unpassed)}\n{result.reasons()}"
        )
    shown = json.dumps(result.results, ensure_ascii=False).encode()
    if leaked := search.find("results.json", shown):
        raise Failed(f"{edition}: the {kind}'s result, which students see, leaks: {leaked[0]}")
    return points, result.run.costs()


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if all was built, 1 if something failed, 2 for bad input."""
    parser = OneLineParser("python -m tools.autograder", __doc__)
    add_editions(parser)
    add_recipe(parser)
    options = parser.parse_args(arguments)
    names = editions(REPO, options.edition)
    check(REPO, names, options.recipe)
    trained = reference.train(recipe=options.recipe, editions=names)
    # Another edition's name may begin with this one's and a hyphen.
    kinds = ("reference", "starter")
    older = [f"test-{name}-{kind}-expect-*.zip" for name in names for kind in kinds]
    with adding(REPO / "dist", REPO / "build" / "autograder", older) as draft:
        for edition in names:
            for line in build(REPO, edition, trained, draft):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
