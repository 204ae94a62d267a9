"""Write the summary on the sheet's first page: points, and how long the work takes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import groupby
from operator import add

from autograder.description import Edition, UsageError
from grading.edition import TestSpec

from .description import Description, Part, Question, points, shown_number
from .templates import percent, plain, tex

SERVER, LAPTOP = r"\code{avx512\_bf16}", "AVX2 only"


@dataclass(frozen=True)
class Minutes:
    """How long commands take on two cores.

    Attributes:
        server: minutes with avx512_bf16, or on any processor.
        laptop: minutes with AVX2 only; None if the two were not distinguished.
        is_estimate: whether `laptop` is, at least in part, not measured but twice `server`.
    """

    server: int
    laptop: int | None = None
    is_estimate: bool = False

    @classmethod
    def of(cls, given: tuple[int, ...]) -> Minutes:
        """Return the times of assignment.toml: one number, or two, of which the second may be 0."""
        if len(given) == 1:
            return cls(*given)
        server, laptop = given
        return cls(server, laptop or 2 * server, is_estimate=not laptop)

    @property
    def longest(self) -> int:
        """The longer of the two times."""
        return max(self.server, self.laptop or 0)

    def __add__(self, other: Minutes) -> Minutes:
        is_estimate = self.is_estimate or other.is_estimate
        if self.laptop is None and other.laptop is None:
            return Minutes(self.server + other.server)
        laptop = sum(one.server if one.laptop is None else one.laptop for one in (self, other))
        return Minutes(self.server + other.server, laptop, is_estimate)


@dataclass(frozen=True)
class Row:
    """A row of the table of points, as LaTeX.

    Attributes:
        is_section: whether it is a section's own row; its questions follow.
        number: `1` of a section, `1(d)` of a question, `1(a)--1(c)` of several.
        title: of the section or the question.
        points: its points; of a question with parts, those of each part.
        how: what the points are for: tests with their points; of a section, the time.
    """

    is_section: bool
    number: str
    title: str
    points: str
    how: str


def rows(described: Description) -> list[Row]:
    """Return the table of points: sections, questions with points, and the others together."""
    found = []
    for section in described.parts:
        found.append(_section(section, described))
        if any(question.coding or question.written for question in section.questions):
            found += _questions(section)
    return found


def _section(section: Part, described: Description) -> Row:
    time = f"about {hours(described, section.questions)} of work"
    if taken := minutes_of(described, *(question.topic for question in section.questions)):
        time += f"; computing: about {_both(taken)}"
    is_practice = all(question.is_practice for question in section.questions)
    nothing = is_practice and not any(q.coding or q.written for q in section.questions)
    worth = "practice" if nothing else _worth(section.questions)
    return Row(True, section.number, section.title, worth, time)


def _worth(questions: tuple[Question, ...]) -> str:
    """Return the total points of questions: `53`, `2 extra`."""
    sums = {False: Decimal(0), True: Decimal(0)}
    for question in questions:
        sums[question.is_extra_credit] += question.coding + question.written
    shown = [f"{plain(value)}{' extra' * extra}" for extra, value in sums.items() if value]
    return " + ".join(shown) or "0"


def _questions(section: Part) -> list[Row]:
    found = []
    for scored, group in groupby(section.questions, lambda q: bool(q.coding or q.written)):
        together = list(group)
        if scored:
            found += [_question(question) for question in together]
            continue
        numbers = [shown_number(question.number) for question in together]
        titles = "; ".join(tex(question.title) for question in together)
        if all(question.is_practice for question in together):
            titles = "Practice"
        ends = [numbers[0], numbers[-1]] if len(numbers) > 2 else numbers
        shown = ("--" if len(numbers) > 2 else ", ").join(ends)
        found.append(Row(False, shown, titles, "0", ""))
    return found


def _question(question: Question) -> Row:
    parts = [plain(value) for value in question.written_parts]
    written = " + ".join(parts) if question.written else ""
    worth = " + ".join(filter(None, [plain(question.coding) if question.coding else "", written]))
    how = [tests_in_words(question.tests)] if question.coding else []
    if question.written:
        how.append("written" + (", extra credit" if question.is_extra_credit else ""))
    return Row(False, shown_number(question.number), tex(question.title), worth, "; ".join(how))


def tests_in_words(tests: tuple[TestSpec, ...]) -> str:
    """Return the points of each test: `basic 0--2:~1; hidden 3:~1, 4--5:~3; dropped: 2`.

    A test is named by its place in the question, the middle of its id (`1d-0-basic`).
    """
    kinds = []
    numbered = list(enumerate(tests))
    for kind in dict.fromkeys(test.kind for test in tests):
        of_kind = [(place, test.max_score) for place, test in numbered if test.kind == kind]
        runs = []
        for score, run in groupby(of_kind, lambda entry: entry[1]):
            places = [place for place, _ in run]
            runs.append(f"{_places(places)}:~{plain(score)}")
        kinds.append(f"{kind} {', '.join(runs)}")
    dropped = [str(place) for place, test in numbered if test.dropped]
    return "; ".join([*kinds, *([f"dropped: {', '.join(dropped)}"] if dropped else [])])


def _places(places: list[int]) -> str:
    """Return `3` or `4--5`; or `0 and 2`, if tests of the other kind are in between."""
    if len(places) > 1 and places[-1] - places[0] == len(places) - 1:
        return f"{places[0]}--{places[-1]}"
    return " and ".join(map(str, places))


def hours(described: Description, questions: tuple[Question, ...]) -> str:
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
        f"On two cores this takes about {_in_full(minutes)}; before it starts, each training run "
        "says how long it will take on your computer."
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
    words = f"Models are trained several times, {recipe}: on two cores, {about} {_in_full(taken)}"
    if taken.longest < 60:
        return words + ", in total. No GPU is needed."
    return words + ", in total, or a few hours on a GPU. Start early."


def work_in_all(described: Description) -> str:
    """Return how many hours a student works: on what is graded, and on practice."""
    questions = described.edition.questions
    graded = tuple(question for question in questions if not question.is_practice)
    practice = tuple(question for question in questions if question.is_practice)
    words = f"about {hours(described, graded)}"
    if practice:
        words += f", and {hours(described, practice)} more for all of the practice"
    return words


def pdf_is_required(questions: list[Question]) -> bool:
    """Return whether written answers carry points other than extra credit."""
    return any(question.written and not question.is_extra_credit for question in questions)


def total(questions: tuple[Question, ...], kind: str, extra: bool) -> str:
    """Return the points of a kind, "coding" or "written", regular or extra credit, in words."""
    chosen = [question for question in questions if question.is_extra_credit == extra]
    return points(sum((getattr(question, kind) for question in chosen), Decimal(0)))


def _both(minutes: Minutes) -> str:
    """Return a range of times: `14 to 27 minutes`."""
    first, second = minutes.server, minutes.longest
    if first == second:
        return _duration(first)
    return f"{first} to {_duration(second)}" if second < 90 else f"up to {_duration(second)}"


def _in_full(minutes: Minutes) -> str:
    """Return both times with their processors: avx512_bf16 (servers), AVX2 only (laptops)."""
    if minutes.laptop in (None, minutes.server):
        return _duration(minutes.server)
    estimated = "by our estimate " if minutes.is_estimate else ""
    return (
        f"{_duration(minutes.server)} where the processor has {SERVER} (recent servers), and "
        f"{estimated}{_duration(minutes.laptop)} where it has {LAPTOP} (most laptops)"
    )


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
