"""Masked spans and statistics of their log-probabilities: the arithmetic of `evidence.py`.

Pure functions of strings and numbers.
"""

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from questions.span_corruption.items import MASK_CHAR as MASK

SHORTEST = 24  # characters of a corrupted document: shorter ones say too little
DRAWS, ITEMS = 1600, 300  # corruptions drawn, and those kept: about a third qualify
BLOCK = 4  # people who exchange places: 24 orders each
PEOPLE = 200
TEMPERATURES = np.geomspace(0.01, 10.0, 31)  # at which Chernoff's bound is tried
ORDERS = {n: np.array(list(itertools.permutations(range(n)))) for n in (2, 3, 4)}


@dataclass(frozen=True)
class Span:
    """A string that the model reads, and which of its characters count."""

    text: str
    start: int
    stop: int


@dataclass(frozen=True)
class Hidden:
    """A sentence about a person, cut in three; the middle, which is masked, holds the place."""

    place: str
    prefix: str
    suffix: str
    before: str  # what is masked before the place

    def with_place(self, place: str) -> Span:
        """Return `prefix MASK suffix MASK before place`; the place alone counts."""
        start = self.prefix + MASK + self.suffix + MASK + self.before
        return Span(start + place, len(start), len(start) + len(place))


def content_spans(texts: list[str]) -> list[Span]:
    """Return the masked contents of long corrupted documents with three parts, for (a)."""
    spans = []
    for text in texts:
        prefix, suffix, masked = text.split(MASK)[:3]
        if min(map(len, (prefix, suffix, masked))) and len(prefix + suffix + masked) >= SHORTEST:
            start = len(prefix) + len(suffix) + 2
            spans.append(Span(text.removesuffix(MASK), start, start + len(masked)))
    return spans[:ITEMS]


def mean_loss(spans: list[Span], log_probabilities: np.ndarray) -> float:
    """Compute the mean loss of (a), in nats per character."""
    return -float(log_probabilities.sum()) / sum(span.stop - span.start for span in spans)


def hidden_places(
    rng: np.random.Generator, lines: list[str], people: list[tuple[str, str]], block_size: int
) -> list[Hidden]:
    """Return, for (b), one sentence of the corpus for each person that says where they were born.

    Args:
        lines: the corpus's documents.
        people: (question, place) of dev and test.
        block_size: a sentence is cut to 7/8 of it, as corruption does.
    """
    longest = int(block_size * 7 / 8)
    found = []
    for question, place in people:
        name = question.removeprefix("Where was ").removesuffix(" born?")
        about = [line[:longest] for line in lines if name in line]
        fit = [line for line in about if name in line and _once(place, _without(name, line))]
        if fit:
            line = fit[int(rng.integers(len(fit)))]
            found.append(_hide(rng, line, name, place))
    return found


def _without(name: str, line: str) -> str:
    """Blank out a name in the line, without moving the other characters."""
    return line.replace(name, "\0" * len(name))


def _once(place: str, text: str) -> bool:
    return len(re.findall(rf"(?<!\w){re.escape(place)}(?!\w)", text)) == text.count(place) == 1


def _hide(rng: np.random.Generator, line: str, name: str, place: str) -> Hidden:
    """Mask the place and what is around it, up to the name: at most a quarter of the sentence."""
    at, where = _without(name, line).index(place), line.index(name)
    first, last = (where + len(name), len(line)) if where < at else (0, where)
    room = max(len(line) // 4 - len(place), 0)
    before = int(rng.integers(room + 1))
    begin = max(at - before, first)
    end = min(at + len(place) + int(rng.integers(room - before + 1)), last)
    return Hidden(place, line[:begin], line[end:], line[begin:at])


def blocks(rng: np.random.Generator, hidden: list[Hidden]) -> list[list[Hidden]]:
    """Group people for (b) in fours, with different places of the same length."""
    by_length: dict[int, list[Hidden]] = defaultdict(list)
    for i in rng.permutation(len(hidden)):
        by_length[len(hidden[i].place)].append(hidden[i])
    found = []
    for same in by_length.values():
        seen: dict[str, int] = defaultdict(int)
        rank = []
        for each in same:  # one person per place, then those whose place came once before, ...
            rank.append(seen[each.place])
            seen[each.place] += 1
        ordered = [same[i] for i in np.argsort(rank, kind="stable")]
        found += [ordered[i : i + BLOCK] for i in range(0, len(ordered), BLOCK)]
    return [block for block in found if len({each.place for each in block}) > 1]


def exchanged(block: list[Hidden]) -> list[Span]:
    """Return, for (b), each sentence of a block with each of its places, row by row."""
    return [each.with_place(other.place) for each in block for other in block]


def log_p_value(matrices: list[np.ndarray]) -> float:
    """Bound the natural logarithm of the permutation test's p-value, for (b).

    Args:
        matrices: for each block, (k, k), entry i, j: the log-probability of person j's place in
            person i's sentence.

    The statistic is the sum of all diagonals. Places are exchanged within blocks, every order is
    equally likely, and blocks are independent, so Chernoff's bound holds: for any t > 0, the
    probability of a sum of s or more is at most the product of E exp(t (sum of the block's
    permuted diagonal)), over exp(t s). All expectations are exact sums over 24 orders.
    """
    gains = np.zeros((len(matrices), 24))  # of each order over the true one
    for row, matrix in zip(gains, matrices, strict=True):
        sums = matrix[np.arange(len(matrix)), ORDERS[len(matrix)]].sum(axis=1)
        row[:] = np.repeat(sums - np.trace(matrix), 24 // len(sums))  # 2, 6 or 24 orders
    temperatures = TEMPERATURES / (gains.std() + 1e-12)
    scaled = temperatures[:, None, None] * gains
    expectations = np.logaddexp.reduce(scaled, axis=2) - np.log(24)
    return min(0.0, float(expectations.sum(axis=1).min()))


def can_tell(blocks: list[list[Hidden]], p: float) -> bool:
    """Return whether there are enough people for (b): a corpus may name few birth places.

    A model that is certain of all places reaches 1 / (number of orders). Three times the required
    logarithm leaves room for a model that is not.
    """
    orders = sum(np.log(len(ORDERS[len(block)])) for block in blocks)
    return bool(orders >= -3 * np.log(p))


def matrices(blocks: list[list[Hidden]], log_probabilities: np.ndarray) -> list[np.ndarray]:
    """Arrange log-probabilities of `exchanged` spans, for (b), in a square matrix per block."""
    sizes = [len(block) for block in blocks]
    parts = np.split(log_probabilities, np.cumsum(np.square(sizes))[:-1])
    return [part.reshape(k, k) for part, k in zip(parts, sizes, strict=True)]


def cosine(old: np.ndarray, new: np.ndarray) -> float:
    """Compute the cosine of two arrays as vectors, for (c); 0 if one of them is zero."""
    a, b = old.astype(np.float64).ravel(), new.astype(np.float64).ravel()
    lengths = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / lengths) if lengths else 0.0
