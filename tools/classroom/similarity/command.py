"""`similar SOURCE --into DIR`: show which submissions share something that few others have."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from tqdm import tqdm  # type: ignore[import-untyped]

from autograder import solutions
from grading import paths
from grading.edition import load_assignment
from grading.errors import DataError, UsageError
from grading.verdicts import ExitCode
from questions.provided import PROVIDED, CourseData

from ..folder import ClassFolder
from ..listing import add_source, summary
from ..parsers import USUAL, Commands, add_command, add_into
from ..roster import read_class
from . import pair_pages, reading, storage, texts
from .comparison import compare
from .tokens import View

MOST = 30
RESULTS = paths.ROOT / "build" / "reference"  # what `make reference` trains
EPILOG = (
    f"{USUAL}. The pages set no threshold and give no verdict. Before you talk to anybody, read "
    "the section 'Similarity' in docs/grading-a-class.md."
)


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "similar",
        run,
        "show which submissions share something that few others have",
        "Rank pairs of submissions by what they share that few others have, and write pages with "
        "both texts to DIR/similar/. Open DIR/similar/index.html in a browser.",
        EPILOG,
    )
    add_source(command)
    add_into(command)
    command.add_argument(
        "--references",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="also compare with the folders and zips in these, such as earlier years or clones of "
        "public repositories",
    )
    command.add_argument(
        "--pairs",
        type=int,
        default=MOST,
        metavar="N",
        help=f"how many pairs each list shows; default: {MOST}",
    )


def run(asked: argparse.Namespace) -> int:
    """Compare, write the pages, and say where they are."""
    if not 1 <= asked.pairs <= 1_000:
        raise UsageError(f"--pairs {asked.pairs} should be a number from 1 to 1000")
    roll = read_class(asked.source, asked.attempts)
    print(summary(roll))
    notes = list(roll.notes)
    known = texts.known_code()
    # Whoever was in a group at any time may know everything that the group handed in.
    groups = {
        one.submission_id: frozenset(student.key for student in one.students)
        for one in read_class(asked.source, "all").submissions
    }
    folder = ClassFolder.create(asked.into)
    handed = reading.Handed()
    with folder.locked():
        folder.enroll(roll.submissions)
        for one in tqdm(roll.submissions, unit="submission", disable=not sys.stderr.isatty()):
            authors = groups.get(one.submission_id, frozenset()) | {s.key for s in one.students}
            reading.read_submission(handed, one, authors, known, PROVIDED, notes.append)
        for references in asked.references:
            reading.read_references(handed, references, known, notes.append)
        ours = reading.known_results(RESULTS, notes.append)
        if handed.parameters and not ours[0]:
            notes.append(
                "build/reference/ has no parameters, so copies of the reference's would not be "
                "recognized; train them with `make reference`"
            )
        found = compare(handed, known, ours, _places(notes), asked.pairs)
        found.notes = notes
        try:
            with storage.replaced(folder) as target:
                pair_pages.write(
                    target, found, {one.submission_id: one for one in roll.submissions}
                )
        except OSError as error:
            raise UsageError(f"{folder.path} can't be written: {error.strerror}") from None
    for note in notes:
        print(f"note: {note}")
    pairs = found.within[View.NAMES].usual.pairs
    print(f"{pairs} pairs compared, {len(found.pairs())} of them have a page")
    print(f"Open {folder.path / storage.NAME / pair_pages.INDEX} in a browser")
    return ExitCode.OK


def _places(notes: list[str]) -> dict[str, list[str]]:
    """Return the right answers of each split whose answers are available."""
    data = CourseData(load_assignment(paths.ROOT), paths.DATA, solutions.ANSWERS)
    found = {}
    for split in ("dev", "test"):
        with contextlib.suppress(DataError):
            places = data.places(split)
            if places is not None:
                found[split] = places
    if len(found) < 2:
        missing = " and ".join(sorted({"dev", "test"} - set(found)))
        notes.append(f"predictions for {missing} are not compared: the answers are missing")
    return found
