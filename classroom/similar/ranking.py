"""Weights what submissions share by how rare it is in the class, ranks pairs, and groups copies.

A feature (a 5-gram, a wrong answer, a tensor) that `df` of N authors have weighs
log((N + 1) / df)^2, the square of its inverse document frequency (Sparck Jones 1972), so what half
of the class has hardly counts. The score of a pair is the weight of what both have, divided by the
weight of everything that the smaller one has; the divisor is at least the weight of `least`
features that two authors have, because very short texts would reach high scores by chance.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .parameters import Signature
from .texts import VIEWS, Known, Text, grams

ANSWERS, TENSORS = "wrong predictions", "identical tensors"  # what is compared beside code
CLOSE = 0.8  # a group's lowest score, as a share of its highest
MOST = 30  # rows of a list
LONGEST = 50_000  # pairs that are looked through to fill a list


@dataclass
class Entry:
    """A submission or a reference, as it is compared.

    Attributes:
        name: its id, or a reference's name.
        authors: everybody who was ever in this group; empty for a reference.
        handed_in: when, in words; "" if it is unknown.
        features: by what is compared: a view of the code, wrong answers, tensors.
        signatures: of its files of parameters; see `parameters.signature_of`.
    """

    name: str
    authors: frozenset[str] = frozenset()
    handed_in: str = ""
    texts: list[Text] = field(default_factory=list)
    features: dict[str, set[Any]] = field(default_factory=lambda: defaultdict(set))
    signatures: list[Signature] = field(default_factory=list)

    @property
    def is_reference(self) -> bool:
        """Whether it isn't from this class."""
        return not self.authors

    def add(self, text: Text, known: Known) -> None:
        """Add what its authors wrote in a file; what everybody has is no evidence."""
        self.texts.append(text)
        for view in VIEWS:
            self.features[view] |= {g for g, _ in grams(text.tokens, view)} - known.grams[view]


def weigh(entries: list[Entry], kind: str, least: int) -> tuple[np.ndarray, dict[Any, int]]:
    """Weigh the features of a kind; `least` is explained above.

    Returns:
        the score of each pair, shape (n, n), or -1 if one of the two has no features; and how many
        authors in the class have each feature, where a group counts once.
    """
    features, author = [entry.features[kind] for entry in entries], authors_of(entries)
    above = max(len({a for a, theirs in zip(author, features, strict=True) if theirs}), 2) + 1
    owners: dict[Any, list[int]] = defaultdict(list)
    for number, theirs in enumerate(features):
        for feature in theirs:
            owners[feature].append(number)
    n = len(entries)
    shared, totals = np.zeros((n, n)), np.zeros(n)
    for numbers in owners.values():
        weight = math.log(above / len({author[number] for number in numbers})) ** 2
        totals[numbers] += weight
        if len(numbers) > 1:
            shared[np.ix_(numbers, numbers)] += weight
    lowest = max(least * math.log(above / 2) ** 2, 1e-9)
    smaller = np.minimum.outer(totals, totals)
    counts = {
        feature: len({author[number] for number in numbers if not entries[number].is_reference})
        for feature, numbers in owners.items()
    }
    return np.where(smaller > 0, shared / np.maximum(smaller, lowest), -1), counts


def authors_of(entries: list[Entry]) -> list[int]:
    """Return a number for each entry, the same for entries linked by common authors."""
    numbers = list(range(len(entries)))
    first: dict[str, int] = {}
    for i, entry in enumerate(entries):
        for key in entry.authors:
            own, other = numbers[i], numbers[first.setdefault(key, i)]
            if own != other:
                numbers = [other if number == own else number for number in numbers]
    return numbers


def comparable(entries: list[Entry]) -> np.ndarray:
    """Return which pairs are compared, shape (n, n), bool, only at i < j.

    Entries by one author aren't, nor are two references.
    """
    may = np.triu(np.ones((len(entries),) * 2, dtype=bool), 1)
    where: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(entries):
        for key in entry.authors or ("",):
            where[key].append(number)
    for theirs in where.values():
        may[np.ix_(theirs, theirs)] = False
    return may


@dataclass
class Row:
    """A line of a list: a pair or a group, or pairs with close scores between the same groups.

    Attributes:
        members: the two with the highest score, then the rest of their group.
        pairs: how many pairs the line stands for.
    """

    rank: int
    score: float
    members: list[int]
    pairs: int = 0


class Ranking:
    """The pairs with a score, highest first.

    Attributes:
        pairs: how many there are.
        quantiles: the median, 99 % and 99.9 % of the scores.
        rows: what a list shows; copies of one text are one row.
        left_out: how many pairs that share something aren't in any row.
    """

    def __init__(self, scores: np.ndarray, may: np.ndarray) -> None:
        """
        Args:
            scores: shape (n, n), symmetric; -1 for pairs without a score.
            may: which pairs to rank, at i < j.
        """
        self._scores = np.where(may | may.T, np.round(scores, 9), -1)
        self._ranked = np.sort(self._scores[may & (scores >= 0)])
        self.pairs = len(self._ranked)
        quantiles = (0.5, 0.99, 0.999)
        self.quantiles = np.quantile(self._ranked, quantiles) if self.pairs else np.zeros(3)
        places = np.argwhere(np.triu(self._scores) > 0)
        order = np.argsort(-self._scores[tuple(places.T)], kind="stable")
        self.rows = self._rows(places[order[:LONGEST]].tolist())
        self.left_out = len(places) - sum(row.pairs for row in self.rows)

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
                members = list(dict.fromkeys((one, two, *group)))
                row = latest[key] = Row(self.rank(score), score, members)
                rows.append(row)
            row.pairs += 1
        return rows
