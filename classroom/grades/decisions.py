"""What `decide` stores: what staff decided about students, and scores of written answers.

In each file of decisions, the column `student` contains the ID of a submission, which means
everybody in its group, or a student ID, or an e-mail address. An ID that may mean different people
is refused, also if one of them has it with leading zeros, which spreadsheets remove. So are two
rows for the same student (in overrides, for the same question), even if they use different IDs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from grading.errors import UsageError

from .. import cells, times
from ..cells import Row, Sheet, decimal, shown
from ..old_folder import DECISIONS, WHY, value_column
from ..store import Store
from ..submissions import same
from .people import Person, find

DAYS_LATE = "days_late"  # an override's question that stands for the number of days late
OVERRIDE, EXTENSION, EXCUSE, WITHHELD, USED, SAME_AS = (kind for kind, _ in DECISIONS.values())


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
    """Return the decisions in a file whose name is in DECISIONS; UsageError: one is malformed."""
    kind, columns = DECISIONS[sheet.name]
    rows = cells.table(sheet, columns, (*WHY, "name", "note")).rows[1:]
    return [_read(row, kind, columns, due) for row in rows]


def _read(row: Row, kind: str, columns: tuple[str, ...], due: datetime) -> Decision:
    column = value_column(columns)
    texts = {name: row.cell(name) for name in columns}
    if empty := [name for name, text in texts.items() if not text]:
        raise row.fault(f"the column {empty[0]} is empty")
    question = same(texts.get("question", ""))
    value = texts.get(column, "")
    if kind == OVERRIDE:
        points = row.number(column)
        if points < 0 or (question == DAYS_LATE and points.denominator != 1):
            number = "an integer" if question == DAYS_LATE else "a number"
            raise row.fault(f"points = {value} should be {number} of 0 or more")
        value = decimal(points, 30)
    elif kind == USED and not re.fullmatch(r"[0-9]{1,4}", value):
        raise row.fault(f"days = {value!r:.60} should be an integer of 0 or more")
    reason, author, day = map(row.cell, WHY)
    try:
        _ = date.fromisoformat(day) if day else None
    except ValueError:
        raise row.fault(f"date = {day!r:.60} should be a date such as 2027-01-31") from None
    decision = Decision(kind, texts["student"], question, value, reason, author, day, row.place)
    if kind == EXTENSION and decision.due < due:
        raise row.fault(f"due = {value} is before the due date, {due.isoformat(' ')}")
    return decision


def stored(store: Store) -> list[Decision]:
    """Return the class's decisions; the place of one from an old folder has no line."""
    names = {kind: name for name, (kind, _) in DECISIONS.items()}
    rows = store.rows("SELECT * FROM decisions ORDER BY id")
    values = [{field.name: row[field.name] or "" for field in fields(Decision)} for row in rows]
    return [Decision(**one | {"place": one["place"] or names[one["kind"]]}) for one in values]


def decided(decisions: Iterable[Decision], people: list[Person]) -> dict[Person, Decided]:
    """Return the decisions about each person.

    Raises:
        UsageError: one names nobody or may mean several people, or two are about the same.
    """
    result: dict[Person, Decided] = defaultdict(dict)
    for one in decisions:
        if one.kind == SAME_AS:
            continue
        for person in find(people, one.student, f"{one.place}: student = "):
            earlier = result[person].setdefault((one.kind, one.question), one)
            if earlier is not one:
                what = f"an override of {one.question}" if one.question else "a row"
                raise UsageError(f"{one.place}: {person.label} already has {what}: {earlier.place}")
    return result


# Written scores -----------------------------------------------------------------------------------
#
# As Gradescope exports them (*Review Grades*, *Download Grades*, as CSV): a row for each student
# with `Total Score`, and perhaps a column for each question, such as `1.2: Copying (2.0 pts)`. The
# table `written` has a row for each student and question, or one without a score for a student.

NAME = "Name"  # older exports have one column for the name
QUESTION = re.compile(r"([0-9]+(?:\.[0-9]+)*):? ?(.*?) ?\(([0-9]*\.?[0-9]+) pts?\)", re.DOTALL)
# The sheet's number at the beginning of an outline's title: "3(a)", "3a: Copying".
NUMBERED = re.compile(r"\W*([0-9]+)\)?\s*\(?([a-z])\)?(?![A-Za-z0-9])")
Columns = dict[str, Any]  # of the table `written`


