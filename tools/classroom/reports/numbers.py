"""Computes statistics of a class: scores, questions, tests, and numbers that tests measured."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..records import points
from .gathered import Gathered

BINS = 10
THRESHOLD = "threshold"
FEWEST = 3  # submissions that a correlation needs


@dataclass(frozen=True)
class Spread:
    """The distribution of some numbers."""

    count: int
    least: float
    median: float
    greatest: float
    mean: float
    quartiles: tuple[float, float]


@dataclass(frozen=True)
class Bin:
    """A bar of a histogram; `share` is its length relative to the longest bar."""

    label: str
    count: int
    share: float


@dataclass(frozen=True)
class QuestionRow:
    """A question's results in the class."""

    number: str
    topic: str
    most: Decimal
    scores: Spread
    full: int
    none: int


@dataclass(frozen=True)
class TestRow:
    """A test's results in the class.

    Attributes:
        outcomes: how often each outcome occurred.
        cost: how many points the class lost in it.
        discrimination: the correlation of its points with those in all other tests; None if
            either is the same for everybody.
        cpu_s, memory: seconds and MiB of the submissions whose code ran.
    """

    __test__ = False

    test_id: str
    name: str
    kind: str
    most: Decimal
    outcomes: Counter[str]
    cost: Decimal
    discrimination: float | None
    cpu_s: Spread | None
    memory: Spread | None

    @property
    def passed(self) -> int:
        return self.outcomes["passed"]

    @property
    def total(self) -> int:
        return self.outcomes.total()


@dataclass(frozen=True)
class MeasuredRow:
    """A number that a test measured; `below` counts values below the threshold, if any."""

    test_id: str
    name: str
    spread: Spread
    threshold: float | None
    below: int
    bins: tuple[Bin, ...]


def spread(values: Sequence[float]) -> Spread | None:
    """Return the distribution of some numbers; None if there are none."""
    if not values:
        return None
    ordered = sorted(values)
    lower, middle, upper = (
        statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    )
    mean = statistics.fmean(ordered)
    return Spread(len(ordered), ordered[0], middle, ordered[-1], mean, (lower, upper))


def histogram(values: Sequence[float], most: float) -> tuple[Bin, ...]:
    """Return ten bars from 0 to `most`; the last one includes `most` and larger values."""
    if not values or most <= 0:
        return ()
    counts = Counter(min(BINS - 1, max(0, int(value / most * BINS))) for value in values)
    longest = max(counts.values())
    edges = [most * i / BINS for i in range(BINS + 1)]
    return tuple(
        Bin(f"{edges[i]:.3g} to {edges[i + 1]:.3g}", counts[i], counts[i] / longest)
        for i in range(BINS)
    )


def questions(gathered: Gathered) -> list[QuestionRow]:
    """Return the questions, in order."""
    tests, found = gathered.tests, []
    for number, ids in gathered.questions.items():
        most = sum((points(tests[i]["max_score"]) for i in ids), Decimal(0))
        scores = [_score(one.tests, ids) for one in gathered.counted]
        known = spread([float(score) for score in scores])
        if known is not None:
            full = sum(score == most for score in scores)
            none = sum(not score for score in scores)
            topic = tests[ids[0]].get("topic", "")
            found.append(QuestionRow(number, topic, most, known, full, none))
    return found


def _score(tests: list[dict[str, Any]], ids: list[str]) -> Decimal:
    return sum((points(t["score"]) for t in tests if t["test_id"] in ids), Decimal(0))


def tests(gathered: Gathered) -> list[TestRow]:
    """Return the tests; those in which the class lost most points come first."""
    rows = [_test(gathered, test_id, test) for test_id, test in gathered.tests.items()]
    return sorted(rows, key=lambda row: (-row.cost, row.passed - row.total))


def _test(gathered: Gathered, test_id: str, about: dict[str, Any]) -> TestRow:
    ended = [(o, t) for o in gathered.counted for t in o.tests if t["test_id"] == test_id]
    most = points(about["max_score"])
    cost = sum((points(t["max_score"]) - points(t["score"]) for _, t in ended), Decimal(0))
    own = [float(points(t["score"])) for _, t in ended]
    rest = [float(one.score - points(t["score"])) for one, t in ended]
    ran = [t for _, t in ended if t.get("cpu_s")]
    return TestRow(
        test_id,
        about.get("name", ""),
        about.get("kind", ""),
        most,
        Counter(t["outcome"] for _, t in ended),
        max(cost, Decimal(0)),
        correlation(own, rest),
        spread([t["cpu_s"] for t in ran]),
        spread([t["peak_bytes"] / 2**20 for t in ran if t.get("peak_bytes")]),
    )


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None if it is undefined, or there are too few numbers."""
    if len(one) < FEWEST or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return statistics.correlation(one, other)


def measured(gathered: Gathered) -> list[MeasuredRow]:
    """Return what tests measured, in their order; a threshold applies to the test's accuracy."""
    found: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    for one in gathered.counted:
        for test in one.tests:
            numbers = test.get("measured", {})
            for name, value in numbers.items():
                if name != THRESHOLD:
                    limit = numbers.get(THRESHOLD) if name == "accuracy" else None
                    found.setdefault((test["test_id"], name), []).append((value, limit))
    order = list(gathered.tests)
    rows = [_measured(*key, pairs) for key, pairs in found.items()]
    return sorted(rows, key=lambda row: (order.index(row.test_id), row.name))


def _measured(test_id: str, name: str, pairs: list[tuple[float, float | None]]) -> MeasuredRow:
    values = [value for value, _ in pairs]
    limits = {limit for _, limit in pairs if limit is not None}
    known = spread(values)
    assert known is not None  # each name has a value
    below = sum(limit is not None and value < limit for value, limit in pairs)
    bins = histogram(values, 1.0) if name == "accuracy" else ()
    return MeasuredRow(test_id, name, known, max(limits, default=None), below, bins)
