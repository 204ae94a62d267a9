"""Write the summary on the sheet's first page: points, and how long the work takes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from autograder.description import Edition, UsageError
from grading.edition import TestSpec

from .description import Description, Question, is_unscored, points
from .templates import percent, plain, tex

# What a test's points are for, if not for code.
PURPOSES = {
    "dev_accuracy": "dev",
    "test_accuracy": "test",
    "remembers_training": "train",
    "matches_checkpoint": "reproducible",
}


def total(questions: Sequence[Question]) -> str:
    """Return the total points of questions: `53`, `2 extra`."""
    sums = {False: Decimal(0), True: Decimal(0)}
    for question in questions:
        sums[question.is_extra_credit] += question.coding + question.written
    shown = [f"{plain(value)}{' extra' * extra}" for extra, value in sums.items() if value]
    return " + ".join(shown) or "0"


def scores(question: Question) -> str:
    """Return a question's points for code and for each written part: `5 + 1 + 1`."""
    values = [question.coding] if question.coding else []
    values += question.written_parts if question.written else []
    return " + ".join(map(plain, values)) or "0"


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
    topics, chosen, left = described.assignment.tables.topics, [], 2.0
    for question in questions:
        topic = topics[question.topic]
        if topic.importance == 3 and topic.hours <= left:
            chosen.append(question)
            left -= topic.hours
    return chosen


def hours(described: Description, questions: Sequence[Question]) -> str:
    """Return how long a student works on questions: `1.5~h`."""
    return f"{_hours(described, questions):g}~h"


def _hours(described: Description, questions: Sequence[Question]) -> float:
    return sum(described.assignment.tables.topics[question.topic].hours for question in questions)


def time_of(described: Description, *topics: str) -> tuple[str, int] | None:
    """Return how long the commands of topics take on two cores: in words, and minutes at most.

    assignment.toml has one number of minutes for a topic, or two, since it depends on the
    processor. The second may be 0: not measured, and then estimated as twice the first. The result
    is None if nothing was measured.
    """
    taken = [described.minutes[topic] for topic in topics if topic in described.minutes]
    if not taken:
        return None
    shortest = sum(times[0] for times in taken)
    longest = sum(times[-1] or 2 * times[0] for times in taken)
    if shortest == longest:
        return _duration(shortest), longest
    first = str(shortest) if longest < 90 else _duration(shortest)
    estimated = " (our estimate)" * any(not times[-1] for times in taken)
    return f"{first} to {_duration(longest)}{estimated}", longest


def training_time(described: Description, topic: str) -> str:
    """Return a sentence on how long a question's commands take with the data set's recipe."""
    taken = time_of(described, topic)
    says = "each training run says how long it will take on your computer."
    if taken is None:
        return f"Before it starts, {says}"
    return f"On two cores this takes about {taken[0]}; before it starts, {says}"


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
    """Return a sentence on the time of all trainings: "more than", if one was not measured.

    `trained` are the topics that train a model.
    """
    recipe = rf"with the recipe \code{{{tex(described.data.recipe)}}}"
    taken = time_of(described, *described.questions)
    if taken is None:
        return f"Models are trained several times, {recipe}; each run says how long it takes."
    about = "about" if trained <= described.minutes.keys() else "more than"
    words = f"Training, {recipe}, takes {about} {taken[0]} in total on two cores of a PC or a Mac"
    if taken[1] < 60:
        return words + ", without a GPU."
    return words + ", or a few hours on a GPU. Start early."


def work_in_all(described: Description) -> str:
    """Return how many hours a student works: on what is required, on the rest, on practice."""
    questions = described.edition.questions
    scored = [question for question in questions if not is_unscored(question)]
    kinds = {
        "required": [question for question in scored if not question.is_extra_credit],
        "for extra credit": [question for question in scored if question.is_extra_credit],
        "for all of the practice": [question for question in questions if is_unscored(question)],
    }
    words = []
    for kind, chosen in kinds.items():
        halves = max(1, round(2 * _hours(described, chosen)))
        shown = {1: "half an hour", 2: "1 hour"}.get(halves, f"{halves / 2:g} hours")
        words += [f"{shown} {kind}"] if chosen else []
    return "about " + ", ".join(words)


def totals(questions: Sequence[Question]) -> dict[str, str]:
    """Return the points for code, for written answers and, written, for extra credit, in words."""
    sums = {"coding": Decimal(0), "written": Decimal(0), "extra": Decimal(0)}
    for question in questions:
        if not question.is_extra_credit:
            sums["coding"] += question.coding
        sums["extra" if question.is_extra_credit else "written"] += question.written
    return {kind: points(value) for kind, value in sums.items()}


def _duration(minutes: int) -> str:
    if minutes < 90:
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{round(minutes / 60)} hours"


def example(edition: Edition) -> Question:
    """Return the first question that has tests, as an example; raise UsageError if none has any."""
    tested = [question for question in edition.questions if question.tests]
    if not tested:
        raise UsageError(
            f"assignment.toml: [editions.{edition.name}]: got no question with tests, expected at "
            "least one, since the sheet explains how to run tests and what to upload"
        )
    return tested[0]
