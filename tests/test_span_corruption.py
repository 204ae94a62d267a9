"""What the judges of span corruption read from items, and how they explain mistakes."""

from types import SimpleNamespace

import numpy as np
import pytest

from grading import wire
from grading.errors import WireError
from grading.verdicts import TestEnd
from questions.span_corruption import items
from questions.span_corruption.tests import SpanCorruption

DOCUMENT = "Ada Byron was born in London."
FOREIGN = "Zoë née Ångström, born in 東京."
BLOCK_SIZE = 32


class Case(SpanCorruption):
    """A test whose probes give a made-up answer."""

    def __init__(self, answer=None, is_hidden=True):
        self.spec = SimpleNamespace(is_hidden=is_hidden)
        self.seed, self._answer = 0, answer

    def probe(self, name, answer, /, **_):
        return self._answer

    def measure(self, name, value):
        """Record nothing, since nobody compares these."""


def item(kept: str, start: int, span: int) -> str:
    """The string of an item, without PADs."""
    parts = (kept[:start], kept[start + span :], kept[start : start + span], "")
    return items.MASK_CHAR.join(parts)


def answer(texts: list[str], documents: list[str]) -> dict:
    """Return the probe's answer for items with these strings; for "", one that is not a pair."""
    ids = {c: i for i, c in enumerate(items.expected_vocabulary(documents))}
    rows = [[ids[c] for c in text.ljust(BLOCK_SIZE + 1, items.PAD_CHAR)] for text in texts]
    rows = [row if text else [] for row, text in zip(rows, texts, strict=True)]
    sizes = np.array([len(row[1:]) for row in rows])
    return {
        "length": len(documents),
        "kept": len(documents),
        "forms": [f"tuple of int64[{BLOCK_SIZE}], int64[{BLOCK_SIZE}]"],
        "x": np.array([i for row in rows for i in row[:-1]], dtype=np.int64),
        "y": np.array([i for row in rows for i in row[1:]], dtype=np.int64),
        "x_sizes": sizes,
        "y_sizes": sizes,
    }


def run(texts: list[str], documents: list[str]) -> dict:
    """What a judge gets."""
    drawn = answer(texts, documents)
    return {"drawn": drawn, "documents": documents, "block_size": BLOCK_SIZE}


def read(texts: list[str], document: str = DOCUMENT) -> items.Reading:
    return items.read(**run(texts, [document]))


RIGHT = item(DOCUMENT[:20], 4, 5)
DOUBLED = RIGHT.replace("B", "BB")


@pytest.mark.parametrize("document", [DOCUMENT, FOREIGN, DOCUMENT + "\0 \ud800"])
def test_items_are_read_back_whatever_their_characters(document):
    reading = read([item(document, 4, 6)] * 3, document)
    assert not reading.wrong
    assert [each.original for each in reading.examples] == [document] * 3


@pytest.mark.parametrize("wrong", [DOUBLED, "", items.PAD_CHAR])
def test_others_are_read_beside_malformed_items(wrong):
    reading = read([RIGHT] * 19 + [wrong] + [RIGHT] * 20)
    assert (len(reading.examples), len(reading.wrong)) == (39, 1)
    assert len(items.well_formed([reading], shortest=20)) == 39
    with pytest.raises(items.Malformed):
        reading.check_each()


@pytest.mark.parametrize("wrong", [DOUBLED, ""])
def test_more_than_five_percent_of_malformed_items_are_not_left_aside(wrong):
    assert len(items.well_formed([read([RIGHT] * 19 + [wrong])])) == 19
    with pytest.raises(items.Malformed):
        items.well_formed([read([RIGHT] * 18 + [wrong])])


def test_malformed_items_may_not_all_be_long_ones():
    """Where spans of long items are judged, the long items that can't be read count."""
    short = item(DOCUMENT[:8], 2, 2)
    reading = read([short] * 90 + [RIGHT] * 5 + [DOUBLED] * 2)
    assert len(items.well_formed([reading])) == 95
    with pytest.raises(items.Malformed):
        items.well_formed([reading], shortest=20)


def test_a_lost_document_is_counted():
    for kept, changed in ((3, "__init__"), (4, "__len__"), (-1, "__init__")):
        lost = {"runs": [{**answer([], [DOCUMENT]), "length": 3, "kept": kept}]}
        with pytest.raises(TestEnd) as end:
            Case(lost, is_hidden=False).reading([DOCUMENT] * 4, BLOCK_SIZE, repeat=1)
        expected = f"3 documents, expected 4: was `{changed}` changed?"
        assert end.value.verdict.message.splitlines()[0] == expected
        with pytest.raises(TestEnd) as end:
            Case(lost).reading([DOCUMENT] * 4, BLOCK_SIZE, repeat=1)
        assert changed in end.value.verdict.message and "3" not in end.value.verdict.message


SIZES = (
    {"x_sizes": np.zeros(2, np.int64)},
    {"y_sizes": np.array([-1])},
    {"x_sizes": np.array([BLOCK_SIZE + 1])},
    {"x_sizes": np.zeros(0, np.int64), "y_sizes": np.zeros(0, np.int64)},
    {"x_sizes": np.array([2**62])},
)


@pytest.mark.parametrize("forged", SIZES)
def test_an_answer_with_other_sizes_is_the_submissions_error(forged):
    right = answer([RIGHT], [DOCUMENT])
    wire.check({"runs": [right]}, items.drawn([(1, 1)]))
    with pytest.raises(WireError, match="sizes that add up"):
        wire.check({"runs": [{**right, **forged}]}, items.drawn([(1, 1)]))


def test_several_draws_come_from_one_worker_and_are_checked_one_by_one():
    right = answer([RIGHT], [DOCUMENT])
    spec = items.drawn([(1, 1), (1, 1)])
    wire.check({"runs": [right, right]}, spec)
    for runs in ([right], [right] * 3, [right, {**right, **SIZES[0]}]):
        with pytest.raises(WireError, match="2 draws with sizes that add up"):
            wire.check({"runs": runs}, spec)
    asked = ([DOCUMENT], BLOCK_SIZE, 1)
    first, second = Case({"runs": [right, right]}).drawings(asked, asked)
    assert first == second == {**run([RIGHT], [DOCUMENT]), "drawn": right}
    with pytest.raises(TestEnd, match="__init__"):
        Case({"runs": [right, {**right, "length": 3, "kept": 3}]}).drawings(asked, asked)
