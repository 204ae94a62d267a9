"""Grades as CSV: with all details, and with the columns of Gradescope's scores."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from fractions import Fraction

from . import cells
from .book import EXCUSED, GRADED, Book, Grade
from .cells import Number, rounded
from .handed import Handed
from .written import SCORES

STATES = {GRADED: "Graded", EXCUSED: "Excused"}


def plain(book: Book, grades: Iterable[Grade]) -> str:
    """Return a row for each person: points by part and question, lateness, total, remarks."""
    grades = list(grades)
    questions = _questions(grades)
    head = ["name", "sid", "email", "submissions", "state", "total", "most"]
    head += [*book.parts, *(f"days_late_{part}" for part in book.parts), "late_days_charged"]
    head += ["lost_late", "lost_over_cap", *(f"{part} {name}" for part, name in questions), "why"]
    rows: list[list[str | Number]] = [list(head)]
    rows += [_plain(book, grade, questions) for grade in grades]
    return cells.write(rows)


def _questions(grades: list[Grade]) -> list[tuple[str, str]]:
    found = {
        (part, item.group or item.id)
        for grade in grades
        for part, one in grade.handed.items()
        for item in one.items
        if item.id != part
    }
    return sorted(found, key=lambda each: (each[0], [_order(p) for p in each[1].split(".")]))


def _order(text: str) -> tuple[int, str]:
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return (int(digits) if digits.isdigit() else 0, text)


def _plain(book: Book, grade: Grade, questions: list[tuple[str, str]]) -> list[str | Number]:
    person, settled = grade.person, grade.settled if grade.state == GRADED else None
    submissions = " ".join(one.submission for one in grade.handed.values() if one.submission)
    row: list[str | Number] = [person.name, person.sid, person.email, submissions, grade.state]
    row += [_number(grade.total), _number(book.most)]
    row += [_number(grade.points_of(part)) for part in book.parts]
    days = [grade.days.get(part) for part in book.parts]
    row += [Number(str(late)) if late is not None else "" for late in days]
    row += [Number(str(settled.charged)) if settled else ""]
    row += [_number(sum((late.points for late in settled.late), Fraction(0)) if settled else None)]
    row += [_number(settled.over_cap if settled else None)]
    row += [_number(_question(grade, *each)) for each in questions]
    return [*row, grade.why]


def _question(grade: Grade, part: str, question: str) -> Fraction | None:
    if grade.total is None or part not in grade.handed:
        return None
    items = [i for i in grade.handed[part].items if question in (i.group, i.id)]
    return sum((item.points for item in items), Fraction(0)) if items else None


def _number(value: Fraction | None) -> str | Number:
    return Number(rounded(value)) if value is not None else ""


def gradescope(book: Book, grades: Iterable[Grade]) -> str:
    """Return the grades in the columns of Gradescope's scores; Total Score may be empty."""
    rows: list[list[str | Number]] = [list(SCORES)]
    rows += [_gradescope(book, grade) for grade in grades]
    return cells.write(rows)


def _gradescope(book: Book, grade: Grade) -> list[str | Number]:
    first, _, last = grade.person.name.strip().rpartition(" ")
    handed = [one for one in grade.handed.values() if one.submission]
    times = [one.time for one in handed if one.time is not None]
    time = max(times, default=None)
    row: list[str | Number] = [first or last, last if first else ""]
    row += [grade.person.sid, grade.person.email, ""]
    row += [_number(grade.total), _number(book.most)]
    row += [STATES.get(grade.state, "Ungraded" if handed else "Missing")]
    row += [_id(handed), time.strftime("%Y-%m-%d %H:%M:%S %z") if time else ""]
    row += [_lateness(time, grade.due), Number("0")]
    return [*row, Number(str(handed[0].attempt if handed else 0))]


def _id(handed: list[Handed]) -> str:
    return handed[0].submission.removeprefix("submission_") if handed else ""


def _lateness(time: datetime | None, due: datetime | None) -> str:
    """Return the hours, minutes and seconds after the due date, such as 26:05:00."""
    if time is None or due is None:
        return ""
    seconds = max(0, int(time.timestamp() - due.timestamp()))
    late = timedelta(seconds=seconds)
    hours, rest = divmod(int(late.total_seconds()), 3600)
    return f"{hours:02}:{rest // 60:02}:{rest % 60:02}"
