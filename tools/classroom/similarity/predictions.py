"""Finds wrong answers that two submissions have in common, and weights them by how rare they are.

Right answers are the same for everybody. Many authors give the same wrong answer if it is a common
city, and hardly any if it is a rare one. An answer to a question that `df` of N authors give
therefore weighs log((N + 1) / df)^2, like 5-grams of code (`index.py`). The score of a pair is the
weight of the wrong answers that both give, divided by the smaller of the weights of all their wrong
answers; the divisor is at least the weight of LEAST answers that two authors give.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

LEAST = 20
MAX_BYTES = 4 << 20
Answer = tuple[str, int, str]  # file, line, what was predicted


@dataclass(frozen=True)
class Predictions:
    """The lines of a prediction file."""

    owner: int
    file: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class SharedAnswers:
    """The wrong answers of a pair: score, number, numbers of both, and the rarest with authors."""

    score: float
    count: int
    of: tuple[int, int]
    rarest: list[tuple[Answer, int]]


def lines_of(content: bytes) -> tuple[str, ...]:
    """Return a file's answers, whatever its line ends; none if it is too large."""
    if len(content) > MAX_BYTES:
        return ()
    text = content.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return tuple(line.strip() for line in text.removesuffix("\n").split("\n"))


class WrongAnswers:
    """The wrong answers of a class, and who gives them.

    Files with the same answer to every question, and the reference's own files, are left out.
    """

    def __init__(
        self,
        files: list[Predictions],
        known: list[Predictions],
        places: dict[str, list[str]],
        author: list[int],
    ) -> None:
        """
        Args:
            known: the reference's own predictions.
            places: the right answers, by split.
            author: a number for each entry, the same for entries of one author
                (`index.authors_of`).
        """
        ours = {(one.file, one.lines) for one in known}
        self.holders: dict[Answer, list[int]] = defaultdict(list)
        self.given: dict[int, int] = defaultdict(int)
        for one in files:
            right = places.get(split_of(one.file))
            if right is None or len(right) != len(one.lines) or (one.file, one.lines) in ours:
                continue
            if len(set(one.lines)) == 1:
                continue
            for line, (said, place) in enumerate(zip(one.lines, right, strict=True), start=1):
                if said != place:
                    self.holders[one.file, line, said].append(one.owner)
                    self.given[one.owner] += 1
        authors = {author[one.owner] for one in files}
        self.authors = len(authors)
        self.counts = {
            answer: len({author[i] for i in owners}) for answer, owners in self.holders.items()
        }

    def weight(self, answer: Answer) -> float:
        """Return the weight of a wrong answer."""
        return math.log((self.authors + 1) / self.counts[answer]) ** 2

    def scores(self, comparable: np.ndarray) -> np.ndarray:
        """Return the score of each pair, shape (n, n), with -1 if there is nothing to compare."""
        n = len(comparable)
        shared, totals = np.zeros((n, n)), np.zeros(n)
        for answer, owners in self.holders.items():
            theirs = sorted(set(owners))
            weight = self.weight(answer)
            totals[theirs] += weight
            if len(theirs) > 1:
                shared[np.ix_(theirs, theirs)] += weight
        least = LEAST * math.log((self.authors + 1) / 2) ** 2
        found = shared / np.maximum(np.minimum(totals[:, None], totals[None, :]), max(least, 1e-9))
        has = totals > 0
        found[~(comparable & has[:, None] & has[None, :])] = -1
        return found

    def of_pair(self, one: int, two: int, score: float, most: int = 12) -> SharedAnswers:
        """Return what two have in common, the rarest first."""
        both = [a for a, owners in self.holders.items() if one in owners and two in owners]
        both.sort(key=lambda answer: (self.counts[answer], answer))
        rarest = [(answer, self.counts[answer]) for answer in both[:most]]
        return SharedAnswers(score, len(both), (self.given[one], self.given[two]), rarest)


def split_of(file: str) -> str:
    """Return the split in a file's name, as in `vanilla.pretrain.dev.predictions`, or ""."""
    parts = file.split(".")
    return parts[-2] if len(parts) > 2 and parts[-2] in ("dev", "test") else ""
