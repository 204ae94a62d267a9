"""The policy: lateness in started days, late days, percentages, deadlines, extra credit."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.description import Grading
from classroom.grades.policy import Item, Work, days_late, settle, total

DAY_S = 86_400
POINTS = st.integers(0, 5000).map(lambda hundredths: Fraction(hundredths, 100))
PERCENT = st.integers(0, 1000).map(lambda tenths: Decimal(tenths) / 10)
GRADINGS = st.builds(
    Grading,
    grace_minutes=st.integers(0, 3000),
    late_days=st.integers(0, 6),
    percent_per_day=PERCENT,
    hard_deadline_days=st.none() | st.integers(0, 8),
    extra_credit_cap=st.none() | st.integers(0, 20).map(Decimal),
)
LATENESS = st.integers(-2 * DAY_S, 10 * DAY_S)
WORK = st.lists(st.tuples(POINTS, POINTS, LATENESS), min_size=1, max_size=2)


def settled(grading: Grading, work: list[tuple[Fraction, Fraction, int]], used: int = 0):
    """Apply the policy to parts of (points, extra credit, seconds late).

    Return the points, the late days that are charged, and the points that are lost.
    """
    parts = []
    for name, (regular, extra, late_s) in zip(("coding", "written"), work, strict=False):
        items = (Item("1a", regular), Item("1b", extra, is_extra=True))
        days = days_late(timedelta(seconds=late_s), grading)
        parts.append(Work(name, items=items, days=days))
    charged, lost = settle(grading, parts, used)
    earned = total(item for part in parts for item in part.items)
    return earned + total(lost), charged, [item.points for item in lost]


# The property holds for all inputs, so this test can't fail by chance.
@settings(deadline=None)
@given(GRADINGS, WORK, st.integers(0, 7), st.integers(0, 1), st.integers(0, 10 * DAY_S))
def test_later_never_earns_more_and_an_extension_never_less(grading, work, used, which, later_s):
    points, charged, lost = settled(grading, work, used)
    which %= len(work)
    regular, extra, late_s = work[which]
    later = [*work[:which], (regular, extra, late_s + later_s), *work[which + 1 :]]
    assert settled(grading, later, used)[0] <= points
    extended = [(regular, extra, late_s - later_s) for regular, extra, late_s in work]
    assert settled(grading, extended, used)[0] >= points
    assert points >= 0 and max(lost, default=0) <= 0
    if grading.extra_credit_cap is not None:
        cap = Fraction(grading.extra_credit_cap)
        assert points <= sum(regular for regular, _, _ in work) + cap
    assert 0 <= charged <= max(0, grading.late_days - used)
    days = [days_late(timedelta(seconds=late_s), grading) for _, _, late_s in work]
    last = grading.hard_deadline_days
    assert charged <= max((n for n in days if last is None or n <= last), default=0)
