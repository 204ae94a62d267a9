"""Finds the runs of tokens that two entries share, rarest first; a page marks them in both texts.

Each token of the first entry belongs to at most one run. From left to right, the longest run that
begins at a token is taken, wherever it is in the other entry, so code that was moved is also found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from .index import Entry, Index, Read
from .texts import Known
from .tokens import GRAM, Gram, View, grams


@dataclass(frozen=True)
class Span:
    """A run of tokens in one of an entry's texts; `last` is the index after its last token."""

    text: int
    first: int
    last: int


@dataclass(frozen=True)
class Match:
    """A run of tokens that both entries have.

    Attributes:
        authors: how many authors in the class have the rarest 5-gram in it.
    """

    one: Span
    two: Span
    view: View
    authors: int

    @property
    def size(self) -> int:
        """The number of tokens."""
        return self.one.last - self.one.first


def matches_of(one: Entry, two: Entry, indexes: dict[View, Index], known: Known) -> list[Match]:
    """Return what both have: first what is the same with names, then only without names.

    In each view, the rarest come first, and the longest among equally rare ones.
    """
    found: list[Match] = []
    taken: set[tuple[int, int]] = set()
    for view in View:
        runs = list(_runs(one, two, indexes[view], known, taken))
        runs.sort(key=lambda match: (match.authors, -match.size, match.one.text, match.one.first))
        found += runs
    return found


def _runs(
    one: Entry, two: Entry, index: Index, known: Known, taken: set[tuple[int, int]]
) -> Iterator[Match]:
    view = index.view
    where: dict[Gram, list[tuple[int, int]]] = defaultdict(list)
    for number, read in enumerate(two.texts):
        for gram, start in grams(read.tokens, view):
            where[gram].append((number, start))
    ignored = known.grams[view]
    for number, read in enumerate(one.texts):
        end = 0
        for gram, start in grams(read.tokens, view):
            # A run begins with a gram that isn't ignored, and with a token that isn't taken yet.
            if start < end or gram in ignored or gram not in where or (number, start) in taken:
                continue
            size, at = max(
                (_length(read, start, two.texts[text], first, view), (-text, -first))
                for text, first in where[gram]
            )
            end = start + size
            span = Span(number, start, end)
            other = Span(-at[0], -at[1], -at[1] + size)
            inside = [g for g, n in grams(read.tokens[start:end], view) if g not in ignored]
            fresh = [i for i in range(start, end) if (number, i) not in taken]
            taken.update((number, i) for i in range(start, end))
            if len(fresh) >= GRAM:
                yield Match(span, other, view, index.rarest(inside))


def _length(one: Read, first: int, two: Read, second: int, view: View) -> int:
    """Return how many tokens are the same, beginning with these."""
    size, most = 0, min(len(one.tokens) - first, len(two.tokens) - second)
    is_prose = one.tokens[first].text.startswith("#")
    while size < most:
        a, b = one.tokens[first + size], two.tokens[second + size]
        if a.seen(view) != b.seen(view) or a.text.startswith("#") != is_prose or not a.seen(view):
            break
        size += 1
    return size
