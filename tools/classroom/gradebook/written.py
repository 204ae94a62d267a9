"""Written scores, as Gradescope exports them: a CSV of scores, or evaluations by rubric item.

Scores (*Review Grades*, *Download Grades*) have a row for each student with `Total Score`, and
perhaps a column for each question, such as `1.2: Copying (2.0 pts)`. Evaluations (*Export
Evaluations*) are a zip or folder with a CSV for each question, such as `2_Copying.csv`. Its columns
between `Submission Time` and `Adjustment` are the rubric's items, and its last rows explain the
rubric.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path

from grading.errors import UsageError

from .. import places
from .cells import Row, Sheet, Table, parse, read, shown, table
from .handed import Handed, Item, question_of
from .people import Mention
from .policy import count

SCORES = (
    "First Name", "Last Name", "SID", "Email", "Sections", "Total Score", "Max Points", "Status",
    "Submission ID", "Submission Time", "Lateness (H:M:S)", "View Count", "Submission Count",
)  # fmt: skip
NAME = "Name"  # older exports have one column for the name
QUESTION = re.compile(r"([0-9]+(?:\.[0-9]+)*):? ?(.*?) ?\(([0-9.]+) pts?\)", re.DOTALL)
EVALUATION = re.compile(r"([0-9]+(?:\.[0-9]+)*)_(.*)\.csv", re.DOTALL)
EVALUATED = (
    "Assignment Submission ID", "Question Submission ID", "First Name", "Last Name", "SID",
    "Email", "Sections", "Score", "Submission Time", "Adjustment", "Comments", "Grader", "Tags",
)  # fmt: skip
LATENESS = re.compile(r"(-?)([0-9]+):([0-9]{2}):([0-9]{2})")
MISSING = "missing"
MAX_BYTES = 1 << 28  # of a CSV in a zip
IsExtra = Callable[[str], bool]


@dataclass(frozen=True)
class Written:
    """All written scores.

    Attributes:
        most: the maximum points, if the file contains them; otherwise None.
    """

    mentions: tuple[Mention, ...]
    most: Fraction | None


def read_written(path: Path, is_extra: IsExtra) -> Written:
    """Read written scores.

    Args:
        path: a CSV of scores, or a zip or folder of evaluations.
        is_extra: tells whether a question with this title is extra credit; "" means all questions.

    Raises:
        UsageError: if it is something else; the message names the file and the row.
    """
    if path.is_dir() or path.suffix.lower() == ".zip":
        return _evaluations(path.name, _files(path), is_extra)
    return _scores(table(read(path, SCORES), ("Email", "Total Score"), None), is_extra)


def _files(path: Path) -> list[tuple[str, bytes]]:
    found = []
    for name, file in places.walk(places.place(path)):
        if file.kind == "file" and name.lower().endswith(".csv"):
            if file.size > MAX_BYTES:
                raise UsageError(f"{path.name}: {name} is larger than {MAX_BYTES} bytes")
            with places.opened(file) as reader:
                found.append((file.name, reader.read()))
    return found


# Scores ------------------------------------------------------------------------------------------
def _scores(found: Table, is_extra: IsExtra) -> Written:
    questions = [
        (cell, match) for cell in found.head.cells if (match := QUESTION.fullmatch(cell.strip()))
    ]
    extra = {cell: is_extra(match[2]) for cell, match in questions} or {"": is_extra("")}
    mentions = []
    most: dict[Fraction, Row] = {}
    for row in found.rows:
        if not any(found.cell(row, name) for name in ("Email", "SID", "Submission ID")):
            raise found.sheet.fault(row, "Email, SID and Submission ID are all empty")
        if text := found.cell(row, "Max Points"):
            most.setdefault(found.sheet.number(row, "Max Points", text), row)
        handed = _handed(found, row, questions, extra)
        mentions.append(_mention(found, row, handed))
    if len(most) > 1:
        (one, first), (other, second), *_ = most.items()
        raise found.sheet.fault(
            second, f"Max Points = {shown(other)}, but {shown(one)} in line {first.line}"
        )
    return Written(tuple(mentions), next(iter(most), None))


def _handed(
    found: Table, row: Row, questions: list[tuple[str, re.Match[str]]], extra: dict[str, bool]
) -> Handed:
    total, where = found.cell(row, "Total Score"), f"{found.sheet.name}, line {row.line}"
    handed = Handed(
        part="written",
        submission=found.cell(row, "Submission ID"),
        where=where,
        time=time_of(found.sheet, row, found.cell(row, "Submission Time")),
        late_by=_lateness(found, row),
        attempt=_count(found.cell(row, "Submission Count")),
    )
    if not total:
        said = found.cell(row, "Status") or ("Ungraded" if handed.submission else "Missing")
        if said.lower() == MISSING and not handed.submission:
            return replace(handed, items=())  # certainly nothing was handed in: no points
        return replace(handed, gap=f"{where}: {said}")
    points = found.sheet.number(row, "Total Score", total)
    items = tuple(_questions(found, row, questions, extra, where))
    if not items:
        most = found.cell(row, "Max Points")
        worth = found.sheet.number(row, "Max Points", most) if most else None
        items = (Item("written", points, worth, extra[""], source=where),)
    if low := [item for item in items if item.points < 0]:
        raise found.sheet.fault(
            row,
            f"{low[0].id} has {shown(low[0].points)} points; remove negative points on Gradescope, "
            "because lateness is deducted here by course.toml",
        )
    # Gradescope rounds each question's points, and their sum, to two decimals.
    if abs(sum(item.points for item in items) - points) > Fraction(len(items), 100):
        raise found.sheet.fault(
            row, f"Total Score = {total}, but the questions add up to "
            f"{shown(sum((i.points for i in items), Fraction(0)))}"
        )  # fmt: skip
    return replace(handed, items=items)


def _questions(
    found: Table,
    row: Row,
    questions: list[tuple[str, re.Match[str]]],
    extra: dict[str, bool],
    where: str,
) -> Iterator[Item]:
    for cell, match in questions:
        text = found.cell(row, cell)
        if not text:
            raise found.sheet.fault(row, f"{cell!r:.60} is empty, but there is a Total Score")
        points, most = found.sheet.number(row, cell, text), Fraction(match[3])
        yield Item(match[1], points, most, extra[cell], remark=match[2], source=where)


def _mention(found: Table, row: Row, handed: Handed) -> Mention:
    first, last = found.cell(row, "First Name"), found.cell(row, "Last Name")
    name = f"{first} {last}".strip() or found.cell(row, NAME)
    ids = [("sid", found.cell(row, "SID")), ("email", found.cell(row, "Email"))]
    where = f"{found.sheet.name}, line {row.line}"
    return Mention("written", where, name, tuple(i for i in ids if i[1]), handed)


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 1


def _lateness(found: Table, row: Row) -> timedelta | None:
    """Return the lateness according to Gradescope; zero before the due date."""
    text = found.cell(row, "Lateness (H:M:S)")
    if not text:
        return None
    match = LATENESS.fullmatch(text)
    if match is None:
        raise found.sheet.fault(row, f"Lateness (H:M:S) = {text!r:.60} should look like 26:05:00")
    hours, minutes, seconds = (int(match[n]) for n in (2, 3, 4))
    try:
        late = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise found.sheet.fault(row, f"Lateness (H:M:S) = {text!r:.60} is too long") from None
    return timedelta(0) if match[1] else late


def time_of(sheet: Sheet, row: Row, text: str) -> datetime | None:
    """Return a time such as `2027-01-31 23:59:00 -0800`; None for an empty text.

    Raises:
        UsageError: if it isn't a time, or has no time zone.
    """
    if not text:
        return None
    joined = re.sub(r" (?=[+-][0-9])", "", text.removesuffix(" UTC") + "Z" * text.endswith(" UTC"))
    try:
        time = datetime.fromisoformat(joined)
    except ValueError:
        raise sheet.fault(
            row, f"{text!r:.60} should be a time such as 2027-01-31 23:59:00 -0800"
        ) from None
    if time.tzinfo is None:
        raise sheet.fault(row, f"the time {text!r:.60} has no time zone; add one, such as -0800")
    return time


# Evaluations -------------------------------------------------------------------------------------
def _evaluations(name: str, files: list[tuple[str, bytes]], is_extra: IsExtra) -> Written:
    by_person: dict[tuple[str, ...], list[tuple[Mention, Item | None]]] = defaultdict(list)
    questions = [(match, data) for file, data in files if (match := EVALUATION.fullmatch(file))]
    questions.sort(key=lambda question: [int(n) for n in question[0][1].split(".")])
    if not questions:
        raise UsageError(f"{name} has no evaluations; expected files such as 1_Title.csv")
    for match, data in questions:
        found = table(parse(data, match[0], EVALUATED), ("Email", "Score", "Submission Time"), None)
        for row in found.rows:
            if not any(found.cell(row, column) for column in ("SID", "Email")):
                continue  # the rows below the students explain the rubric
            key = tuple(found.cell(row, c) for c in ("Assignment Submission ID", "SID", "Email"))
            item = _evaluated(found, row, match, is_extra(match[2].replace("_", " ")))
            by_person[key].append((_mention(found, row, _empty(found, row)), item))
    mentions = [_together(said, len(questions)) for said in by_person.values()]
    return Written(tuple(mentions), None)


def _empty(found: Table, row: Row) -> Handed:
    return Handed(
        part="written",
        submission=found.cell(row, "Assignment Submission ID"),
        where=f"{found.sheet.name}, line {row.line}",
        time=time_of(found.sheet, row, found.cell(row, "Submission Time")),
    )


def _rubric(found: Table) -> list[tuple[int, str]]:
    """Return the index and the title of each rubric item's column."""
    last = found.columns.get("adjustment", len(found.head.cells))
    first = found.columns["submission time"] + 1
    return [(place, found.head.cells[place]) for place in range(first, last)]


