"""Applies the policy in the table [grading] of course.toml: lateness, and the cap on extra credit.

An extension comes first, then lateness, then the cap. All numbers are exact fractions, and nothing
is rounded here. A later submission never earns more, and an extension never earns less. What a part
loses depends only on its own days and on the late days that are left, not on the other part.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from autograder.description import Grading

from ..arguments import count
from ..cells import shown

DAY = timedelta(days=1)
ZERO = Fraction(0)
LATE, OVER_CAP = "late", "over_cap"  # why points are lost
POLICY = "course.toml: [grading]"  # the source of what is lost


@dataclass(frozen=True)
class Item:
    """Points for a test or for a written question; less than zero: points that are lost."""

    id: str  # its name in overrides: "1e-0-basic", or "1.2" as Gradescope numbers a question
    points: Fraction
    most: Fraction | None = None  # the maximum, if the source contains it
    is_extra: bool = False
    group: str = ""  # the question that a test belongs to, "1e"; "" for a written question
    title: str = ""  # what a written question is called
    source: str = ""  # where the points come from


@dataclass(frozen=True)
class Work:
    """What one person handed in for one part."""

    part: str  # "coding" or "written"
    submission: str = ""  # its ID on the platform; "" if there is none
    items: tuple[Item, ...] = ()  # what the points are for
    time: datetime | None = None  # when it was handed in; None if the platform doesn't say
    is_late: bool = False  # whether the platform marks it as late without saying by how much
    gap: str = ""  # why there are no points that count; "" if there are
    days: int | None = None  # how many days late it is, as `days_late` counts; None if unknown


def total(items: Iterable[Item]) -> Fraction:
    """Return the sum of points."""
    return sum((item.points for item in items), ZERO)


def days_late(late_by: timedelta, grading: Grading) -> int:
    """Return how many days of 24 hours have begun since the end of the grace minutes."""
    return max(0, -(-(late_by - timedelta(minutes=grading.grace_minutes)) // DAY))


def settle(grading: Grading, parts: Collection[Work], used: int) -> tuple[int, list[Item]]:
    """Apply the policy to parts whose days are known, after so many late days were `used`.

    Returns how many late days this assignment takes from the budget, and what is lost. A late day
    covers a day of all parts: if two parts are a day late, they take one. A part after the hard
    deadline takes none, because it would gain nothing.
    """
    last, cap = grading.hard_deadline_days, grading.extra_credit_cap
    days = {part.part: part.days or 0 for part in parts}
    in_time = [late for late in days.values() if last is None or late <= last]
    charged = min(max(0, grading.late_days - used), max(in_time, default=0))
    lost, extra = list[Item](), ZERO
    for part in parts:
        share, why = _loss(grading, days[part.part], charged)
        if why:
            points = -share * total(part.items)
            lost.append(Item(f"late {part.part}, {why}", points, group=LATE, source=POLICY))
        extra += (1 - share) * total(item for item in part.items if item.is_extra)
    if cap is not None and extra > cap:
        what = f"extra credit above {shown(Fraction(cap))}"
        lost.append(Item(what, Fraction(cap) - extra, group=OVER_CAP, source=POLICY))
    return charged, lost


def _loss(grading: Grading, days: int, charged: int) -> tuple[Fraction, str]:
    """Return what share of its points a part loses, and why; "" if it is on time."""
    words, last = count(days, "day") + " late", grading.hard_deadline_days
    if last is not None and days > last:
        when = f", {count(last, 'day')} after the due date" if last else ""
        return Fraction(1), f"{words}: after the hard deadline{when}"
    covered = min(days, charged)
    bare = days - covered
    share = min(Fraction(1), bare * Fraction(grading.percent_per_day) / 100)
    by_days = f"{count(covered, 'late day')} of the budget" if covered else ""
    by_percent = f"{bare} × {grading.percent_per_day} %" if bare else ""
    return share, f"{words}: {' and '.join(filter(None, (by_days, by_percent)))}" if days else ""
