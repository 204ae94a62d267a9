"""The values for templates: assignment.toml and course.toml for an edition and a data set."""

import datetime
import string
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

from autograder.description import (
    Course,
    DataSetTable,
    Edition,
    Question,
    StaffAssignment,
    UsageError,
    load_assignment,
    load_course,
)
from grading.errors import nearest

from ..datafiles import installed
from .templates import HandoutError, plain, tex

ROMAN = ("i", "ii", "iii", "iv", "v", "vi")


@dataclass(frozen=True)
class Part:
    """A section of the sheet: the questions whose numbers begin with its number."""

    number: str
    key: str
    title: str
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Description:
    """The problem set of one edition, with one data set.

    Attributes:
        minutes: how long a topic's commands take with the data set's recipe, as in
            `AssignmentFile.times`; None if this was not measured.
    """

    assignment: StaffAssignment
    edition: Edition
    course: Course
    due_plain: str
    parts: tuple[Part, ...]
    data: DataSetTable
    minutes: dict[str, tuple[int, ...]] | None
    references: dict[str, str]
    figures: dict[str, dict[str, str]]

    @property
    def title(self) -> str:
        """`Problem Set 5: Self-Attention, ...`, in plain text."""
        return f"{self.edition.title}: {self.assignment.title}"

    @property
    def questions(self) -> dict[str, Question]:
        """The questions by topic."""
        return {question.topic: question for question in self.edition.questions}


def describe(repo: Path, edition: str | None, dataset: str | None = None) -> Description:
    """Return the description, read from all tables.

    Args:
        edition, dataset: names; None is the default edition, and the installed data set (or the
            default one if none is installed).

    Raises:
        UsageError: assignment.toml, course.toml or the data set's name has a mistake.
        HandoutError: a table of handout/ is missing or invalid.
    """
    assignment, course = load_assignment(repo), load_course(repo)
    chosen = assignment.edition(edition)
    dataset = dataset or installed(repo) or assignment.default_dataset
    datasets = assignment.tables.datasets
    if dataset not in datasets:
        known = ", ".join(sorted(datasets))
        raise UsageError(f"no data set {dataset!r} in assignment.toml; there are: {known}")
    references = _tables(repo, "references", ("text",))
    return Description(
        assignment=assignment,
        edition=chosen,
        course=course,
        due_plain=_date(course.dates.due),
        parts=tuple(_parts(assignment, chosen)),
        data=datasets[dataset],
        minutes=assignment.tables.times.get(datasets[dataset].recipe),
        references={key: table["text"] for key, table in references.items()},
        figures=_tables(repo, "figures", ("label", "caption", "alt")),
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of handout/; raise HandoutError, which names file and line."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise HandoutError(f"{path.name}: {error}") from None


def _tables(repo: Path, name: str, keys: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Read handout/NAME.toml: tables of texts, each with exactly these keys, or HandoutError."""
    tables = read_toml(repo / "handout" / f"{name}.toml")
    for entry, table in tables.items():
        place = f"handout/{name}.toml: [{entry}]"
        if not isinstance(table, dict):
            raise HandoutError(f"handout/{name}.toml: {entry} should be a table")
        for key in keys:
            if key not in table:
                raise HandoutError(f"{place}: {key!r} is missing")
        for key, value in table.items():
            if key not in keys:
                raise HandoutError(f"{place}: unknown key {key!r}{nearest(key, keys)}")
            if not isinstance(value, str) or not value.strip():
                raise HandoutError(f"{place}: {key} should be a text, not blank")
    return tables


def texts(course: Course) -> dict[str, Any]:
    """Return the texts of course.toml as LaTeX."""
    return {
        key: {k: tex(text) for k, text in value.items()} if isinstance(value, dict) else tex(value)
        for key, value in course.model_dump().items()
    }


def _parts(assignment: StaffAssignment, edition: Edition) -> Iterator[Part]:
    tables = assignment.tables
    for number, questions in groupby(edition.questions, lambda q: part_of(q.number)):
        members = tuple(questions)
        key = tables.topics[members[0].topic].part
        yield Part(number, key, tex(tables.parts[key]), members)


def part_of(number: str) -> str:
    """Return the section of a number: `3` of `3c`."""
    return number.rstrip(string.ascii_lowercase)


def letter_of(number: str) -> str:
    """Return the letter of a number: `c` of `3c`."""
    return number.removeprefix(part_of(number))


def shown_number(number: str) -> str:
    """Return a number as the sheet shows it: `3(c)` for `3c`."""
    return f"{part_of(number)}({letter_of(number)})"


def is_unscored(question: Question) -> bool:
    """Return whether a question is practice, and this edition gives no points for it."""
    return question.is_practice and not question.coding and not question.written


def worth(question: Question) -> str:
    """Return a question's points in words: `2 points (Written, Extra Credit)`."""
    if is_unscored(question):
        return "Practice"
    suffix = ", Extra Credit" if question.is_extra_credit else ""
    kinds = {"Coding": question.coding, "Written": question.written}
    scored = {kind: value for kind, value in kinds.items() if value} or {"Coding": Decimal(0)}
    return ", ".join(f"{points(value)} ({kind}{suffix})" for kind, value in scored.items())


def points(value: Decimal) -> str:
    """Return points in words: `1 point`, `0.5 points`."""
    return f"{plain(value)} point{'' if value == 1 else 's'}"


def _date(moment: datetime.datetime) -> str:
    """Return `Sunday, January 31, 2027 at 11:59 PM (UTC-08:00)`."""
    zone = f" ({moment.tzinfo})" if moment.tzinfo else ""
    clock = f"{moment.hour % 12 or 12}:{moment:%M %p}"
    return f"{moment:%A, %B} {moment.day}, {moment.year} at {clock}{zone}"