def read_scores(sheet: Sheet) -> list[Columns]:
    """Return the rows of the table `written`; UsageError: it isn't Gradescope's CSV."""
    head, *rows = cells.table(sheet, ("Email", "Total Score"), None).rows
    questions = {cell: match for cell in head.cells if (match := QUESTION.fullmatch(cell.strip()))}
    return [_student(row) | points for row in rows for points in _points(row, questions)]


def _student(row: Row) -> Columns:
    if not any(row.cell(name) for name in ("Email", "SID", "Submission ID")):
        raise row.fault("Email, SID and Submission ID are all empty")
    name = f"{row.cell('First Name')} {row.cell('Last Name')}".strip()
    time, late = row.cell("Submission Time"), row.cell("Lateness (H:M:S)")
    if not time and re.search("[1-9]", late):
        raise row.fault(f"Lateness (H:M:S) = {late!r:.60}, but there is no Submission Time")
    submission, status = row.cell("Submission ID"), ""
    if not row.cell("Total Score"):
        status = row.cell("Status") or ("Ungraded" if submission else "Missing")
        if status.lower() == "missing" and not submission:
            status = ""  # certainly nothing was handed in: no points
    return {
        "place": row.place,
        "name": name or row.cell(NAME),
        "sid": row.cell("SID"),
        "email": row.cell("Email"),
        "submission": submission,
        "status": status,
        "submitted": times.stored(time_of(row.place, time)) if time else None,
    }


def _points(row: Row, questions: dict[str, re.Match[str]]) -> Iterator[Columns]:
    total = row.cell("Total Score")
    if not total:
        yield {"question": "", "title": "", "score": None, "max_score": None}
        return
    columns: dict[str, tuple[str, str, Fraction | None]]
    columns = {cell: (m[1], m[2], Fraction(m[3])) for cell, m in questions.items()}
    if not columns:
        most = row.number("Max Points") if row.cell("Max Points") else None
        columns = {"Total Score": ("written", "", most)}
    added = Fraction(0)
    for cell, (question, title, most) in columns.items():
        if not row.cell(cell):
            raise row.fault(f"{cell!r:.60} is empty, but there is a Total Score")
        score = row.number(cell)
        if score < 0:
            raise row.fault(
                f"{question} has {shown(score)} points; remove negative points on Gradescope, "
                "because lateness is deducted here by course.toml",
            )
        added += score
        worth = None if most is None else decimal(most, 30)
        points = {"score": decimal(score, 30), "max_score": worth}
        yield {"question": question, "title": title} | points
    # Gradescope rounds each question's points, and their sum, to two decimals.
    if abs(added - row.number("Total Score")) > Fraction(len(columns), 100):
        raise row.fault(f"Total Score = {total}, but the questions add up to {shown(added)}")


def time_of(place: str, text: str) -> datetime:
    """Return a time such as `2027-01-31 23:59:00 -0800`; UsageError: it isn't one with a zone."""
    joined = re.sub(r" (?=[+-][0-9])", "", re.sub(" UTC$", "Z", text))
    try:
        time = datetime.fromisoformat(joined)
    except ValueError:
        raise UsageError(
            f"{place}: {text!r:.60} should be a time such as 2027-01-31 23:59:00 -0800"
        ) from None
    if time.tzinfo is None:
        raise UsageError(f"{place}: the time {text!r:.60} has no time zone; add one, such as -0800")
    return time


def is_extra(title: str, questions: dict[str, bool]) -> bool:
    """Return whether a written question is extra credit; `questions` has the sheet's numbers.

    Raises:
        UsageError: some are and some are not, and the title doesn't tell which.
    """
    match = NUMBERED.match(title)
    if match and (number := match[1] + match[2]) in questions:
        return questions[number]
    if len(set(questions.values())) > 1:
        what = f"the question {title!r:.60}" if title else "the total of all written questions"
        raise UsageError(
            f"some written questions are extra credit and some are not, and {what} doesn't tell "
            "which: begin the titles on Gradescope with the sheet's numbers, such as 3(a)"
        )
    return any(questions.values())
