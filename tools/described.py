"""assignment.toml and course.toml for the tools, by the grader's own loader.

Nothing else parses these two files.
"""

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from grading import assignment as grading_assignment
from grading.assignment import EDITION_FILE as EDITION_FILE
from grading.assignment import Assignment as Assignment
from grading.assignment import Edition as Edition
from grading.assignment import Question as Question
from grading.errors import UsageError as UsageError
from grading.recipes import DataSet as DataSet
from grading.recipes import Recipe as Recipe
from grading.toml_tables import Rule, Where, read

REPO = Path(__file__).resolve().parent.parent
ASSIGNMENT, COURSE = "assignment.toml", "course.toml"


@dataclass(frozen=True)
class Dates:
    """When the problem set is given out and handed in."""

    published: datetime.date
    due: Annotated[
        datetime.datetime,
        Rule("a date with a time and an offset, such as -08:00", lambda due: bool(due.tzinfo)),
    ]


@dataclass(frozen=True)
class Policies:
    """What the course says of each."""

    collaboration: str
    late: str
    ai_tools: str


@dataclass(frozen=True)
class Course:
    """The whole of course.toml."""

    name: str
    term: str
    contact: str
    dates: Dates
    policies: Policies


def load_assignment(repo: Path = REPO) -> Assignment:
    """Read assignment.toml of a repository.

    Raises:
        UsageError: one line on the first mistake.
    """
    return grading_assignment.load_assignment(repo / ASSIGNMENT)


def load_course(repo: Path = REPO) -> Course:
    """Read course.toml of a repository.

    Raises:
        UsageError: one line on the first mistake.
    """
    course = read(repo / COURSE, Course)
    dates = course.dates
    if dates.published > dates.due.date():
        raise Where(COURSE, "dates").fault(
            f"published = {dates.published} is after due = {dates.due.date()}"
        )
    return course


def editions(repo: Path = REPO) -> list[str]:
    """Return the names of all editions.

    Raises:
        UsageError: one line on the first mistake of assignment.toml.
    """
    return list(load_assignment(repo).editions)


def graded_topics(assignment: Assignment) -> set[str]:
    """Return the topics for which any edition gives points: nobody gets their answers."""
    questions = (q for edition in assignment.editions.values() for q in edition.questions)
    return {question.topic for question in questions if question.coding or question.written}
