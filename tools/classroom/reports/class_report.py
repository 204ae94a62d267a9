"""`report DIR`: write a report on a class, as pages and as CSV files."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.isolation.leftovers import remove_tree
from autograder.pages import WIDE
from classroom.cells import write as write_csv
from grading.errors import UsageError
from grading.report import points as shown_points
from grading.report import render
from grading.results import write_atomically
from grading.verdicts import ExitCode

from ..choosing import chosen
from ..folder import ClassFolder, refuse_project
from ..handed_files import add_files, submissions_of
from ..parsers import Commands, add_command, add_folder, add_release
from ..submissions import Submission
from ..table import newest_release
from . import anonymous, csv_files, numbers
from .failures import Failure, failures
from .gathered import Gathered, Handed, gather
from .quoted import quote
from .result_pages import titles, write_result
from .when import when

INDEX = "index.html"
USUAL = ("report", "report-anonymous")  # folders in DIR
WITHHELD = Path("gradebook") / "withheld.csv"  # see the gradebook
EMPTY: frozenset[str] = frozenset()
MOST_EXAMPLES = 40  # with code, for each of which a submission is staged
MOST_WHO = 200  # names in a list
MOST_MESSAGE = 2_000  # characters of an example's message


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "report",
        run,
        "write a report on the class, as web pages and as CSV files",
        "Write index.html and CSV files about the class and, for each submission, a page as its "
        "student would see it and a page for staff.",
    )
    add_folder(command)
    add_release(command)
    command.add_argument(
        "--into",
        type=Path,
        metavar="FOLDER",
        help="where to write it; default: DIR/report, or DIR/report-anonymous",
    )
    command.add_argument(
        "--withheld",
        type=Path,
        metavar="FILE",
        help="students who get no page, in a file like that of --students of `regrade`; default: "
        "DIR/gradebook/withheld.csv, if it exists",
    )
    command.add_argument(
        "--anonymous",
        action="store_true",
        help="use pseudonyms, and leave out code, students' texts and students' pages",
    )
    add_files(command)


def run(asked: argparse.Namespace) -> int:
    """Write a report."""
    folder = ClassFolder.existing(asked.folder)
    with folder.locked():
        gathered = gather(folder, asked.release or newest_release(folder))
        withheld = _withheld(folder, asked.withheld)
        usual = folder.path / USUAL[asked.anonymous]
        target = _target(usual if asked.into is None else asked.into)
        draft = target.with_name(f".{target.name}.draft")
        remove_tree(draft)
        draft.mkdir(mode=0o700, parents=True)
        try:
            files = {} if asked.anonymous else _files(folder, asked)
            key = anonymous.key_of(folder) if asked.anonymous else None
            _write(draft, gathered, files, key, withheld)
            remove_tree(target)
            os.replace(draft, target)
        finally:
            remove_tree(draft)
    print(f"{target / INDEX}: {len(gathered.counted)} of {len(gathered.handed)} submissions")
    return ExitCode.OK


def _withheld(folder: ClassFolder, file: Path | None) -> frozenset[str]:
    """Return the submissions of students whose grades are withheld."""
    usual = folder.path / WITHHELD
    if file is None and usual.is_file():  # it may name people who didn't hand in code
        return chosen(folder, usual, lambda line: print(f"note: {line}", file=sys.stderr)) or EMPTY
    return chosen(folder, file) or EMPTY


def _target(path: Path) -> Path:
    """Return the folder to write to; an existing one has to be a report.

    Raises:
        UsageError: if it contains something else, or is in the repository.
    """
    path = path.resolve()
    refuse_project(path)
    if path.exists() and not (path / INDEX).is_file() and any(path.iterdir()):
        raise UsageError(f"--into {path} contains something else; expected a new folder")
    return path


def _files(folder: ClassFolder, asked: argparse.Namespace) -> dict[str, Submission]:
    """Return the submissions whose files are still there, by id."""
    try:
        found = submissions_of(folder, asked, lambda line: print(line, file=sys.stderr))
    except UsageError as error:
        print(f"note: examples are shown without code: {error}", file=sys.stderr)
        return {}
    return {one.submission_id: one for one in found}


def _write(
    place: Path,
    gathered: Gathered,
    files: dict[str, Submission],
    key: bytes | None,
    withheld: frozenset[str],
) -> None:
    """Write all files of a report.

    Args:
        files: the submissions from which examples quote code.
        key: the key of the pseudonyms; None for names.
    """
    known = titles()

    def called(one: Handed) -> str:
        return one.submission_id if key is None else anonymous.pseudonym(key, one.submission_id)

    questions, tests = numbers.questions(gathered), numbers.tests(gathered)
    found, measured = failures(gathered), numbers.measured(gathered)
    at = when(gathered)
    pages = {} if key is not None else _pages(place, gathered, known, withheld)
    text = render(
        Path(__file__).with_name("report.html.j2"),
        WIDE,
        title="Report on the class",
        release=gathered.release,
        is_anonymous=key is not None,
        handed=[_row(one, called, pages, key is None) for one in gathered.handed],
        counted=len(gathered.counted),
        max_score=shown_points(gathered.max_score),
        scores=numbers.spread([float(one.score) for one in gathered.counted]),
        bins=numbers.histogram(
            [float(one.score) for one in gathered.counted], float(gathered.max_score)
        ),
        questions=questions,
        titles=known,
        tests=tests,
        everybody=[t.test_id for t in tests if t.passed == t.total],
        nobody=[t.test_id for t in tests if not t.passed],
        failures=[
            _failure(failure, number, files, called, key is None, pages)
            for number, failure in enumerate(found)
        ],
        measured=measured,
        when=at,
        late=[called(one) for one in at.late],
        points=shown_points,
    )
    write_atomically(place / INDEX, text)
    for name, text in csv_files.files(
        gathered, questions, tests, found, measured, at, called
    ).items():
        write_atomically(place / name, text)


def _row(
    one: Handed, called: Callable[[Handed], str], pages: dict[str, str], named: bool
) -> dict[str, Any]:
    """Return what the index shows of a submission."""
    fault = one.record["fault"] if one.record is not None and named else ""
    return {
        "id": called(one),
        "names": one.names if named else "",
        "status": one.status,
        "fault": fault.splitlines()[0] if fault else "",
        "score": shown_points(one.score) if one.is_counted else "",
        "page": pages.get(one.submission_id, ""),
        "varied": [(test_id, ends.most_common()) for test_id, ends in one.varied.items()],
    }


def _failure(
    failure: Failure,
    number: int,
    files: dict[str, Submission],
    called: Callable[[Handed], str],
    named: bool,
    pages: dict[str, str],
) -> dict[str, Any]:
    """Return what the index shows about a way to fail; an example only if names are shown."""
    example = failure.example
    shown: dict[str, Any] = {
        "failure": failure,
        "who": [called(one) for one in failure.handed[:MOST_WHO]],
        "more": max(0, len(failure.handed) - MOST_WHO),
        "message": "",
        "quoted": None,
        "example": "",
        "page": "",
    }
    if not named or example is None:
        return shown
    quoted = None
    if number < MOST_EXAMPLES:
        quoted = quote(files.get(example.submission_id), failure)
    return shown | {
        "who": [f"{one.names} ({one.submission_id})" for one in failure.handed[:MOST_WHO]],
        "message": failure.message[:MOST_MESSAGE],
        "quoted": quoted,
        "example": example.names,
        "page": pages.get(example.submission_id, ""),
    }


def _pages(
    place: Path, gathered: Gathered, known: dict[str, str], withheld: frozenset[str]
) -> dict[str, str]:
    """Write a page for each student, and one for staff; return links to the latter."""
    rows = [["name", "sid", "email", "submission", "page"]]
    found = {}
    for one in gathered.handed:
        if one.record is None:
            continue
        path = Path("staff") / f"{one.submission_id}.html"
        title = f"{one.submission_id}, {one.status}"
        write_result(place / path, one.record, one.names, staff=True, known=known, note=title)
        found[one.submission_id] = path.as_posix()
        if one.submission_id in withheld or not one.is_counted:
            continue
        for student in one.entry.students:
            name = hashlib.sha256(student.key.encode("utf-8", "replace")).hexdigest()[:12]
            own = Path("students") / one.submission_id / f"{name}.html"
            write_result(place / own, one.record, student.name, staff=False, known=known)
            cells = [student.name, student.sid or "", student.email or ""]
            rows.append([*cells, one.submission_id, own.as_posix()])
    write_atomically(place / "pages.csv", write_csv(rows))
    return found
