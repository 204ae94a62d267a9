"""Reads Moodle's grading worksheet, a CSV file with names, addresses and times.

    Identifier,Full name,Email address,Status,...,Last modified (submission),...
    Participant 657737,Ada Byron,ada@x.edu,Submitted ...,"Monday, 2 November 2026, 2:22 PM",...

Columns differ between courses, and all but `Identifier` may be missing. Moodle writes times in the
site's zone without saying so: they are taken to be in the course's.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path

from grading import printable
from grading.errors import UsageError

from .exports import Export
from .submissions import Student, Submission

IDENTIFIER, MODIFIED = "identifier", "last modified (submission)"
FIELDS = {"name": "full name", "email": "email address", "sid": "id number", "login": "username"}
TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p", "%A, %d %B %Y, %H:%M")
Row = dict[str, str]


def read_worksheet(path: Path) -> dict[str, Row]:
    """Return the rows by the participant's number; each has its cells by lower-case column.

    Raises:
        UsageError: it can't be read, or isn't a grading worksheet.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} can't be read: {error!s:.200}") from None
    head, *lines = list(csv.reader(io.StringIO(text))) or [[]]
    columns = [column.strip().lower() for column in head]
    if IDENTIFIER not in columns:
        raise UsageError(
            f"{path}:1: not Moodle's grading worksheet: got the columns {', '.join(head)!r:.200}; "
            "expected Identifier, Full name, Email address ..."
        )
    rows = (dict(zip(columns, map(str.strip, line), strict=False)) for line in lines)
    return {row[IDENTIFIER].rpartition(" ")[2]: row for row in rows if row.get(IDENTIFIER)}


def with_worksheet(export: Export, path: Path, zone: tzinfo) -> Export:
    """Return an export with the names, addresses and times of a worksheet.

    Raises:
        UsageError: the worksheet can't be read, or belongs to another assignment.
    """
    rows = read_worksheet(path)
    notes = list(export.notes)
    submissions = [_completed(one, rows, zone, notes) for one in export.submissions]
    known = {student.moodle_id for one in submissions for student in one.students}
    if not known & rows.keys():
        raise UsageError(f"{path} has nobody who is in the download: is it the same assignment's?")
    for number, row in rows.items():
        if number not in known and _time(row, zone):
            shown = printable.line(row.get(FIELDS["name"]) or number, 200)
            notes.append(f"{shown} has a time in {path.name}, but no files in the download")
    return replace(export, submissions=tuple(submissions), notes=tuple(notes))


def _completed(
    submission: Submission, rows: dict[str, Row], zone: tzinfo, notes: list[str]
) -> Submission:
    (student, *_) = submission.students
    row = rows.get(student.moodle_id or "")
    if row is None:
        notes.append(f"{submission.id} is not in the worksheet")
        return submission
    fields = {field: row[column] for field, column in FIELDS.items() if row.get(column)}
    time = _time(row, zone)
    if time is None and any(map(str.isdigit, row.get(MODIFIED, ""))):
        notes.append(f"{submission.id}: not a time: {row[MODIFIED]!r:.60}")
    completed: Student = replace(student, **fields)
    return replace(submission, students=(completed,), submitted=time)


def _time(row: Row, zone: tzinfo) -> datetime | None:
    for form in TIMES:
        with suppress(ValueError):
            return datetime.strptime(row.get(MODIFIED, ""), form).replace(tzinfo=zone)
    return None
