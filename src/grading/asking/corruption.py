"""Draws from CharCorruptionDataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .. import corruption


class AsksCorruption:
    """Draws from CharCorruptionDataset."""

    def draw(self, documents: list[str], block_size: int, repeat: int) -> dict[str, Any]:
        """All documents in turn, `repeat` times."""
        return self.probe(
            "span_corruption.draw",
            corruption.drawn(repeat * len(documents)),
            documents=list(documents),
            block_size=block_size,
            indices=list(range(len(documents))),
            repeat=repeat,
        )

    def drawing(self, documents: list[str], block_size: int, repeat: int) -> dict[str, Any]:
        """What a judge needs to read examples back: see `corruption.read_examples`."""
        return {
            "drawn": self.draw(documents, block_size, repeat),
            "documents": documents,
            "indices": list(range(len(documents))),
            "block_size": block_size,
        }

    def examples(
        self, documents: list[str], block_size: int, repeat: int, bounds: bool = False
    ) -> list[corruption.Example]:
        """Draw and read back, dtypes and lengths of items aside; raises corruption.Malformed."""
        drawing = self.drawing(documents, block_size, repeat)
        return corruption.read_examples(**drawing, form=False, bounds=bounds)

    def long_examples(
        self, documents: list[str], block_size: int, wanted: int, most: int
    ) -> list[dict[str, Any]]:
        """Runs of draws until `wanted` have 40 characters or more, or `most` were drawn.

        Where less than a twentieth have, or items can't be read, the judge has seen enough.
        """
        runs, found, drawn, size = [], 0, 0, 12_000
        while found < wanted and drawn < most and 20 * found >= drawn:
            repeat = -(-min(size, most - drawn) // len(documents))
            runs.append(self.drawing(documents, block_size, repeat))
            drawn += repeat * len(documents)
            sizes = runs[-1]["drawn"]["x"] > 1  # neither PAD nor MASK: characters of documents
            found += _count_long(sizes, runs[-1]["drawn"]["x_sizes"])
            size = int(1.1 * (wanted - found) * drawn / max(found, 1)) + 100
        return runs

    @contextmanager
    def explaining(self, look_at: str) -> Iterator[None]:
        """Turn Malformed into a basic test's failure, with the item drawn."""
        try:
            yield
        except corruption.Malformed as wrong:
            self.fail(wrong.sentence, got=wrong.got, expected=wrong.expected, look_at=look_at)


def _count_long(is_character: np.ndarray, sizes: np.ndarray) -> int:
    ends = np.cumsum(sizes)
    totals = np.concatenate([[0], np.cumsum(is_character)])
    return int((totals[ends] - totals[ends - sizes] >= 40).sum()) if len(sizes) else 0
