"""What templates may use: assignment.toml and course.toml for an edition and a data set."""

import datetime
import json
import sys
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from ..datafiles import DATASET, REPO
from .templates import HandoutError, plain, tex

sys.path.insert(0, str(REPO / "src"))
from grading.assignment import Assignment, Edition, Question, load_assignment  # noqa: E402
from grading.errors import UsageError  # noqa: E402

ROMAN = ("i", "ii", "iii", "iv", "v", "vi")
PRACTICE = "blocks"  # the part whose questions have no points but those that an edition gives
# What course.toml must say, by table.
COURSE = {
    "": {"name": str, "term": str, "contact": str},
    "dates": {"published": datetime.date, "due": datetime.datetime},
    "policies": {"collaboration": str, "late": str, "ai_tools": str},
}


@dataclass(frozen=True)
class Part:
    """A section of the sheet: the questions whose numbers begin with its number."""

    number: str
    key: str
    title: str
    worth: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Description:
    """The problem set as one edition gives it, with one data set."""

    assignment: Assignment
    edition: Edition
    course: dict[str, Any]  # texts, as LaTeX
    due_plain: str
    parts: tuple[Part, ...]
    data: dict[str, Any]  # the table of the data set
    recipe: dict[str, Any]  # the table of its recipe, with its name
    references: dict[str, str]
    figures: dict[str, dict[str, str]]

    @property
    def questions(self) -> dict[str, Question]:
        """By topic."""
        return {question.topic: question for question in self.edition.questions}


def describe(repo: Path, edition: str | None, dataset: str | None = None) -> Description:
    """Read all tables.

    Args:
        edition, dataset: names; None is the default edition, and the installed data set (or the
            default one where none is).

    Raises:
        HandoutError: a table is missing or says something impossible.
    """
    try:
        assignment = load_assignment(repo / "assignment.toml")
        chosen = assignment.edition(edition)
    except UsageError as error:
        raise HandoutError(str(error)) from None
    raw = read_toml(repo / "assignment.toml")
    dataset = dataset or installed(repo) or assignment.default_dataset
    if dataset not in raw["datasets"]:
        known = ", ".join(sorted(raw["datasets"]))
        raise HandoutError(f"no data set {dataset!r} in assignment.toml; there are: {known}")
    data = raw["datasets"][dataset]
    name = data["recipe"]
    recipe = {**raw["recipes"][name], "name": name, "minutes": raw["times"].get(name)}
    course = read_course(repo / "course.toml")
    return Description(
        assignment=assignment,
        edition=chosen,
        course=course,
        due_plain=_date(course["dates"]["due"]),
        parts=tuple(_parts(assignment, chosen)),
        data={**data, "name": dataset},
        recipe=recipe,
        references={k: v["text"] for k, v in read_toml(repo / "handout/references.toml").items()},
        figures=read_toml(repo / "handout/figures.toml"),
    )


def installed(repo: Path) -> str | None:
    """The name of the installed data set, or None."""
    path = repo / DATASET
    return json.loads(path.read_text(encoding="utf-8"))["name"] if path.is_file() else None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file.

    Raises:
        HandoutError: it is missing or no TOML; the message names file and line.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HandoutError(f"{path.name}: {error}") from None


def read_course(path: Path) -> dict[str, Any]:
    """course.toml, its texts as LaTeX.

    Raises:
        HandoutError: something is missing, unknown, or of another kind.
    """
    raw = read_toml(path)
    for table, expected in COURSE.items():
        found = raw.get(table, {}) if table else raw
        where = f"{path.name}: [{table}] " if table else f"{path.name}: "
        for key, kind in expected.items():
            if key not in found:
                raise HandoutError(f"{where}{key} is missing")
            if not isinstance(found[key], kind):
                raise HandoutError(f"{where}{key} = {found[key]!r} should be a {kind.__name__}")
        for key in found:
            if key not in expected and (table or key not in COURSE):
                raise HandoutError(f"{where}unknown key {key!r}")
    texts = {key: tex(raw[key]) for key in COURSE[""]}
    policies = {key: tex(value) for key, value in raw["policies"].items()}
    return {**texts, "policies": policies, "dates": raw["dates"]}


def _parts(assignment: Assignment, edition: Edition) -> list[Part]:
    numbers = list(dict.fromkeys(part_of(q.number) for q in edition.questions))
    parts = []
    for number in numbers:
        questions = tuple(q for q in edition.questions if part_of(q.number) == number)
        key = questions[0].part
        title = tex(assignment.parts[key])
        parts.append(Part(number, key, title, worth_of(questions), questions))
    return parts


def part_of(number: str) -> str:
    """`3` of `3c`."""
    return number.rstrip("abcdefghijklmnopqrstuvwxyz")


def letter_of(number: str) -> str:
    """`c` of `3c`."""
    return number.removeprefix(part_of(number))


def shown_number(number: str) -> str:
    """`3(c)` of `3c`."""
    return f"{part_of(number)}({letter_of(number)})"


def worth(question: Question) -> str:
    """A question's points in words: `2 points (Written, Extra Credit)`."""
    coding, written = question.coding, question.written
    if question.part == PRACTICE and not coding and not written:
        return "Practice"
    suffix = ", Extra Credit" if question.is_extra_credit else ""
    kinds = [(coding, "Coding")] if coding or not written else []
    kinds += [(written, "Written")] if written else []
    return ", ".join(f"{points(value)} ({kind}{suffix})" for value, kind in kinds)


def worth_of(questions: tuple[Question, ...]) -> str:
    """The points of several questions together."""
    plain_ones = [q for q in questions if not q.is_extra_credit]
    total = sum((q.coding + q.written for q in plain_ones), Decimal(0))
    extra = sum((q.coding + q.written for q in questions if q.is_extra_credit), Decimal(0))
    words = [points(total)] if total or not extra else []
    words += [f"{points(extra)} of extra credit"] if extra else []
    return ", ".join(words)


def points(value: Decimal) -> str:
    """`1 point`, `0.5 points`."""
    return f"{plain(value)} point{'' if value == 1 else 's'}"


def _date(moment: datetime.datetime) -> str:
    """`Sunday, 31 January 2027 at 23:59 (UTC-08:00)`, whatever the locale."""
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    months = (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    )  # fmt: skip
    zone = f" ({moment.tzinfo})" if moment.tzinfo else ""
    day = f"{days[moment.weekday()]}, {moment.day} {months[moment.month - 1]} {moment.year}"
    return f"{day} at {moment:%H:%M}{zone}"
