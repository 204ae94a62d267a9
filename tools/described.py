"""assignment.toml and course.toml for the tools, by the grader's own loader.

Nothing else parses these two files.
"""

import datetime
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

REPO = Path(__file__).resolve().parent.parent

sys.path.insert(0, str(REPO / "src"))
from grading import assignment as grading_assignment  # noqa: E402
from grading.assignment import EDITION_FILE as EDITION_FILE  # noqa: E402
from grading.assignment import Assignment as Assignment  # noqa: E402
from grading.assignment import Edition as Edition  # noqa: E402
from grading.assignment import Question as Question  # noqa: E402
from grading.errors import UsageError as UsageError  # noqa: E402
from grading.recipes import DataSet as DataSet  # noqa: E402
from grading.recipes import Recipe as Recipe  # noqa: E402
from grading.toml_tables import Rule, Where, read  # noqa: E402

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
    """assignment.toml of a repository.

    Raises:
        UsageError: one line on the first mistake.
    """
    return grading_assignment.load_assignment(repo / ASSIGNMENT)


def load_course(repo: Path = REPO) -> Course:
    """course.toml of a repository.

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
    """The names of all editions.

    Raises:
        UsageError: one line on the first mistake of assignment.toml.
    """
    return list(load_assignment(repo).editions)
