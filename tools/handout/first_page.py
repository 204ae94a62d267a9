"""Write the summary on the sheet's first page: points, and how long the work takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from operator import add

from autograder.description import Edition, UsageError
from grading.edition import TestSpec

from .description import Description, Part, Question, is_unscored, points, shown_number
from .templates import percent, plain, tex

TWO_HOURS = 2
# What a test's points are for, if not for code.
PURPOSES = {
    "dev_accuracy": "dev",
    "test_accuracy": "test",
    "remembers_training": "train",
    "matches_checkpoint": "reproducible",
}


@dataclass(frozen=True)
class Minutes:
    """How long commands take on two cores, which depends on the processor.

    Attributes:
        shortest, longest: minutes; equal if no difference was measured.
        is_estimate: whether `longest` is, at least in part, not measured but twice `shortest`.
    """

    shortest: int
    longest: int
    is_estimate: bool = False

    @classmethod
    def of(cls, given: tuple[int, ...]) -> Minutes:
        """Return the times of assignment.toml: one number, or two, of which the second may be 0."""
        if len(given) == 1:
            return cls(given[0], given[0])
        shortest, longest = given
        return cls(shortest, longest or 2 * shortest, is_estimate=not longest)

    def __add__(self, other: Minutes) -> Minutes:
        shortest, longest = self.shortest + other.shortest, self.longest + other.longest
        return Minutes(shortest, longest, self.is_estimate or other.is_estimate)

    def __str__(self) -> str:
        if self.shortest == self.longest:
            return _duration(self.shortest)
        estimated = " (our estimate)" * self.is_estimate
        if self.longest < 90:
            return f"{self.shortest} to {_duration(self.longest)}{estimated}"
        return f"{_duration(self.shortest)} to {_duration(self.longest)}{estimated}"


@dataclass(frozen=True)
class Row:
    """A row of the table of questions, as LaTeX.

    Attributes:
        is_section: whether it is a section's own row; its questions follow.
        number: `1` of a section, `1(d)` of a question.
        title: of the section or the question.
        points: its points; of a question with parts, those of each part.
        hours: of a student's work.
        difficulty, importance: 1 to 3; 0 of a row that isn't a question's.
        code: what the points for code are for, if there are several things.
    """

    is_section: bool
    number: str
    title: str
    points: str
    hours: str
    difficulty: int
    importance: int
    code: str


def rows(described: Description) -> list[Row]:
    """Return the table of the sheet's questions, each section before its own."""
    found = []
    for section in described.parts:
        asked = tuple(question for question in section.questions if not is_unscored(question))
        if asked:
            found.append(_section(replace(section, questions=asked), described))
            found += [row_of(described, question) for question in asked]
    return found


def _section(section: Part, described: Description) -> Row:
    worth, time = _worth(section.questions), _hours(described, section.questions)
    return Row(True, section.number, section.title, worth, time, 0, 0, "")


def _worth(questions: Sequence[Question]) -> str:
    """Return the total points of questions: `53`, `2 extra`."""
    sums = {False: Decimal(0), True: Decimal(0)}
    for question in questions:
        sums[question.is_extra_credit] += question.coding + question.written
    shown = [f"{plain(value)}{' extra' * extra}" for extra, value in sums.items() if value]
    return " + ".join(shown) or "0"


def row_of(described: Description, question: Question) -> Row:
    """Return a question's row."""
    parts = [plain(value) for value in question.written_parts]
    written = " + ".join(parts) if question.written else ""
    worth = " + ".join(filter(None, [plain(question.coding) if question.coding else "", written]))
    topic = described.assignment.tables.topics[question.topic]
    return Row(
        is_section=False,
        number=shown_number(question.number),
        title=tex(question.title),
        points=worth or "0",
        hours=_hours(described, [question]),
        difficulty=topic.difficulty,
        importance=topic.importance,
        code=tests_in_words(question.tests) if question.coding else "",
    )


def tests_in_words(tests: tuple[TestSpec, ...]) -> str:
    """Return what the points of tests are for: `dev .88, test 2.2, reproducible .88, code 7.04`."""
    sums: dict[str, Decimal] = dict.fromkeys([*PURPOSES.values(), "code"], Decimal(0))
    for test in tests:
        sums[PURPOSES.get(test.name, "code")] += test.max_score
    words = [f"{purpose}~{plain(value)}" for purpose, value in sums.items() if value]
    dropped = sum(bool(test.dropped) for test in tests)
    return ", ".join(words) + (f"; {dropped} dropped" if dropped else "")


