"""Compares everything that was read, and writes `index.html` with the lists, and pages of pairs.

Submissions are named by their ids; `list --names` says whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from grading.report import render
from grading.verdicts import write_atomically

from .parameters import similarities
from .ranking import ANSWERS, TENSORS, Entry, Index, Ranking, Row, authors_of, comparable
from .texts import GRAM, NAMES, SHAPE, VIEWS, Text, grams

HERE = Path(__file__).parent
INDEX, PAIRS = "index.html", "pairs"
RAREST = 12  # wrong predictions that a page lists
RARE = 2  # what at most so many authors, or a tenth of the class, have is rare
PARAMETERS = "trained parameters"
# How many features, which two authors have, a score is at least divided by (`ranking.py`).
LEAST = {NAMES: 30, SHAPE: 30, TENSORS: 0, ANSWERS: 20}
EXPLAINED = {
    NAMES: "Code and comments as they are, except for layout and quotes; shared are runs of five "
    "words or signs.",
    SHAPE: "Code without comments, and without the names that its author chose.",
    TENSORS: "Tensors with the same name and the same values, in whatever file.",
    PARAMETERS: "How alike the matrices are, whatever was permuted, scaled or rounded: close to 1 "
    "if they come from the same pretraining.",
    ANSWERS: "Wrong predictions that are the same.",
}


class Comparison:
    """Everything that was found: rankings by title, each with what it compares."""

    def __init__(self, entries: list[Entry], notes: list[str]) -> None:
        self.entries, self._notes = entries, notes
        author = authors_of(entries)
        self.authors = len({a for a, e in zip(author, entries, strict=True) if not e.is_reference})
        self._rare = max(RARE, self.authors // 10)
        self._indexes = {kind: Index(entries, kind, least) for kind, least in LEAST.items()}
        scores = {kind: index.scores() for kind, index in self._indexes.items()}
        scores[PARAMETERS] = similarities([entry.signatures for entry in entries])
        may = comparable(entries)
        references = np.array([entry.is_reference for entry in entries], dtype=bool)
        outside = np.logical_or.outer(references, references)
        code = {"Code of the class": may & ~outside}
        if references.any():
            code["Code and references"] = may & outside
        compared = [(f"{group}, {view}", view, code[group]) for group in code for view in VIEWS]
        compared += [(kind.capitalize(), kind, may) for kind in (TENSORS, PARAMETERS, ANSWERS)]
        self.rankings = {
            title: (kind, Ranking(scores[kind], pairs)) for title, kind, pairs in compared
        }

    @property
    def pairs(self) -> int:
        """The number of pairs of the class that were compared."""
        return next(iter(self.rankings.values()))[1].pairs

    def write(self, target: Path, handed_in: dict[str, str]) -> int:
        """Write all pages to a new folder; return how many pairs have one.

        Args:
            handed_in: when, in words, by entries' names.

        Raises:
            OSError: they can't be written.
        """
        for folder in (target, target / PAIRS):
            folder.mkdir(mode=0o700)
        references = sum(entry.is_reference for entry in self.entries)
        values = {
            "title": "Similarity in this class",
            "authors": self.authors,
            "submissions": len(self.entries) - references,
            "references": references,
            "lists": [
                (title, EXPLAINED[kind], ranking, [self._row(row, kind) for row in ranking.rows])
                for title, (kind, ranking) in self.rankings.items()
            ],
            "notes": self._notes,
        }
        write_atomically(target / INDEX, render(HERE / "similar_index.html.j2", **values))
        rows = [row for _, ranking in self.rankings.values() for row in ranking.rows]
        pages = {pair for row in rows for pair in _pairs_of(row)}
        for one, two in pages:
            values = self._pair(one, two, handed_in)
            text = render(HERE / "similar_pair.html.j2", **values)
            write_atomically(target / _page(one, two), text)
        return len(pages)

    def _row(self, row: Row, kind: str) -> dict[str, Any]:
        others = zip(_pairs_of(row), row.members[1:], strict=True)
        return {
            "row": row,
            "first": self.entries[row.members[0]].name,
            "others": [(_page(*pair), self.entries[other].name) for pair, other in others],
            "share": self._share(kind, *row.members[:2]),
        }

    def _share(self, kind: str, one: int, two: int) -> str:
        """Return how many features two entries share, in words."""
        if kind == PARAMETERS:
            return ""
        first, second = (self.entries[n].features[kind] for n in (one, two))
        return f"{len(first & second)} of {min(len(first), len(second))}"

    def _pair(self, one: int, two: int, handed_in: dict[str, str]) -> dict[str, Any]:
        sides = [self.entries[one], self.entries[two]]
        counts = self._indexes[ANSWERS].counts
        both = sides[0].features[ANSWERS] & sides[1].features[ANSWERS]
        return {
            "title": f"{sides[0].name} and {sides[1].name}",
            "scores": [
                (title, self._share(kind, one, two), score, ranking.rank(score), ranking)
                for title, (kind, ranking) in self.rankings.items()
                if (score := ranking.score(one, two)) >= 0
            ],
            "answers": sorted((counts[answer], *answer) for answer in both)[:RAREST],
            "authors": self.authors,
            "rare": self._rare,
            "sides": [
                (
                    entry.name,
                    handed_in.get(entry.name, ""),
                    [(text.file, list(self._lines(text, sides))) for text in entry.texts],
                )
                for entry in sides
            ],
        }

    def _lines(self, text: Text, sides: list[Entry]) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number of each line, and its parts: (how it is marked, authors, text)."""
        marks: list[tuple[str, int]] = [("", 0)] * len(text.tokens)
        for view, look in ((SHAPE, "shape"), (NAMES, "exact")):
            shared = sides[0].features[view] & sides[1].features[view]
            for gram, start in grams(text.tokens, view):
                if gram in shared:
                    count = self._indexes[view].counts[gram]
                    mark = (look if count <= self._rare else "usual", count)
                    for at in range(start, start + GRAM):
                        if marks[at][0] in ("", "usual") or mark[0] == "exact":
                            marks[at] = mark
        by_character = [("", 0)] * (text.starts[-1] + len(text.lines[-1]))
        end, before, whole = 0, "", "\n".join(text.lines)
        for token, mark in sorted(zip(text.tokens, marks, strict=True), key=lambda m: m[0].start):
            goes_on = mark[0] == before and "\n" not in whole[end : token.start]
            start = end if goes_on else token.start  # what is between them looks like them
            by_character[start : token.end] = [mark] * (token.end - start)
            end, before = token.end, mark[0]
        for number in sorted(text.own):
            line, start = text.lines[number - 1], text.starts[number - 1]
            if start > end:  # what follows isn't compared, or is empty
                break
            marked = zip(by_character[start : start + len(line)], line, strict=True)
            runs = [[*run] for _, run in groupby(marked, key=lambda each: each[0][0])]
            yield number, [(*min(mark for mark, _ in r), "".join(c for _, c in r)) for r in runs]


def _pairs_of(row: Row) -> list[tuple[int, int]]:
    """Return the pairs of a row that have a page: the first member with each of the others."""
    one = row.members[0]
    return [(min(one, other), max(one, other)) for other in row.members[1:]]


def _page(one: int, two: int) -> str:
    return f"{PAIRS}/{one + 1}-{two + 1}.html"
