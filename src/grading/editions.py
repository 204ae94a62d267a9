"""The tables of topics and editions as written, and the editions that result from them.

An edition may extend another (`extends`), omit topics (`without`), and include all topics of the
practice part (`practice`): `resolved` writes out its questions in full.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Annotated

from .toml_tables import Choice, Count, NaturalNumber, NotNegative, Rule, Where

VISIBILITIES = ("visible", "after_due_date", "after_published")
Points = Annotated[
    Decimal,
    Rule(
        "0 or more (and below 1000), with at most two decimals",
        lambda value: 0 <= value < 1000 and value == value.quantize(Decimal("0.01")),
    ),
]
Number = Annotated[
    str, Rule("a number and a letter, as '1a'", lambda text: re.fullmatch("[1-9][0-9]?[a-z]", text))
]


@dataclass(frozen=True)
class TestTable:
    """A test of a topic."""

    __test__ = False  # pytest: this is no test case

    name: str
    kind: Annotated[str, Choice(("basic", "hidden"))]
    weight: NaturalNumber = 1
    timeout_s: Annotated[float, Rule("above 0, and at most 300", lambda s: 0 < s <= 300)] = 20.0
    torch: bool = True
    after_published: bool = False


@dataclass(frozen=True)
class TopicTable:
    """A topic, without its number; the presence of part and title is checked later.

    Attributes:
        hours: the estimated hours of a student's work, for the sheet.
    """

    name: str
    part: str = ""
    title: str = ""
    hours: NotNegative = 0.5
    practice: bool = False
    tests: dict[str, TestTable] = field(default_factory=dict)
    required_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuestionTable:
    """A line of an edition."""

    number: Number
    topic: str
    coding: Points = Decimal(0)
    written: Points | tuple[Points, ...] = Decimal(0)
    extra_credit: bool = False

    @property
    def place(self) -> tuple[int, str]:
        """The number in a form that sorts: `9b` before `10a`."""
        return int(self.number[:-1]), self.number[-1]


@dataclass(frozen=True)
class Gradescope:
    """What an edition's students see on Gradescope, and when.

    Attributes:
        hidden_tests: when hidden tests' points become visible: one of VISIBILITIES.
        hidden_feedback_a_day: submissions in 24 hours that show their hidden tests at once; 0
            means no limit. Others are graded in full, too, but show them later.
        leaderboard: whether there is a ranking of accuracies on dev and numbers of parameters.
    """

    hidden_tests: Annotated[str, Choice(VISIBILITIES)]
    hidden_feedback_a_day: NaturalNumber = 0
    leaderboard: bool = False


@dataclass(frozen=True)
class EditionTable:
    """One table [editions.NAME]; assignment.toml explains the keys."""

    name: str
    title: str
    questions: tuple[QuestionTable, ...]
    gradescope: Gradescope | None = None
    course: str = ""
    extends: str = ""
    practice: Count | None = None
    without: tuple[str, ...] = ()
    not_required: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResolvedEdition:
    """An edition with everything that it inherits; questions are in the order of their numbers."""

    name: str
    title: str
    course: str
    questions: tuple[QuestionTable, ...]
    gradescope: Gradescope
    not_required: tuple[str, ...]


def resolved(
    editions: dict[str, EditionTable], topics: dict[str, TopicTable], practice: str, where: Where
) -> list[ResolvedEdition]:
    """Return all editions, each complete in itself.

    Args:
        practice: the practice part, or "".
        where: the table of editions.

    Raises:
        UsageError: one names a topic, a file or an edition that doesn't exist, or its numbers are
            wrong.
    """
    for edition in editions.values():
        _check(edition, editions, topics, where.of(edition.name))
    found = []
    for name in editions:
        within = where.of(name)
        edition = _extended(name, editions, within, ())
        if edition.gradescope is None:
            raise within.fault("'gradescope' is missing")
        questions = [*edition.questions, *_practice(edition, topics, practice, within)]
        questions.sort(key=lambda question: question.place)
        _refuse_repeated(questions, within)
        found.append(
            ResolvedEdition(
                name=name,
                title=edition.title,
                course=edition.course,
                questions=tuple(questions),
                gradescope=edition.gradescope,
                not_required=edition.not_required,
            )
        )
    return found


def _check(
    edition: EditionTable,
    editions: dict[str, EditionTable],
    topics: dict[str, TopicTable],
    where: Where,
) -> None:
    """Check an edition's own lines, as far as possible before inherited ones are known."""
    if edition.extends:
        where.check("extends", edition.extends, editions, "edition")
    for question in edition.questions:
        within = replace(where, item=f", question {question.number}")
        within.check("topic", question.topic, topics, "topic")
    for topic in edition.without:
        where.check("without", topic, topics, "topic")
    outputs = [file for topic in topics.values() for file in topic.required_files]
    for file in edition.not_required:
        where.check("not_required", file, outputs, "file that a topic requires")
    places = [question.place for question in edition.questions]
    for before, question in zip(places, edition.questions[1:], strict=False):
        if question.place < before:
            raise where.fault(
                f"question {question.number} comes after {before[0]}{before[1]}, expected the "
                "lines in the order of their numbers"
            )


def _extended(
    name: str, editions: dict[str, EditionTable], where: Where, below: tuple[str, ...]
) -> EditionTable:
    """Return an edition with the lines of the one that it extends.

    Its own lines replace those of the same topics.
    """
    own = editions[name]
    if not own.extends:
        return own
    if name in below:
        raise where.fault(f"extends leads in a circle, from {' to '.join([*below, name])}")
    base = _extended(own.extends, editions, where, (*below, name))
    replaced = {question.topic for question in own.questions} | set(own.without)
    inherited = tuple(q for q in base.questions if q.topic not in replaced)
    return replace(
        own,
        questions=inherited + own.questions,
        course=own.course or base.course,
        gradescope=own.gradescope or base.gradescope,
        practice=own.practice or base.practice,
        without=base.without + own.without,
        not_required=base.not_required + own.not_required,
    )


def _practice(
    edition: EditionTable, topics: dict[str, TopicTable], part: str, where: Where
) -> list[QuestionTable]:
    """Make a line for each practice topic that has none yet, in the order of their tables."""
    if edition.practice is None:
        return []
    if not part:
        raise where.fault("practice has a number, but no part: 'practice' in [assignment] names it")
    present = {question.topic for question in edition.questions} | set(edition.without)
    missing = [t.name for t in topics.values() if t.part == part and t.name not in present]
    taken = {question.number for question in edition.questions}
    numbers = [f"{edition.practice}{letter}" for letter in string.ascii_lowercase]
    free = [number for number in numbers if number not in taken]
    if len(missing) > len(free):
        raise where.fault(
            f"practice has {len(missing)} questions, which is more than there are letters"
        )
    return [QuestionTable(n, topic) for n, topic in zip(free, missing, strict=False)]


def _refuse_repeated(questions: list[QuestionTable], where: Where) -> None:
    for before, question in zip(questions, questions[1:], strict=False):
        if before.number == question.number:
            raise where.fault(
                f"two questions are numbered {question.number}: {before.topic}, {question.topic}"
            )
    seen: dict[str, str] = {}
    for question in questions:
        if question.topic in seen:
            raise where.fault(
                f"{question.topic} is asked twice: {seen[question.topic]}, {question.number}"
            )
        seen[question.topic] = question.number
