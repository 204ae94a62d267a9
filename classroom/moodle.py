"""Reads Moodle's grading worksheet, a CSV file with names, addresses and times.

    Identifier,Full name,Email address,Status,...,Last modified (submission),...
    Participant 657737,Ada Byron,ada@x.edu,Submitted ...,"Monday, 2 November 2026, 2:22 PM",...

Columns differ between courses, and all but `Identifier` may be missing. Moodle writes times in the
site's zone without saying so: they are taken to be in the course's.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path

from grading import printable
from grading.errors import UsageError

from . import cells
from .cells import Row, Sheet
from .exports import Export
from .submissions import Submission

IDENTIFIER, MODIFIED = "Identifier", "Last modified (submission)"
FIELDS = {"name": "Full name", "email": "Email address", "sid": "ID number", "login": "Username"}
TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p", "%A, %d %B %Y, %H:%M")


def with_worksheet(export: Export, path: Path, zone: tzinfo) -> Export:
    """Return an export with the names, addresses and times of a worksheet.

    Raises:
        UsageError: the worksheet can't be read, or belongs to another assignment.
    """
    sheet = cells.table(cells.read(path), (IDENTIFIER,), None)
    rows = {sheet.cell(row, IDENTIFIER).rpartition(" ")[2]: row for row in sheet.rows[1:]}
    notes = list(export.notes)
    submissions = [_completed(one, sheet, rows, zone, notes) for one in export.submissions]
    known = {student.moodle_id for one in submissions for student in one.students}
    if not known & rows.keys():
        raise UsageError(f"{path} has nobody who is in the download: is it the same assignment's?")
    for number, row in rows.items():
        if number not in known and _time(sheet.cell(row, MODIFIED), zone):
            shown = printable.line(sheet.cell(row, FIELDS["name"]) or number, 200)
            notes.append(f"{shown} has a time in {path.name}, but no files in the download")
    return replace(export, submissions=tuple(submissions), notes=tuple(notes))


def _completed(
    submission: Submission, sheet: Sheet, rows: dict[str, Row], zone: tzinfo, notes: list[str]
) -> Submission:
    (student, *_) = submission.students
    row = rows.get(student.moodle_id or "")
    if row is None:
        notes.append(f"{submission.id} is not in the worksheet")
        return submission
    texts = {field: sheet.cell(row, column) for field, column in FIELDS.items()}
    text = sheet.cell(row, MODIFIED)
    time = _time(text, zone)
    if time is None and any(map(str.isdigit, text)):
        notes.append(f"{submission.id}: not a time: {text!r:.60}")
    student = replace(student, **{field: text for field, text in texts.items() if text})
    return replace(submission, students=(student,), submitted=time)


def _time(text: str, zone: tzinfo) -> datetime | None:
    for form in TIMES:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=zone)
    return None
