"""Weights 5-grams of tokens by how rare they are in the class, and scores each pair.

A gram that `df` of N authors have weighs log((N + 1) / df)^2, the square of its inverse document
frequency (Sparck Jones 1972), so grams that half of the class has hardly count. The score of a pair
is the weight of what both have, divided by the weight of everything in the smaller one; it is 1 if
the smaller one contains nothing else. Very short texts would reach high scores by chance, so the
divisor is at least the weight of LEAST grams that two authors have.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from .texts import Known, Piece
from .tokens import Gram, Token, View, grams, tokens_of

LEAST = 30  # grams that only two authors have
LEAST_OF_TOPIC = 9
MIN_LINES = 6  # own lines in a question that an author needs to be ranked by it


@dataclass(frozen=True)
class Read:
    """A piece with its tokens."""

    piece: Piece
    tokens: list[Token]


@dataclass
class Entry:
    """A submission or a reference, as it is compared.

    Attributes:
        name: its id; a reference's is the name of its folder.
        authors: the keys of everybody who was ever in this group; empty for a reference.
        is_reference: whether it is a reference, and not from this class.
        texts: what the authors wrote.
        grams: the grams by view and topic, without those of the starter and the reference solution.
        own_lines: by topic, the number of lines with such a gram.
    """

    name: str
    authors: frozenset[str] = frozenset()
    is_reference: bool = False
    texts: list[Read] = field(default_factory=list)
    grams: dict[View, dict[str, set[Gram]]] = field(default_factory=dict)
    own_lines: dict[str, int] = field(default_factory=dict)


def entry_of(
    name: str, authors: frozenset[str], is_reference: bool, pieces: list[Piece], known: Known
) -> Entry:
    """Return what is compared of a submission."""
    entry = Entry(name, authors, is_reference, [Read(p, tokens_of(p.text)) for p in pieces])
    entry.grams = {view: defaultdict(set) for view in View}
    own: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for read in entry.texts:
        piece, starts = read.piece, _line_starts(read.piece)
        for view in View:
            for gram, first in grams(read.tokens, view):
                if gram not in known.grams[view]:
                    entry.grams[view][piece.topic].add(gram)
                    if view is View.NAMES and not gram[0].startswith("#"):
                        line = int(np.searchsorted(starts, read.tokens[first].start, "right"))
                        own[piece.topic].add((piece.file, piece.lines[line - 1][0]))
    entry.own_lines = {topic: len(lines) for topic, lines in own.items()}
    return entry


def _line_starts(piece: Piece) -> np.ndarray:
    lengths = [len(line) + 1 for _, line in piece.lines]
    return np.cumsum([0, *lengths[:-1]])


class Index:
    """An inverted index in a view: which entries have each gram.

    Attributes:
        entries: the class's entries, then the references.
        weights: the weight of each gram.
        counts: how many authors in the class have each gram; a group counts once.
        class_size: the number of authors in the class.
    """

    def __init__(self, entries: list[Entry], view: View) -> None:
        self.entries, self.view = entries, view
        author = authors_of(entries)
        self.class_size = len(
            {a for a, e in zip(author, entries, strict=True) if not e.is_reference}
        )
        self._authors = max(len(set(author)), 2)
        self._holders: dict[Gram, list[int]] = defaultdict(list)
        for number, entry in enumerate(entries):
            for gram in set().union(*entry.grams[view].values()):
                self._holders[gram].append(number)
        is_reference = [entry.is_reference for entry in entries]
        self.weights: dict[Gram, float] = {}
        self.counts: dict[Gram, int] = {}
        for gram, holders in self._holders.items():
            theirs = {author[number] for number in holders}
            self.weights[gram] = math.log((self._authors + 1) / len(theirs)) ** 2
            self.counts[gram] = len({author[n] for n in holders if not is_reference[n]})

    def scores(self, topic: str | None = None) -> np.ndarray:
        """Return the score of each pair, shape (n, n), float64, with -1 for pairs without a score.

        Two entries by one author have no score, nor have two references. All others have one, at
        i < j.

        Args:
            topic: compare only this topic, and only entries with MIN_LINES or more own lines in it.
        """
        n = len(self.entries)
        shared, totals = np.zeros((n, n)), np.zeros(n)
        for gram, holders in self._of(topic).items():
            weight = self.weights[gram]
            totals[holders] += weight
            if len(holders) > 1:
                shared[np.ix_(holders, holders)] += weight
        smaller = np.minimum(totals[:, None], totals[None, :])
        found = shared / np.maximum(smaller, self._least(topic))
        found[~comparable(self.entries, topic)] = -1
        return found

    def score(self, one: int, two: int, topic: str) -> float:
        """Return the score of a pair in a topic, however few lines they have in it."""
        first, second = (self.entries[i].grams[self.view].get(topic, set()) for i in (one, two))
        weigh = self.weights.__getitem__
        smaller = min(sum(map(weigh, first)), sum(map(weigh, second)))
        return sum(map(weigh, first & second)) / max(smaller, self._least(topic))

    def _least(self, topic: str | None) -> float:
        grams = LEAST if topic is None else LEAST_OF_TOPIC
        return grams * math.log((self._authors + 1) / 2) ** 2

    def _of(self, topic: str | None) -> dict[Gram, list[int]]:
        if topic is None:
            return self._holders
        holders: dict[Gram, list[int]] = defaultdict(list)
        for number, entry in enumerate(self.entries):
            for gram in entry.grams[self.view].get(topic, ()):
                holders[gram].append(number)
        return holders

    def rarest(self, found: list[Gram]) -> int:
        """Return how many authors in the class have the rarest of these grams."""
        return min(self.counts.get(gram, 0) for gram in found)


def comparable(entries: list[Entry], topic: str | None = None) -> np.ndarray:
    """Return which pairs are compared, shape (n, n), bool, only at i < j.

    Args:
        topic: compare only entries with at least MIN_LINES own lines in it.
    """
    may = np.triu(np.ones((len(entries),) * 2, dtype=bool), 1)
    references = np.array([entry.is_reference for entry in entries], dtype=bool)
    may &= ~(references[:, None] & references[None, :])
    where = defaultdict(list)
    for number, entry in enumerate(entries):
        for key in entry.authors:
            where[key].append(number)
    for theirs in where.values():
        may[np.ix_(theirs, theirs)] = False
    if topic is not None:
        enough = np.array([entry.own_lines.get(topic, 0) >= MIN_LINES for entry in entries])
        may &= enough[:, None] & enough[None, :]
    return may


def authors_of(entries: list[Entry]) -> list[int]:
    """Return a number for each entry, the same for entries linked by common authors."""
    number = list(range(len(entries)))

    def root(i: int) -> int:
        while number[i] != i:
            i = number[i]
        return i

    first: dict[str, int] = {}
    for i, entry in enumerate(entries):
        for key in entry.authors:
            number[root(i)] = root(first.setdefault(key, i))
    return [root(i) for i in range(len(entries))]


def topics_of(entries: list[Entry]) -> list[str]:
    """Return the topics in which at least two entries of the class have enough own lines."""
    enough: dict[str, int] = defaultdict(int)
    for entry in entries:
        for topic, lines in entry.own_lines.items():
            enough[topic] += lines >= MIN_LINES and not entry.is_reference
    return sorted(topic for topic, count in enough.items() if count > 1)


def ranked(scores: np.ndarray, most: int) -> list[tuple[int, int, float]]:
    """Return the pairs with the highest scores above 0, in descending order."""
    flat = scores.ravel()
    most = min(most, int((flat > 0).sum()))
    if not most:
        return []
    best = np.argpartition(-flat, most - 1)[:most]
    best = best[np.lexsort((best, -flat[best]))]
    n = scores.shape[1]
    return [(int(i) // n, int(i) % n, float(flat[i])) for i in best]
