"""Decisions of staff about individual students, each with a reason, an author and a date.

In each file, the column `student` contains the ID of a submission, which means everybody in its
group, or a student ID, or an e-mail address. An ID that may mean different people is refused, also
if it is the number of one, and that of another after a spreadsheet has removed its leading zeros.
So are two rows for the same student (in overrides, also for the same question), even if they use
different IDs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

from ..submissions import same
from .cells import Row, Table, read, table
from .people import Alias, Directory, Person, Unclear
from .written import time_of

WHY = ("reason", "author", "date")
DAYS_LATE = "days_late"  # an override's question that stands for the number of days late
COLUMNS = {
    "overrides.csv": ("student", "question", "points", *WHY),
    "extensions.csv": ("student", "due", *WHY),
    "excuses.csv": ("student", *WHY),
    "withheld.csv": ("student", *WHY),
    "late_days.csv": ("student", "days"),
    "people.csv": ("student", "same_as"),
}


@dataclass(frozen=True)
class Why:
    """Who decided, when and why; `where` is the row."""

    where: str
    reason: str = ""
    author: str = ""
    date: str = ""

    def __str__(self) -> str:
        said = f"{self.reason}; {self.author}, {self.date}; " if self.reason else ""
        return said + self.where


@dataclass(frozen=True)
class Override:
    """Points that replace others."""

    question: str
    points: Fraction
    why: Why


@dataclass
class Decisions:
    """All decisions, by person (`id(person)`)."""

    overrides: dict[int, dict[str, Override]] = field(default_factory=dict)
    extensions: dict[int, tuple[datetime, Why]] = field(default_factory=dict)
    excuses: dict[int, Why] = field(default_factory=dict)
    withheld: dict[int, Why] = field(default_factory=dict)
    used: dict[int, tuple[int, Why]] = field(default_factory=dict)


def read_aliases(path: Path) -> list[Alias]:
    """Read people.csv: two IDs of one person in each row."""
    found = _read(path)
    return [
        Alias(
            f"{path.name}, line {row.line}",
            *(_filled(found, row, column) for column in COLUMNS[path.name]),
        )
        for row in found.rows
    ]


def read_decisions(paths: Iterable[Path], people: list[Person], due: datetime) -> Decisions:
    """Read the files of decisions.

    Args:
        paths: files whose names are in COLUMNS.
        due: the course's due date.

    Raises:
        UsageError: if a row is malformed, names nobody, or repeats another.
    """
    who = _Who(people)
    made = Decisions()
    readers = {
        "overrides.csv": lambda found: _overrides(found, who, made),
        "extensions.csv": lambda found: _extensions(found, who, made, due),
        "excuses.csv": lambda found: _marks(found, who, made.excuses),
        "withheld.csv": lambda found: _marks(found, who, made.withheld),
        "late_days.csv": lambda found: _used(found, who, made),
    }
    for path in paths:
        readers[path.name](_read(path))
    return made


class _Who:
    """Finds the people that a cell means."""

    def __init__(self, people: list[Person]) -> None:
        self._directory = Directory(people)

    def find(self, found: Table, row: Row) -> list[Person]:
        """Return the people that the column `student` means: several for a group's submission.

        Raises:
            UsageError: if it is empty, means nobody, or is ambiguous.
        """
        try:
            return self._directory.find(_filled(found, row, "student"))
        except Unclear as unclear:
            raise found.sheet.fault(row, f"student = {unclear}") from None


def _read(path: Path) -> Table:
    columns = COLUMNS[path.name]
    return table(read(path, columns), columns, (*WHY, "name", "note"))


def _filled(found: Table, row: Row, column: str) -> str:
    text = found.cell(row, column)
    if not text:
        raise found.sheet.fault(row, f"the column {column} is empty")
    return text


def _why(found: Table, row: Row) -> Why:
    said = [_filled(found, row, column) for column in WHY]
    try:
        date.fromisoformat(said[2])
    except ValueError:
        raise found.sheet.fault(
            row, f"date = {said[2]!r:.60} should be a date such as 2027-01-31"
        ) from None
    return Why(f"{found.sheet.name}, line {row.line}", *said)


def _refuse_second(found: Table, row: Row, person: Person, earlier: Why | None, what: str) -> None:
    if earlier is not None:
        raise found.sheet.fault(row, f"{person.label} already has {what}: {earlier.where}")


def _overrides(found: Table, who: _Who, made: Decisions) -> None:
    for row in found.rows:
        question = same(_filled(found, row, "question"))
        points = found.sheet.number(row, "points", _filled(found, row, "points"))
        if points < 0 or (question == DAYS_LATE and points.denominator != 1):
            kind = "an integer" if question == DAYS_LATE else "a number"
            raise found.sheet.fault(
                row, f"points = {found.cell(row, 'points')} should be {kind} of 0 or more"
            )
        why = _why(found, row)
        for person in who.find(found, row):
            theirs = made.overrides.setdefault(id(person), {})
            earlier = theirs[question].why if question in theirs else None
            _refuse_second(found, row, person, earlier, f"an override of {question}")
            theirs[question] = Override(question, points, why)


def _extensions(found: Table, who: _Who, made: Decisions, due: datetime) -> None:
    for row in found.rows:
        new = time_of(found.sheet, row, _filled(found, row, "due"))
        if new is None or new < due:
            raise found.sheet.fault(
                row, f"due = {found.cell(row, 'due')} is before the due date, {due.isoformat(' ')}"
            )
        why = _why(found, row)
        for person in who.find(found, row):
            earlier = made.extensions.get(id(person))
            _refuse_second(found, row, person, earlier[1] if earlier else None, "an extension")
            made.extensions[id(person)] = (new, why)


def _marks(found: Table, who: _Who, marks: dict[int, Why]) -> None:
    for row in found.rows:
        why = _why(found, row)
        for person in who.find(found, row):
            _refuse_second(found, row, person, marks.get(id(person)), "a row")
            marks[id(person)] = why


def _used(found: Table, who: _Who, made: Decisions) -> None:
    for row in found.rows:
        text = _filled(found, row, "days")
        if not re.fullmatch(r"[0-9]{1,4}", text):
            raise found.sheet.fault(row, f"days = {text!r:.60} should be an integer of 0 or more")
        for person in who.find(found, row):
            earlier = made.used.get(id(person))
            _refuse_second(found, row, person, earlier[1] if earlier else None, "late days")
            why = Why(f"{found.sheet.name}, line {row.line}")
            made.used[id(person)] = (int(text), why)
