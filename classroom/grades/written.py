"""Written scores, as Gradescope exports them (*Review Grades*, *Download Grades*, as CSV).

The CSV has a row for each student with `Total Score`, and perhaps a column for each question, such
as `1.2: Copying (2.0 pts)`. The table `written` has a row for each student and question, or one
without a score.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from fractions import Fraction
from typing import Any

from grading.errors import UsageError

from .. import cells, times
from ..cells import Row, Sheet, decimal, shown

NAME = "Name"  # older exports have one column for the name
QUESTION = re.compile(r"([0-9]+(?:\.[0-9]+)*):? ?(.*?) ?\(([0-9.]+) pts?\)", re.DOTALL)
# The sheet's number at the beginning of an outline's title: "3(a)", "3a: Copying".
NUMBERED = re.compile(r"\W*([0-9]+)\)?\s*\(?([a-z])\)?(?![A-Za-z0-9])")
IsExtra = Callable[[str], bool]
Columns = dict[str, Any]  # of the table `written`


def read_scores(sheet: Sheet) -> list[Columns]:
    """Return the rows of the table `written`.

    Raises:
        UsageError: if it isn't Gradescope's CSV; the message names the file and the row.
    """
    sheet = cells.table(sheet, ("Email", "Total Score"), None)
    matches = ((cell, QUESTION.fullmatch(cell.strip())) for cell in sheet.rows[0].cells)
    questions = {cell: match for cell, match in matches if match}
    rows = []
    for row in sheet.rows[1:]:
        if not any(sheet.cell(row, name) for name in ("Email", "SID", "Submission ID")):
            raise sheet.fault(row, "Email, SID and Submission ID are all empty")
        student = _student(sheet, row)
        rows += [student | points for points in _points(sheet, row, questions)]
    return rows


def _student(sheet: Sheet, row: Row) -> Columns:
    name = f"{sheet.cell(row, 'First Name')} {sheet.cell(row, 'Last Name')}".strip()
    time, late = sheet.cell(row, "Submission Time"), sheet.cell(row, "Lateness (H:M:S)")
    if not time and re.search("[1-9]", late):
        raise sheet.fault(row, f"Lateness (H:M:S) = {late!r:.60}, but there is no Submission Time")
    submission, status = sheet.cell(row, "Submission ID"), ""
    if not sheet.cell(row, "Total Score"):
        status = sheet.cell(row, "Status") or ("Ungraded" if submission else "Missing")
        if status.lower() == "missing" and not submission:
            status = ""  # certainly nothing was handed in: no points
    return {
        "place": sheet.place(row),
        "name": name or sheet.cell(row, NAME),
        "sid": sheet.cell(row, "SID"),
        "email": sheet.cell(row, "Email"),
        "submission": submission,
        "status": status,
        "submitted": times.stored(time_of(sheet.place(row), time)) if time else None,
    }


def _points(sheet: Sheet, row: Row, questions: dict[str, re.Match[str]]) -> Iterator[Columns]:
    total, most = sheet.cell(row, "Total Score"), sheet.cell(row, "Max Points")
    if not total:
        yield {"question": "", "title": "", "score": None, "max_score": None}
        return
    points = sheet.number(row, "Total Score", total)
    scores: list[tuple[str, str, Fraction, Fraction | None]] = []
    for cell, match in questions.items():
        if not sheet.cell(row, cell):
            raise sheet.fault(row, f"{cell!r:.60} is empty, but there is a Total Score")
        score = sheet.number(row, cell, sheet.cell(row, cell))
        scores.append((match[1], match[2], score, Fraction(match[3])))
    if not scores:
        worth = sheet.number(row, "Max Points", most) if most else None
        scores.append(("written", "", points, worth))
    for question, title, score, worth in scores:
        if score < 0:
            raise sheet.fault(
                row,
                f"{question} has {shown(score)} points; remove negative points on Gradescope, "
                "because lateness is deducted here by course.toml",
            )
        maximum = None if worth is None else decimal(worth, 30)
        values = {"score": decimal(score, 30), "max_score": maximum}
        yield {"question": question, "title": title} | values
    # Gradescope rounds each question's points, and their sum, to two decimals.
    whole = sum((score for _, _, score, _ in scores), Fraction(0))
    if abs(whole - points) > Fraction(len(scores), 100):
        raise sheet.fault(row, f"Total Score = {total}, but the questions add up to {shown(whole)}")


def time_of(place: str, text: str) -> datetime:
    """Return a time such as `2027-01-31 23:59:00 -0800`.

    Raises:
        UsageError: if it isn't a time, or has no time zone.
    """
    joined = re.sub(r" (?=[+-][0-9])", "", text.removesuffix(" UTC") + "Z" * text.endswith(" UTC"))
    try:
        time = datetime.fromisoformat(joined)
    except ValueError:
        raise UsageError(
            f"{place}: {text!r:.60} should be a time such as 2027-01-31 23:59:00 -0800"
        ) from None
    if time.tzinfo is None:
        raise UsageError(f"{place}: the time {text!r:.60} has no time zone; add one, such as -0800")
    return time


def uniformly_extra(titles: dict[str, bool]) -> IsExtra:
    """Return a function that tells by its title whether a written question is extra credit.

    Args:
        titles: whether a question is extra credit, by the sheet's number of each.
    """

    def is_extra(title: str) -> bool:
        match = NUMBERED.match(title)
        number = match[1] + match[2] if match else ""
        if number in titles:
            return titles[number]
        if len(set(titles.values())) > 1:
            what = f"the question {title!r:.60}" if title else "the total of all written questions"
            raise UsageError(
                f"some written questions are extra credit and some are not, and {what} doesn't "
                "tell which: begin the titles on Gradescope with the sheet's numbers, such as 3(a)"
            )
        return any(titles.values())

    return is_extra
