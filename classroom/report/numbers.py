"""Computes statistics of a class. The keys of each row are the columns of a CSV file."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .gathered import Gathered

BINS = 10
FEWEST = 3  # submissions that a correlation needs
SPREAD = ("least", "lower_quartile", "median", "upper_quartile", "greatest", "mean")
Row = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """A bar of a chart; `share` is its length relative to the longest bar."""

    label: str
    count: int
    share: float


def spread(values: Sequence[float]) -> Row:
    """Return the distribution of some numbers; without numbers, each value is None."""
    if not values:
        return dict.fromkeys(SPREAD)
    ordered = sorted(values)
    quartiles = (
        statistics.quantiles(ordered, n=4, method="inclusive") if len(ordered) > 1 else ordered * 3
    )
    known = (ordered[0], *quartiles, ordered[-1], statistics.fmean(ordered))
    return dict(zip(SPREAD, known, strict=True))


def histogram(values: Sequence[float], most: float) -> tuple[Bar, ...]:
    """Return ten bars from 0 to `most`; the last one includes `most` and larger values."""
    if not values or most <= 0:
        return ()
    counts = Counter(min(BINS - 1, max(0, int(value / most * BINS))) for value in values)
    edges = [f"{most * i / BINS:.3g}" for i in range(BINS + 1)]
    return bars({f"{edges[i]} to {edges[i + 1]}": counts[i] for i in range(BINS)})


def bars(counts: dict[str, int]) -> tuple[Bar, ...]:
    """Return a bar for each number."""
    longest = max(counts.values(), default=0) or 1
    return tuple(Bar(label, count, count / longest) for label, count in counts.items())


def questions(gathered: Gathered) -> list[Row]:
    """Return the questions, in order; `full` and `none` earned all of its points, and none."""
    rows = []
    for number, most in gathered.questions.items():
        earned = [one.questions.get(number, Decimal(0)) for one in gathered.counted]
        counts = {"full": sum(s == most for s in earned), "none": sum(not s for s in earned)}
        known = spread([float(score) for score in earned])
        rows.append({"question": number, "max_score": most} | known | counts)
    return rows


def tests(gathered: Gathered) -> list[Row]:
    """Return the tests; those in which the class lost most points come first.

    `discrimination` is the correlation of a test's points with those in all other tests.
    """
    ended: dict[str, list[Any]] = defaultdict(list)
    for one in gathered.counted:
        for test in one.tests:
            ended[test["test_id"]].append((one.score, test))
    rows = [_test([test for _, test in pairs], [s for s, _ in pairs]) for pairs in ended.values()]
    return sorted(rows, key=lambda row: (-row["points_lost"], row["passed"] - row["graded"]))


def _test(ended: Sequence[Any], scores: Sequence[Decimal]) -> Row:
    own = [Decimal(test["score"]) for test in ended]
    rest = [float(score - earned) for score, earned in zip(scores, own, strict=True)]
    lost = sum((Decimal(test["max_score"]) for test in ended), Decimal(0)) - sum(own)
    outcomes = Counter(test["outcome"] for test in ended)
    passed = outcomes.pop("passed", 0)
    cpu_s = spread([test["cpu_s"] for test in ended if test["cpu_s"]])
    mib = spread([test["peak_bytes"] / 2**20 for test in ended if test["peak_bytes"]])
    return {
        "test": ended[0]["test_id"],
        "name": ended[0]["name"],
        "kind": ended[0]["kind"],
        "max_score": Decimal(ended[0]["max_score"]),
        "points_lost": max(lost, Decimal(0)),
        "graded": len(ended),
        "passed": passed,
        "other_outcomes": ", ".join(f"{end} {count}" for end, count in outcomes.most_common()),
        "discrimination": correlation([float(score) for score in own], rest),
        "cpu_s_median": cpu_s["median"],
        "cpu_s_greatest": cpu_s["greatest"],
        "mib_median": mib["median"],
        "mib_greatest": mib["greatest"],
    }


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Return Pearson's correlation; None if it is undefined, or there are too few numbers."""
    if len(one) < FEWEST or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return statistics.correlation(one, other)