def _evaluated(found: Table, row: Row, match: re.Match[str], is_extra: bool) -> Item | None:
    text = found.cell(row, "Score")
    if not text:
        return None
    points = found.sheet.number(row, "Score", text)
    if points < 0:
        raise found.sheet.fault(row, f"Score = {text} should be 0 or more")
    applied = [
        title
        for place, title in _rubric(found)
        if place < len(row.cells) and row.cells[place].strip().lower() == "true"
    ]
    adjusted = found.cell(row, "Adjustment")
    remarks = [match[2].replace("_", " "), *applied]
    remarks += [f"adjustment {adjusted}"] if adjusted else []
    where = f"{found.sheet.name}, line {row.line}"
    return Item(match[1], points, None, is_extra, remark="; ".join(remarks), source=where)


def _together(said: list[tuple[Mention, Item | None]], questions: int) -> Mention:
    """Return all questions of a student as one mention."""
    first: Mention = said[0][0]
    handed: Handed = first.said
    items = tuple(item for _, item in said if item is not None)
    if len({item.id for item in items}) < len(items):
        raise UsageError(f"{first.where}: {first.name!r:.60} has two rows for one question")
    gap = (
        ""
        if len(items) == questions
        else f"{first.where}: {count(questions - len(items), 'question')} without a score"
    )
    return replace(first, said=replace(handed, items=() if gap else items, gap=gap))


def uniformly_extra(titles: dict[str, bool]) -> IsExtra:
    """Return a function that tells by its title whether a written question is extra credit.

    Args:
        titles: whether a question is extra credit, by the sheet's number of each.
    """

    def is_extra(title: str) -> bool:
        number = question_of(title)
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
