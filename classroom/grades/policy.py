"""Applies the policy in the table [grading] of course.toml: lateness, and the cap on extra credit.

The order is extension, lateness, cap on extra credit. All numbers are exact fractions, and nothing
is rounded here. A later submission never earns more, and an extension never earns less. What a part
loses depends only on its own days and on the late days that are left, not on the other part.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction

from autograder.description import Grading

from ..arguments import count

DAY = timedelta(days=1)
ZERO = Fraction(0)


@dataclass(frozen=True)
class Earned:
    """What a part earned before deductions, and how many started days late it is."""

    part: str
    regular: Fraction
    extra: Fraction
    days: int


@dataclass(frozen=True)
class Late:
    """How many points a part loses because of lateness, 0 or more, and why."""

    part: str
    points: Fraction
    why: str


@dataclass(frozen=True)
class Settled:
    """What a student gets.

    Attributes:
        charged: how many late days this assignment takes from the budget.
        over_cap: extra credit above the cap, which doesn't count.
    """

    charged: int
    late: tuple[Late, ...]
    over_cap: Fraction
    total: Fraction


def days_late(late_by: timedelta, grading: Grading) -> int:
    """Return how many days of 24 hours have begun since the end of the grace minutes."""
    return max(0, -(-(late_by - timedelta(minutes=grading.grace_minutes)) // DAY))


def settle(grading: Grading, parts: tuple[Earned, ...], used: int) -> Settled:
    """Apply the policy.

    A late day covers a day of all parts: if two parts are a day late, they take one. A part after
    the hard deadline takes none, because it would gain nothing.

    Args:
        used: late days that the student has used for other assignments.
    """
    left = max(0, grading.late_days - used)
    charged = min(left, max((p.days for p in parts if not _is_over(p, grading)), default=0))
    late: list[Late] = []
    regular = extra = ZERO
    for part in parts:
        share, why = _loss(part, grading, charged)
        if part.days:
            late.append(Late(part.part, (part.regular + part.extra) * share, why))
        regular += part.regular * (1 - share)
        extra += part.extra * (1 - share)
    cap = grading.extra_credit_cap
    over = max(ZERO, extra - Fraction(cap)) if cap is not None else ZERO
    return Settled(charged, tuple(late), over, regular + extra - over)


def _is_over(part: Earned, grading: Grading) -> bool:
    last = grading.hard_deadline_days
    return last is not None and part.days > last


def _loss(part: Earned, grading: Grading, charged: int) -> tuple[Fraction, str]:
    """Return what share of its points a part loses, and why."""
    words = count(part.days, "day") + " late"
    if _is_over(part, grading):
        last = count(grading.hard_deadline_days or 0, "day")
        return Fraction(1), f"{words}: after the hard deadline, {last} after the due date"
    covered = min(part.days, charged)
    bare = part.days - covered
    share = min(Fraction(1), bare * Fraction(grading.percent_per_day) / 100)
    by_days = f"{count(covered, 'late day')} of the budget" if covered else ""
    by_percent = f"{bare} × {grading.percent_per_day} %" if bare else ""
    return share, f"{words}: {' and '.join(filter(None, (by_days, by_percent)))}"
