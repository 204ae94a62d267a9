"""`table --in DIR`: the results as CSV, with a line for each student."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from classroom.cells import Number, write
from grading import printable
from grading.errors import UsageError
from grading.results import write_atomically
from grading.verdicts import ExitCode

from .folder import ClassFolder, read_json
from .parsers import Commands, add_command, add_in, add_release
from .records import Record
from .regrading.history import counting
from .submissions import RollEntry, Student

HEAD = ("name", "sid", "email", "submission", "created_at", "late", "status", "score", "max_score")


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "table",
        run,
        "print the result of each student as CSV",
        "Print a line for each student as CSV. A submission without a result has no score: a staff "
        "fault never counts as zero.",
    )
    add_in(command)
    add_release(command)
    command.add_argument(
        "--csv", type=Path, metavar="FILE", help="write the table to this file instead"
    )


def run(asked: argparse.Namespace) -> int:
    """Print or write the table."""
    folder = ClassFolder.existing(asked.folder)
    rows = table(folder, asked.release or newest_release(folder))
    if asked.csv is None:
        # A terminal would obey the escapes in a name.
        printed = [[c if isinstance(c, Number) else printable.line(c) for c in row] for row in rows]
        sys.stdout.write(write(printed))
    else:
        write_atomically(asked.csv, write(rows))
    return ExitCode.OK


def newest_release(folder: ClassFolder) -> str:
    """Return the release whose results count, which was graded or applied last.

    A regrade that wasn't applied doesn't count.

    Raises:
        UsageError: if there are no records.
    """
    found = dict(counting(folder))
    if not found:
        raise UsageError(f"{folder.path} has no records yet; run `grade SOURCE --into DIR`")
    return max(found, key=found.__getitem__)


def table(folder: ClassFolder, release: str) -> list[list[str | Number]]:
    """Return the rows of a release's table.

    Raises:
        UsageError: if the release has no records.
    """
    records = {r.submission_id: read_json(r.path) for r in folder.records_of(release)}
    tests = _tests(records)
    rows: list[list[str | Number]] = [[*HEAD, *tests]]
    for submission_id, entry in sorted(folder.roll().items()):
        for student in entry.students:
            record = records.get(submission_id)
            row = _row(student, submission_id, entry, record, tests)
            rows.append([c if isinstance(c, str) else Number(str(c)) for c in row])
    return rows


def _tests(records: dict[str, Record]) -> list[str]:
    for record in records.values():
        if record["results"] is not None:
            return [test["test_id"] for test in record["results"]["tests"]]
    return []


def status(record: Record | None) -> str:
    """Return in a few words whether there is a result."""
    if record is None:
        return "not graded"
    if record["fault"]:
        return "staff fault"
    if record["again"]:
        return "not finished"
    words = "nothing to grade" if record["refused"] else "graded"
    return words if record["counts"] else f"{words} (preview)"


def _row(
    student: Student,
    submission_id: str,
    entry: RollEntry,
    record: Record | None,
    tests: list[str],
) -> Iterator[Any]:
    yield from (student.name, student.sid or "", student.email or "", submission_id)
    yield entry.created_at.isoformat() if entry.created_at else ""
    yield "late" if entry.late else ""
    yield status(record)
    results = record["results"] if record is not None else None
    if results is None or record is None or record["again"]:
        yield from ("", "", *("" for _ in tests))
        return
    yield from (results["score"], results["max_score"])
    scores = {test["test_id"]: test["score"] for test in results["tests"]}
    yield from (scores.get(test, "") for test in tests)
