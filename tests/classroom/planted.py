"""A class in which copies of generated solutions are planted: where do they rank?"""

from dataclasses import dataclass

import numpy as np

from classroom.similar.pages import LEAST
from classroom.similar.ranking import Entry, Index, comparable
from classroom.similar.texts import Known, Text
from tests.classroom.copies import KINDS, disguised
from tests.classroom.independent import solution


@dataclass(frozen=True)
class Planted:
    """A class with copies in it.

    Attributes:
        entries: the generated solutions, then the copies.
        copies: (original, copy) by kind, as indexes of entries.
    """

    entries: list[Entry]
    copies: dict[str, list[tuple[int, int]]]


def planted(solutions: int, copies: int) -> Planted:
    """Return a class; the same arguments give the same class."""
    known = Known()
    made = [solution(seed) for seed in range(solutions)]
    entries = [_entry(f"solution {i}", files, known) for i, files in enumerate(made)]
    pairs: dict[str, list[tuple[int, int]]] = {}
    for number, kind in enumerate(KINDS):
        for i in range(copies):
            # If there are enough solutions, each is copied at most once.
            original = (number * copies + i) % solutions
            copy = disguised(made[original], kind, seed=i)
            pairs.setdefault(kind, []).append((original, len(entries)))
            entries.append(_entry(f"{kind} {i}", copy, known))
    return Planted(entries, pairs)


def _entry(name: str, files: dict[str, str], known: Known) -> Entry:
    entry = Entry(name, frozenset([name]))
    for file, text in files.items():
        entry.add(Text(file.rpartition("/")[2], text, known), known)
    return entry


def ranks(made: Planted, view: str) -> tuple[np.ndarray, dict[str, list[float]]]:
    """Return the scores of independent pairs and of the copies, both sorted."""
    scores = Index(made.entries, view, LEAST[view]).scores()
    independent = np.where(comparable(made.entries), scores, -1)
    for pairs in made.copies.values():
        independent[tuple(zip(*pairs, strict=True))] = -1
    copies = {
        kind: sorted(float(scores[pair]) for pair in pairs) for kind, pairs in made.copies.items()
    }
    return np.sort(independent[independent >= 0]), copies


def above(usual: np.ndarray, score: float) -> int:
    """Return how many independent pairs have the same or a higher score."""
    return len(usual) - int(np.searchsorted(usual, score))
