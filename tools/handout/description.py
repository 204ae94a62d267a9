"""The values for templates: assignment.toml and course.toml for an edition and a data set."""

import string
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, RootModel

from autograder.description import (
    Course,
    DataSetTable,
    Edition,
    Question,
    StaffAssignment,
    Table,
    UsageError,
    load_assignment,
    load_course,
    read,
    rule,
)

from ..datafiles import installed
from .templates import HandoutError, plain, tex

ROMAN = ("i", "ii", "iii", "iv", "v", "vi")
Latex = Annotated[str, rule("a text, not blank", str.strip)]


@dataclass(frozen=True)
class Part:
    """A section of the sheet: the questions whose numbers begin with its number."""

    number: str
    key: str
    title: str
    questions: tuple[Question, ...]


class Reference(Table):
    """A work that can be cited: a table of references.toml."""

    text: Latex


class Figure(Table):
    """A figure's label and caption, and `alt`, the text in its place: a table of figures.toml."""

    label: Latex
    caption: Latex
    alt: Latex


@dataclass(frozen=True)
class Description:
    """The problem set of one edition, with one data set."""

    assignment: StaffAssignment
    edition: Edition
    course: Course
    parts: tuple[Part, ...]
    data: DataSetTable
    references: dict[str, Reference]
    figures: dict[str, Figure]

    @property
    def title(self) -> str:
        """`Problem Set 5: Self-Attention, ...`, in plain text."""
        return f"{self.edition.title}: {self.assignment.title}"

    @property
    def due_plain(self) -> str:
        """`Sunday, January 31, 2027 at 11:59 PM (UTC-08:00)`."""
        due = self.course.dates.due
        zone = f" ({due.tzinfo})" if due.tzinfo else ""
        return f"{due:%A, %B} {due.day}, {due.year} at {due.hour % 12 or 12}:{due:%M %p}{zone}"

    @property
    def minutes(self) -> dict[str, tuple[int, ...]]:
        """How long a topic's commands take with the data set's recipe, where it was measured."""
        return self.assignment.tables.times.get(self.data.recipe, {})

    @property
    def questions(self) -> dict[str, Question]:
        """The questions by topic."""
        return {question.topic: question for question in self.edition.questions}


def describe(repo: Path, edition: str | None, dataset: str | None = None) -> Description:
    """Return the description, read from all tables.

    By default, the edition is the default one, and the data set the installed one, or the default
    one if none is installed.

    Raises:
        UsageError: assignment.toml, course.toml or the data set's name has a mistake.
        HandoutError: references.toml or figures.toml has one.
    """
    assignment = load_assignment(repo)
    chosen = assignment.edition(edition)
    dataset = dataset or installed(repo) or assignment.default_dataset
    datasets = assignment.tables.datasets
    if dataset not in datasets:
        known = ", ".join(sorted(datasets))
        raise UsageError(f"no data set {dataset!r} in assignment.toml; there are: {known}")
    return Description(
        assignment=assignment,
        edition=chosen,
        course=load_course(repo),
        parts=tuple(_parts(assignment, chosen)),
        data=datasets[dataset],
        references=table_of(repo / "handout/references.toml", RootModel[dict[str, Reference]]).root,
        figures=table_of(repo / "handout/figures.toml", RootModel[dict[str, Figure]]).root,
    )


Kind = TypeVar("Kind", bound=BaseModel)


def table_of(path: Path, kind: type[Kind]) -> Kind:
    """Read a TOML file beside the templates; raise HandoutError for a mistake in it."""
    try:
        return read(path, kind)
    except UsageError as error:
        raise HandoutError(str(error)) from None


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
