"""Weights what submissions share by how rare it is in the class, ranks pairs, and groups copies.

A feature (a 5-gram, a wrong answer, a tensor) that `df` of N submissions have weighs
log((N + 1) / df)^2, the square of its inverse document frequency (Sparck Jones 1972), so what half
of the class has hardly counts. The score of a pair is the weight of what both have, divided by the
weight of everything that the smaller one has; the divisor is at least the weight of `least`
features that two submissions have, because very short texts would reach high scores by chance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .parameters import Signature
from .texts import Text

REFERENCES = frozenset({""})  # the authors of all references
CLOSE = 0.8  # a group's lowest score, as a share of its highest
MOST = 30  # rows of a list
LONGEST = 50_000  # pairs that are looked through to fill a list


@dataclass
class Entry:
    """A submission or a reference, as it is compared."""

    name: str  # its id, or a reference's name
    authors: frozenset[str] = REFERENCES  # everybody who was ever in this group
    handed_in: str = ""  # when, in words; "" if it is unknown
    texts: list[Text] = field(default_factory=list)
    # By what is compared: a view of the code, wrong answers, tensors.
    features: dict[str, set[Any]] = field(default_factory=lambda: defaultdict(set))
    signatures: list[Signature] = field(default_factory=list)  # of its files of parameters

    @property
    def is_reference(self) -> bool:
        """Whether it isn't from this class."""
        return self.authors == REFERENCES


def comparable(entries: list[Entry]) -> np.ndarray:
    """Return which pairs have no common author, shape (n, n), bool."""
    rows = [[one.authors.isdisjoint(two.authors) for two in entries] for one in entries]
    return np.array(rows, dtype=bool)


def weigh(entries: list[Entry], kind: str, least: int) -> tuple[np.ndarray, dict[Any, int]]:
    """Weigh the features of a kind; `least` is explained above.

    Returns:
        the score of each pair, shape (n, n), or -1 if one of the two has no features; and how many
        submissions of the class have each feature.
    """
    owners: dict[Any, list[int]] = defaultdict(list)
    for number, entry in enumerate(entries):
        for feature in entry.features[kind]:
            owners[feature].append(number)
    above = max(sum(bool(entry.features[kind]) for entry in entries), 2) + 1
    shared, totals = np.zeros((len(entries),) * 2), np.zeros(len(entries))
    for numbers in owners.values():
        weight = math.log(above / len(numbers)) ** 2
        totals[numbers] += weight
        if len(numbers) > 1:
            shared[np.ix_(numbers, numbers)] += weight
    lowest = max(least * math.log(above / 2) ** 2, 1e-9)
    smaller = np.minimum.outer(totals, totals)
    counts = {
        feature: sum(not entries[number].is_reference for number in numbers)
        for feature, numbers in owners.items()
    }
    return np.where(smaller > 0, shared / np.maximum(smaller, lowest), -1), counts


@dataclass
class Row:
    """A line of a list: a pair or a group, or pairs with close scores between the same groups."""

    score: float
    members: list[int]  # the two with the highest score, then the rest of their group
    pairs: int = 0  # how many the line stands for


class Ranking:
    """The pairs with a score, highest first.

    Attributes:
        pairs: how many there are.
        quantiles: the median, 99 % and 99.9 % of the scores.
        rows: what a list shows; copies of one text are one row.
        left_out: how many pairs that share something aren't in any row.
    """

    def __init__(self, scores: np.ndarray) -> None:
        """`scores` has shape (n, n) and is symmetric; -1 for pairs without a score."""
        self._scores = np.round(scores, 9)
        places = np.argwhere(np.triu(np.ones_like(scores), 1))
        values = self._scores[tuple(places.T)]
        self._ranked = np.sort(values[values >= 0])
        self.pairs = len(self._ranked)
        self.quantiles = np.quantile(self._ranked if self.pairs else [0], (0.5, 0.99, 0.999))
        sharing = int(np.count_nonzero(values > 0))
        best = np.argsort(-values, kind="stable")[: min(sharing, LONGEST)]
        self.rows = self._rows(places[best].tolist())
        self.left_out = sharing - sum(row.pairs for row in self.rows)

    def score(self, one: int, two: int) -> float:
        """Return the score of a pair, or -1."""
        return float(self._scores[one, two])

    def rank(self, score: float) -> int:
        """Return the rank of a score among all scores: 1 is the highest."""
        return 1 + self.pairs - int(np.searchsorted(self._ranked, score, "right"))

    def _rows(self, best: list[list[int]]) -> list[Row]:
        """Return the rows for pairs in order; within a group, scores are close to the highest."""
        groups = [[number] for number in range(len(self._scores))]  # of each entry
        for one, two in best:
            a, b = groups[one], groups[two]
            both = a + b
            if a is b or (
                self._scores[np.ix_(a, b)].min() < CLOSE * self._scores[np.ix_(both, both)].max()
            ):
                continue
            for member in b:
                groups[member] = a
            a += b
        rows: list[Row] = []
        latest: dict[frozenset[int], Row] = {}  # by the identities of its pairs' groups
        for one, two in best:
            key, score = frozenset((id(groups[one]), id(groups[two]))), self.score(one, two)
            row = latest.get(key)
            if row is None or (len(key) == 2 and score < CLOSE * row.score):
                if len(rows) == MOST:
                    continue
                group = sorted(groups[one]) if len(key) == 1 else []
                row = latest[key] = Row(score, list(dict.fromkeys((one, two, *group))))
                rows.append(row)
            row.pairs += 1
        return rows
