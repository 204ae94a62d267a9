"""Drawing items from a submission's CharCorruptionDataset."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grading.cases import GradedTestCase

from . import items

MOST_ENTRIES = 1_536_000  # of x, and of y, in one answer: 25 MB
OTHER_LENGTH = "the dataset has more or fewer documents than its text has lines"


class AsksCorruption(GradedTestCase):
    """Draws items from a submission's CharCorruptionDataset."""

    def draw(self, documents: list[str], block_size: int, repeat: int) -> dict[str, Any]:
        """Draw all documents in turn, `repeat` times."""
        spec = items.drawn(len(documents), repeat)
        drawn = self.probe("span_corruption.draw", spec, **_asked(documents, block_size, repeat))
        self.expect_length(drawn, len(documents))
        return drawn

    def drawings(self, *runs: tuple[list[str], int, int]) -> list[dict[str, Any]]:
        """Return several drawings from one worker, each of (documents, block_size, repeat).

        To start a worker takes longer than to draw hundreds of items.
        """
        got = self.probe(
            "span_corruption.draw_each",
            items.drawn_each([(len(documents), repeat) for documents, _, repeat in runs]),
            runs=[_asked(*run) for run in runs],
        )
        for drawn, (documents, _, _) in zip(got["runs"], runs, strict=True):
            self.expect_length(drawn, len(documents))
        return [_drawing(d, *run[:2]) for d, run in zip(got["runs"], runs, strict=True)]

    def expect_length(self, got: dict[str, Any], expected: int) -> None:
        """Fail unless the dataset has a document for each line of its text.

        If the list `data` has them all, `__len__` is wrong.
        """
        method = "len" if got["kept"] == expected else "init"
        id, question = f"documents.changed-{method}", f"was `__{method}__` changed?"
        sentence, detail = f"{got['length']} documents, expected {expected}: {question}", {}
        if self.spec.is_hidden:
            detail = {"got": sentence}
            id, sentence = f"{id}-hidden", f"{OTHER_LENGTH}: {question}"
        self.expect(got["length"] == expected, sentence, id=id, **detail)

    def drawing(self, documents: list[str], block_size: int, repeat: int) -> dict[str, Any]:
        """Return what `items.read` needs to read examples back."""
        return _drawing(self.draw(documents, block_size, repeat), documents, block_size)

    def reading(self, documents: list[str], block_size: int, repeat: int) -> items.Reading:
        """Draw items and read them back."""
        return items.read(**self.drawing(documents, block_size, repeat))

    def long_examples(
        self, documents: list[str], block_size: int, shortest: int, wanted: int, most: int
    ) -> list[items.Reading]:
        """Draw until `wanted` items have `shortest` characters or more, or `most` were drawn.

        Less than a twentieth is enough for the judge to decide.
        """
        readings: list[items.Reading] = []
        found, drawn, size = 0, 0, 3 * wanted // 2
        while found < wanted and drawn < most and 20 * found >= drawn:
            size = min(size, most - drawn, MOST_ENTRIES // block_size)
            repeat = -(-size // len(documents))
            readings.append(self.reading(documents, block_size, repeat))
            drawn += repeat * len(documents)
            found += sum(e.truncated >= shortest for e in readings[-1].examples)
            size = int(1.1 * (wanted - found) * drawn / max(found, 1)) + 100
        return readings

    @contextmanager
    def explaining(self, **detail: Any) -> Iterator[None]:
        """Turn Malformed into a failure that shows the item and other details."""
        try:
            yield
        except items.Malformed as wrong:
            self.fail(
                wrong.sentence,
                id=wrong.id,
                got=wrong.got,
                expected=wrong.expected,
                **detail,
            )


def _asked(documents: list[str], block_size: int, repeat: int) -> dict[str, Any]:
    indices = list(range(len(documents)))
    return {
        "documents": list(documents),
        "block_size": block_size,
        "indices": indices,
        "repeat": repeat,
    }


def _drawing(drawn: dict[str, Any], documents: list[str], block_size: int) -> dict[str, Any]:
    indices = list(range(len(documents)))
    return {"drawn": drawn, "documents": documents, "indices": indices, "block_size": block_size}
