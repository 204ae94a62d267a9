"""Build everything that a term needs, verify it, and print a summary.

    python -m tools.release [--edition NAME] [--recipe NAME] [--paper a4|letter]

For each edition, builds the handout, the student release and the autograder. Then the reference's
code and trained files are put into an unpacked student release, graded there, packed by the
students' command, and graded by the autograder; the release fails unless they pass every test,
those without points, too. dist/manifest.json
contains a hash of each file. Whatever can be checked early is checked before anything is trained or
built. dist/ is replaced as a whole at the end, so a release that fails leaves the last good one.
Exit codes: 0 released; 1 failed, with the reason; 2 wrong usage, a mistake in assignment.toml or
course.toml, or no data set.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from decimal import Decimal
from pathlib import Path

from autograder.description import REPO, UsageError, check_recipe, editions, load_assignment

from . import autograder, dist, emulate, reference, starter, student
from .arguments import OneLineParser, add_editions, add_paper, add_recipe
from .exchange import rebuilding
from .handout.description import describe
from .handout.templates import HandoutError, plain
from .telling import telling

ORIGINS = student.ORIGINS | autograder.ORIGINS


def prove(repo: Path, edition: str, trained: Path, folder: Path) -> str:
    """Do as a perfect student: unpack, write the code, train (here: copy), collect, upload.

    Raises:
        ReleaseFailed: a students' command reports a fault, or a test doesn't pass.
    """
    described = load_assignment(repo).edition(edition)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / student.FOLDER
        with zipfile.ZipFile(folder / f"{edition}-student.zip") as opened:
            opened.extractall(place)
        for name, content in starter.reference_of(repo, edition).items():
            (copy / "src/submission" / name).write_bytes(content)
        for name in described.required_files:
            shutil.copyfile(trained / name, copy / name)
        for script in ("grader.py", "collect_submission.py"):
            _run_as_student(edition, copy, script)
        upload = copy / "assignment5.zip"
        with telling(f"{edition}: grading the reference through the release"):
            seen = emulate.grade(folder / f"autograder-{edition}.zip", upload)
    score = seen.score
    if score != described.coding:
        raise student.ReleaseFailed(
            f"{edition}: through the release the reference earns {score} of {described.coding}\n"
            + seen.reasons()
        )
    if unpassed := seen.unpassed(described):
        raise student.ReleaseFailed(
            f"{edition}: through the release the reference does not pass every test: "
            f"{', '.join(unpassed)}\n{seen.reasons()}"
        )
    earned = f"{plain(score)} of {plain(described.coding)} points"
    return f"  reference through the release: {earned}; {seen.costs()}"


def _run_as_student(edition: str, folder: Path, script: str) -> None:
    """Run a script of an unpacked student release that holds the reference's work."""
    with telling(f"{edition}: running {script} in the student release"):
        ran = subprocess.run(
            [sys.executable, "-X", "utf8", f"src/{script}"],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
        )
    if ran.returncode:
        raise student.ReleaseFailed(
            f"{edition}: {script} failed with exit code {ran.returncode} "
            f"for the reference:\n{ran.stdout}{ran.stderr}".rstrip()
        )


def summary(repo: Path, edition: str) -> str:
    """Return a line on an edition's points."""
    questions = describe(repo, edition).edition.questions
    coding = sum((q.coding for q in questions), Decimal(0))
    written = sum((q.written for q in questions), Decimal(0))
    return (
        f"{edition}: {len(questions)} questions, {plain(coding)} coding points, "
        f"{plain(written)} written points"
    )


def release(repo: Path, editions: list[str], recipe: str | None, paper: str) -> None:
    """Build and verify all editions, and print the progress.

    Raises:
        ReleaseFailed, HandoutError, autograder.BuildFailed, emulate.EmulatorFailed,
        reference.TrainingFailed, UsageError: with the reason.
    """
    check_recipe(repo, recipe)
    student.check(repo, editions)
    autograder.check(repo, editions, recipe)
    trained = reference.train(repo, recipe=recipe, editions=editions)
    # As a whole, so that no file of another release remains among these.
    with rebuilding(repo / "dist", repo / "build" / "release") as folder:
        for edition in editions:
            _build(repo, edition, trained, paper, folder)
        listed = dist.manifest(repo, folder, ORIGINS)
        dist.write_manifest(folder, listed)
    size = sum(entry["bytes"] for entry in listed.values()) / 2**20
    print(f"{len(listed)} files in dist/, {size:.1f} MiB; {dist.MANIFEST} contains their hashes")


def _build(repo: Path, edition: str, trained: Path, paper: str, folder: Path) -> None:
    """Build and verify an edition in a folder."""
    print(summary(repo, edition), flush=True)
    print(f"  {student.release(repo, edition, paper, folder)[1]}", flush=True)
    for line in autograder.build(repo, edition, trained, folder):
        print(f"  {line}", flush=True)
    print(prove(repo, edition, trained, folder), flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.release", __doc__)
    add_editions(parser)
    add_recipe(parser)
    add_paper(parser)
    asked = parser.parse_args(arguments)
    try:
        release(REPO, editions(REPO, asked.edition), asked.recipe, asked.paper)
    except (
        UsageError,
        student.ReleaseFailed,
        HandoutError,
        autograder.BuildFailed,
        emulate.EmulatorFailed,
        reference.TrainingFailed,
    ) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2 if isinstance(failure, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