def most_important(described: Description, questions: Sequence[Question]) -> list[Question]:
    """Return what to do in two hours: of the most important questions, in order, what fits."""
    topics, chosen, left = described.assignment.tables.topics, [], float(TWO_HOURS)
    for question in questions:
        topic = topics[question.topic]
        if topic.importance == 3 and topic.hours <= left:
            chosen.append(question)
            left -= topic.hours
    return chosen


def _hours(described: Description, questions: Sequence[Question]) -> str:
    """Return how long a student works on some questions: `7.5~h`."""
    topics = described.assignment.tables.topics
    return f"{sum(topics[question.topic].hours for question in questions):g}~h"


def hours(described: Description, questions: Sequence[Question]) -> str:
    """Return how long a student works on some questions, to half an hour: `7.5 hours`."""
    topics = described.assignment.tables.topics
    halves = max(1, round(2 * sum(topics[question.topic].hours for question in questions)))
    return "half an hour" if halves == 1 else "1 hour" if halves == 2 else f"{halves / 2:g} hours"


def minutes_of(described: Description, *topics: str) -> Minutes | None:
    """Return how long the commands of topics take together; None if none was measured."""
    known = described.minutes or {}
    taken = [Minutes.of(known[topic]) for topic in topics if topic in known]
    return reduce(add, taken) if taken else None


def training_time(described: Description, topic: str) -> str:
    """Return a sentence on how long a question's commands take with the data set's recipe."""
    minutes = minutes_of(described, topic)
    if minutes is None:
        return "Before it starts, each training run says how long it will take on your computer."
    return (
        f"On two cores this takes about {minutes}; before it starts, each training run says how "
        "long it will take on your computer."
    )


def usual_accuracy(described: Description, variant: str) -> str:
    """Return a sentence on the accuracies that the data set's recipe reaches; "" if unknown."""
    recipe = described.assignment.recipes[described.data.recipe]
    usual = recipe.get("usual", {}).get(variant)
    if usual is None:
        return ""
    return (
        f"It is usually about {percent(usual['median'])} ({percent(usual['lowest'])} to "
        f"{percent(usual['highest'])} in {usual['runs']} trainings); "
        f"{percent(described.data.thresholds[variant])} is enough for the points."
    )


def time_in_all(described: Description, trained: set[str]) -> str:
    """Return a sentence on the time of all trainings, "more than" if one was not measured."""
    recipe = rf"with the recipe \code{{{tex(described.data.recipe)}}}"
    taken = minutes_of(described, *described.questions)
    if taken is None:
        return f"Models are trained several times, {recipe}; each run says how long it takes."
    known = {topic for topic in trained if minutes_of(described, topic)}
    about = "about" if trained <= known else "more than"
    words = f"Training, {recipe}, takes {about} {taken} in total on two cores of a PC or a Mac"
    if taken.longest < 60:
        return words + ", without a GPU."
    return words + ", or a few hours on a GPU. Start early."


def work_in_all(described: Description) -> str:
    """Return how many hours a student works: on what is required, on the rest, on practice."""
    questions = described.edition.questions
    asked = [question for question in questions if not is_unscored(question)]
    kinds = {
        "required": [question for question in asked if not question.is_extra_credit],
        "for extra credit": [question for question in asked if question.is_extra_credit],
        "for all of the practice": [question for question in questions if is_unscored(question)],
    }
    words = [f"{hours(described, chosen)} {kind}" for kind, chosen in kinds.items() if chosen]
    return "about " + ", ".join(words)


def pdf_is_required(questions: list[Question]) -> bool:
    """Return whether written answers carry points other than extra credit."""
    return any(question.written and not question.is_extra_credit for question in questions)


def total(questions: tuple[Question, ...], kind: str, extra: bool) -> str:
    """Return the points of a kind, "coding" or "written", regular or extra credit, in words."""
    chosen = [question for question in questions if question.is_extra_credit == extra]
    return points(sum((getattr(question, kind) for question in chosen), Decimal(0)))


def _duration(minutes: int) -> str:
    if minutes < 90:
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{round(minutes / 60)} hours"


def example(edition: Edition) -> Question:
    """Return the question that shows how to run tests, the first that has any.

    Raises:
        UsageError: no question of the edition has tests.
    """
    tested = [question for question in edition.questions if question.tests]
    if not tested:
        raise UsageError(
            f"assignment.toml: [editions.{edition.name}]: got no question with tests, expected at "
            "least one, since the sheet explains how to run tests and what to upload"
        )
    return tested[0]
