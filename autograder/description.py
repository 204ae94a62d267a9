"""Reads assignment.toml and course.toml for staff's commands, with the grader's own loader."""

import datetime
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from grading import edition as grading_edition
from grading.edition import EDITION_FILE as EDITION_FILE
from grading.edition import Assignment as Assignment
from grading.edition import Edition as Edition
from grading.edition import Question as Question
from grading.errors import UsageError as UsageError
from grading.recipes import DataSet as DataSet
from grading.recipes import Recipe as Recipe
from grading.toml_tables import Choice, NaturalNumber, Rule, Where, read

REPO = Path(__file__).resolve().parent.parent
ASSIGNMENT, COURSE = "assignment.toml", "course.toml"
AI_POLICIES = ("forbidden", "tutor", "disclosure")
MISSING = ("blank", "zero")
Percent = Annotated[Decimal, Rule("from 0 to 100", lambda value: 0 <= value <= 100)]
Points = Annotated[Decimal, Rule("0 or more", lambda value: value >= 0)]


@dataclass(frozen=True)
class Dates:
    """When the problem set is published, and when it is due."""

    published: datetime.date
    due: Annotated[
        datetime.datetime,
        Rule("a date with a time and an offset, such as -08:00", lambda due: bool(due.tzinfo)),
    ]


@dataclass(frozen=True)
class Policies:
    """The course's policies.

    Attributes:
        collaboration, late: sentences for the sheet.
        ai_tools: one of AI_POLICIES; course.toml explains them.
    """

    collaboration: str
    late: str
    ai_tools: Annotated[str, Choice(AI_POLICIES)]


@dataclass(frozen=True)
class Grading:
    """How the gradebook computes grades; without this table, lateness costs nothing.

    Attributes:
        grace_minutes: how long after the due date, or a student's extension, work is not yet late.
        late_days: each student's budget, for the whole course.
        percent_per_day: deducted from what a part earned, for each day that no late day covers.
        hard_deadline_days: a part that is later than this earns nothing; None: no deadline.
        extra_credit_cap: how many points of extra credit count at most; None: all.
        missing: what a student gets for a part whose source doesn't list them: no grade, or zero.
    """

    grace_minutes: NaturalNumber = 0
    late_days: NaturalNumber = 0
    percent_per_day: Percent = Decimal(0)
    hard_deadline_days: NaturalNumber | None = None
    extra_credit_cap: Points | None = None
    missing: Annotated[str, Choice(MISSING)] = "blank"


@dataclass(frozen=True)
class Course:
    """The content of course.toml."""

    term: str
    contact: str
    dates: Dates
    policies: Policies
    grading: Grading = field(default_factory=Grading)


def load_assignment(repo: Path = REPO) -> Assignment:
    """Read assignment.toml of a repository.

    Raises:
        UsageError: the file has a mistake; the message is one line about the first.
    """
    return grading_edition.load_assignment(repo)


def load_course(repo: Path = REPO) -> Course:
    """Read course.toml of a repository.

    Raises:
        UsageError: the file has a mistake; the message is one line about the first.
    """
    course = read(repo / COURSE, Course)
    dates = course.dates
    if dates.published > dates.due.date():
        raise Where(COURSE, "dates").fault(
            f"published = {dates.published} is after due = {dates.due.date()}"
        )
    return course


def check_recipe(repo: Path, name: str | None) -> None:
    """Check that a recipe exists; None stands for the data set's own.

    Raises:
        UsageError: it doesn't; the message lists the recipes.
    """
    recipes = load_assignment(repo).recipes
    if name is not None and name not in recipes:
        known = ", ".join(sorted(recipes))
        raise UsageError(f"no recipe {name!r} in assignment.toml; there are: {known}")


def editions(repo: Path = REPO, chosen: str | None = None) -> list[str]:
    """Return the names of all editions, or only the chosen one.

    Raises:
        UsageError: assignment.toml has a mistake, or doesn't have the chosen edition; the
            message then lists the editions.
    """
    described = load_assignment(repo)
    return list(described.editions) if chosen is None else [described.edition(chosen).name]


def graded_topics(assignment: Assignment) -> set[str]:
    """Return the topics for which any edition gives points; no student gets their answers."""
    questions = (q for edition in assignment.editions.values() for q in edition.questions)
    return {question.topic for question in questions if question.coding or question.written}
