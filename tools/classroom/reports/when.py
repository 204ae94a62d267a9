"""When a class handed in: days, attempts, and who was late."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from autograder.description import load_course
from grading import paths
from grading.errors import UsageError

from ..submissions import utc
from .gathered import Gathered, Handed


@dataclass(frozen=True)
class When:
    """When a class handed in.

    Attributes:
        days: each day, its number of submissions, and this number relative to the busiest day's.
        attempts: how many submissions are a first, a second ... attempt.
        late: submissions that the platform marks as late, or from after the due date.
        due: the due date in course.toml, or None.
        undated: the number of submissions whose time is unknown.
    """

    days: list[tuple[str, int, float]]
    attempts: list[tuple[int, int]]
    late: list[Handed]
    due: datetime | None
    undated: int


def when(gathered: Gathered) -> When:
    """Return when a class handed in; each time counts for the day in its own time zone."""
    try:
        due: datetime | None = load_course(paths.ROOT).dates.due
    except UsageError:
        due = None
    known = [one.entry.created_at for one in gathered.handed if one.entry.created_at]
    counts = Counter(time.date().isoformat() for time in known)
    most = max(counts.values(), default=1)
    return When(
        [(day, count, count / most) for day, count in sorted(counts.items())],
        sorted(Counter(one.entry.attempt for one in gathered.handed).items()),
        [one for one in gathered.handed if _is_late(one, due)],
        due,
        len(gathered.handed) - len(known),
    )


def _is_late(one: Handed, due: datetime | None) -> bool:
    created = one.entry.created_at
    return one.entry.late or (due is not None and created is not None and utc(created) > due)
