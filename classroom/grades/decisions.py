"""Decisions of staff about individual students, each with a reason, an author and a date.

In each file, the column `student` contains the ID of a submission, which means everybody in its
group, or a student ID, or an e-mail address. An ID that may mean different people is refused, also
if it is the number of one, and that of another after a spreadsheet has removed its leading zeros.
So are two rows for the same student (in overrides, also for the same question), even if they use
different IDs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime
from fractions import Fraction

from grading.errors import UsageError

from .. import cells
from ..cells import Row, Sheet, decimal
from ..old_folder import DECISIONS
from ..store import Store
from ..submissions import same
from .people import Person, find
from .written import time_of

WHY = ("reason", "author", "date")
DAYS_LATE = "days_late"  # an override's question that stands for the number of days late
OVERRIDE, EXTENSION, EXCUSE, WITHHELD, USED, SAME_AS = (kind for kind, _ in DECISIONS.values())
COLUMNS = {
    "overrides.csv": ("student", "question", "points", *WHY),
    "extensions.csv": ("student", "due", *WHY),
    "excuses.csv": ("student", *WHY),
    "withheld.csv": ("student", *WHY),
    "late_days.csv": ("student", "days"),
    "people.csv": ("student", "same_as"),
}
# What a student can have once, by kind.
ONCE = {EXTENSION: "an extension", USED: "late days", EXCUSE: "a row", WITHHELD: "a row"}


@dataclass(frozen=True)
class Decision:
    """A row of the table `decisions`; `str()` says who decided, when and why."""

    kind: str
    student: str
    question: str
    value: str
    reason: str
    author: str
    date: str
    place: str

    def __str__(self) -> str:
        said = f"{self.reason}; {self.author}, {self.date}; " if self.reason else ""
        return said + self.place

    @property
    def points(self) -> Fraction:
        """The value of an override or of late days."""
        try:
            return Fraction(self.value.replace(",", "."))
        except ValueError:  # from an old folder; `decide` refuses it
            raise UsageError(f"{self.place}: {self.value!r:.60} should be a number") from None

    @property
    def due(self) -> datetime:
        """The value of an extension."""
        return time_of(self.place, self.value)


Decided = dict[tuple[str, str], Decision]  # by kind and question


def read_decisions(sheet: Sheet, due: datetime) -> list[Decision]:
    """Return the decisions in a file whose name is in COLUMNS.

    Raises:
        UsageError: if a row is malformed.
    """
    columns = COLUMNS[sheet.name]
    sheet = cells.table(sheet, columns, (*WHY, "name", "note"))
    return [_read(sheet, row, columns, due) for row in sheet.rows[1:]]


def _read(sheet: Sheet, row: Row, columns: tuple[str, ...], due: datetime) -> Decision:
    kind, column = DECISIONS[sheet.name]
    texts = {name: sheet.cell(row, name) for name in columns}
    if empty := [name for name, text in texts.items() if not text]:
        raise sheet.fault(row, f"the column {empty[0]} is empty")
    question = same(texts.get("question", ""))
    value = texts.get(column, "")
    if kind == OVERRIDE:
        points = sheet.number(row, column, value)
        if points < 0 or (question == DAYS_LATE and points.denominator != 1):
            number = "an integer" if question == DAYS_LATE else "a number"
            raise sheet.fault(row, f"points = {value} should be {number} of 0 or more")
        value = decimal(points, 30)
    elif kind == USED and not re.fullmatch(r"[0-9]{1,4}", value):
        raise sheet.fault(row, f"days = {value!r:.60} should be an integer of 0 or more")
    reason, author, day = (texts.get(name, "") for name in WHY)
    try:
        _ = date.fromisoformat(day) if day else None
    except ValueError:
        raise sheet.fault(row, f"date = {day!r:.60} should be a date such as 2027-01-31") from None
    place = sheet.place(row)
    decision = Decision(kind, texts["student"], question, value, reason, author, day, place)
    if kind == EXTENSION and decision.due < due:
        raise sheet.fault(row, f"due = {value} is before the due date, {due.isoformat(' ')}")
    return decision


def stored(store: Store) -> list[Decision]:
    """Return the class's decisions."""
    names = {kind: name for name, (kind, _) in DECISIONS.items()}
    decisions = []
    for row in store.rows("SELECT * FROM decisions ORDER BY id"):
        values = {field.name: row[field.name] or "" for field in fields(Decision)}
        # One from an old folder has no line.
        decisions.append(Decision(**values | {"place": row["place"] or names[row["kind"]]}))
    return decisions


def aliases(decisions: Iterable[Decision]) -> list[tuple[str, str, str]]:
    """Return the rows of people.csv: the place, and two IDs of one person."""
    return [(one.place, one.student, one.value) for one in decisions if one.kind == SAME_AS]


def decided(decisions: Iterable[Decision], people: list[Person]) -> dict[int, Decided]:
    """Return the decisions about each person, by `id(person)`.

    Raises:
        UsageError: if one names nobody, or repeats another.
    """
    result: dict[int, Decided] = defaultdict(dict)
    for one in decisions:
        if one.kind == SAME_AS:
            continue
        for person in find(people, one.student, f"{one.place}: student = "):
            earlier = result[id(person)].setdefault((one.kind, one.question), one)
            if earlier is not one:
                what = ONCE.get(one.kind, f"an override of {one.question}")
                raise UsageError(f"{one.place}: {person.label} already has {what}: {earlier.place}")
    return result
