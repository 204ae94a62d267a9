"""Compares a class with itself and with references: ranks pairs, and finds what is usual."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import parameters
from .index import Entry, Index, authors_of, comparable, ranked, topics_of
from .parameters import Alike, Parameters
from .predictions import Predictions, SharedAnswers, WrongAnswers
from .reading import Handed
from .texts import Known
from .tokens import View

QUANTILES = (0.5, 0.99, 0.999, 1.0)
OF_TOPIC = 5  # pairs listed for each question


@dataclass(frozen=True)
class Usual:
    """What is usual: the number of pairs, and quantiles of their scores."""

    pairs: int
    quantiles: tuple[float, ...]


@dataclass(frozen=True)
class Listed:
    """A pair in a list."""

    rank: int
    one: int
    two: int
    score: float


class Ranking:
    """The scores of some pairs; the highest are listed."""

    def __init__(self, scores: np.ndarray, most: int) -> None:
        """
        Args:
            scores: shape (n, n), with -1 for pairs without a score.
            most: how many pairs to list.
        """
        self._sorted = np.sort(scores[scores >= 0].astype(np.float32))
        self.listed = [
            Listed(self.rank(score), one, two, score) for one, two, score in ranked(scores, most)
        ]

    def rank(self, score: float) -> int:
        """Return the rank of a score among all scores: 1 is the highest."""
        at = np.searchsorted(self._sorted, np.float32(score), "right")
        return len(self._sorted) - int(at) + 1

    @property
    def usual(self) -> Usual:
        """Return what is usual among these pairs."""
        if not len(self._sorted):
            return Usual(0, tuple(0.0 for _ in QUANTILES))
        found = np.quantile(self._sorted, QUANTILES)
        return Usual(len(self._sorted), tuple(float(each) for each in found))


@dataclass
class Comparison:
    """The result of a comparison.

    Attributes:
        entries: the class's entries, then the references.
        indexes: the indexes of the code, by view.
        within: the rankings of the class's pairs, by view.
        against: the rankings of pairs with a reference, by view.
        topics: the rankings of the class's pairs by a single question.
        scores: the scores of the code by view, shape (n, n).
        alike: what the parameters of pairs have in common, by the numbers of their entries.
        tensors: the pairs with identical tensors; those with most come first.
        pretrained: the ranking of pairs by the similarity of their matrices.
        answers: the wrong answers.
        wrong: the ranking of pairs by the wrong answers that they share.
        wrong_scores: the scores of this ranking, shape (n, n).
    """

    entries: list[Entry]
    known: Known
    indexes: dict[View, Index]
    scores: dict[View, np.ndarray]
    within: dict[View, Ranking]
    against: dict[View, Ranking]
    topics: dict[tuple[str, View], Ranking]
    alike: dict[tuple[int, int], Alike]
    tensors: list[tuple[int, int]]
    pretrained: Ranking
    answers: WrongAnswers
    wrong: Ranking
    wrong_scores: np.ndarray
    notes: list[str] = field(default_factory=list)

    @property
    def class_size(self) -> int:
        """The number of authors in the class."""
        return self.indexes[View.NAMES].class_size

    def pairs(self) -> list[tuple[int, int]]:
        """Return all pairs that are in a list, each once."""
        rankings = [*self.within.values(), *self.against.values(), *self.topics.values()]
        rankings += [self.pretrained, self.wrong]
        listed = {(each.one, each.two) for ranking in rankings for each in ranking.listed}
        return sorted(listed | set(self.tensors))

    def shared_answers(self, one: int, two: int) -> SharedAnswers | None:
        """Return the wrong answers that a pair shares; None if one of the two has none."""
        score = float(self.wrong_scores[one, two])
        return self.answers.of_pair(one, two, score) if score >= 0 else None


def compare(
    handed: Handed,
    known: Known,
    ours: tuple[list[Parameters], list[Predictions]],
    places: dict[str, list[str]],
    most: int,
) -> Comparison:
    """Compare everything that was read.

    Args:
        ours: the reference's own parameters and predictions.
        places: the right answers of each split, if available.
        most: how many pairs each list shows.
    """
    entries = handed.entries
    indexes = {view: Index(entries, view) for view in View}
    scores = {view: index.scores() for view, index in indexes.items()}
    references = np.array([entry.is_reference for entry in entries], dtype=bool)
    outside = references[:, None] | references[None, :]
    within = {view: Ranking(np.where(outside, -1, s), most) for view, s in scores.items()}
    against = {view: Ranking(np.where(outside, s, -1), most) for view, s in scores.items()}
    topics = {
        (topic, view): Ranking(np.where(outside, -1, index.scores(topic)), OF_TOPIC)
        for topic in topics_of(entries)
        for view, index in indexes.items()
    }
    may = comparable(entries)
    alike = parameters.compare(handed.parameters, ours[0], may)
    answers = WrongAnswers(handed.predictions, ours[1], places, authors_of(entries))
    wrong_scores = answers.scores(may)
    return Comparison(
        entries,
        known,
        indexes,
        scores,
        within,
        against,
        topics,
        alike,
        _with_same_tensors(alike)[:most],
        Ranking(_cosines(alike, len(entries)), most),
        answers,
        Ranking(wrong_scores, most),
        wrong_scores,
    )


def _with_same_tensors(alike: dict[tuple[int, int], Alike]) -> list[tuple[int, int]]:
    shares = {
        pair: max(count / of for _, _, count, of in each.same)
        for pair, each in alike.items()
        if each.same
    }
    return sorted(shares, key=lambda pair: (-shares[pair], pair))


def _cosines(alike: dict[tuple[int, int], Alike], n: int) -> np.ndarray:
    found = np.full((n, n), -1.0)
    for (one, two), each in alike.items():
        if each.files[0]:
            found[one, two] = max(each.cosine, 0.0)
    return found
