"""What the judges of span corruption read from items, and how they explain mistakes."""

import tracemalloc

import numpy as np
import pytest
import torch

from grading import wire
from grading.errors import WireError
from questions.span_corruption import items, probe

DOCUMENT = "Ada Byron was born in London."
BLOCK_SIZE = 32


def item(kept: str, start: int, span: int) -> str:
    """The string of an item, without PADs."""
    parts = (kept[:start], kept[start + span :], kept[start : start + span], "")
    return items.MASK_CHAR.join(parts)


def answer(texts: list[str]) -> dict:
    """Return the probe's answer for items with these strings; for "", one that is not a pair."""
    ids = {c: i for i, c in enumerate(items.expected_vocabulary([DOCUMENT]))}
    rows = [[ids[c] for c in text.ljust(BLOCK_SIZE + 1, items.PAD_CHAR)] for text in texts]
    rows = [row if text else [] for row, text in zip(rows, texts, strict=True)]
    sizes = np.array([len(row[1:]) for row in rows])
    return {
        "length": 1,
        "kept": 1,
        "forms": [f"tuple of int64[{BLOCK_SIZE}], int64[{BLOCK_SIZE}]"],
        "x": np.array([i for row in rows for i in row[:-1]], dtype=np.int64),
        "y": np.array([i for row in rows for i in row[1:]], dtype=np.int64),
        "x_sizes": sizes,
        "y_sizes": sizes,
    }


def read(drawn: dict) -> items.Reading:
    return items.read(drawn, [DOCUMENT], BLOCK_SIZE)


RIGHT = item(DOCUMENT[:20], 4, 5)
DOUBLED = RIGHT.replace("B", "BB")


def test_ids_outside_the_vocabulary_are_named_and_cost_little_memory():
    """Were all ids kept for each wrong item, 1,000 items would take half a gigabyte."""
    drawn = answer([RIGHT] * 1000)
    drawn["x"] = drawn["x"] + 100
    drawn["x"][7 * BLOCK_SIZE] = 5000
    tracemalloc.start()
    reading = read(drawn)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 32 << 20
    assert len(reading.wrong) == 1000
    assert [str(w.got).endswith("to 5000") for w in reading.wrong[6:9]] == [False, True, False]


@pytest.mark.parametrize("wrong", [DOUBLED, "", items.PAD_CHAR])
def test_one_in_twenty_malformed_items_is_left_aside_and_no_more(wrong):
    few = read(answer([RIGHT] * 19 + [wrong] + [RIGHT] * 20))
    assert (len(few.examples), len(few.wrong)) == (39, 1)
    assert len(items.well_formed([few], shortest=20)) == 39
    most, more = (read(answer([RIGHT] * count + [wrong])) for count in (19, 18))
    assert len(items.well_formed([most])) == 19
    for judge in (few.check_each, lambda: items.well_formed([more])):
        with pytest.raises(items.Malformed):
            judge()


@pytest.mark.parametrize("entry", [255, 256, -1])
def test_the_probe_sends_every_entry_as_it_is(entry, monkeypatch):
    vector = torch.tensor([3, entry])
    monkeypatch.setattr(probe, "_dataset", lambda *_: [(vector, vector), "no pair"])
    asked = {"documents": ["Ada", "Eve"], "block_size": BLOCK_SIZE, "repeat": 2}
    (run,) = probe.draw(None, [asked])["runs"]
    assert (run["x"].tolist(), run["x_sizes"].tolist()) == ([3, entry] * 2, [2, 0, 2, 0])


@pytest.mark.parametrize("half", ["x", "y"])
def test_an_answer_with_other_sizes_is_the_submissions_error(half):
    """tests/redteam forges other sizes, in both halves at once."""
    right, spec = answer([RIGHT] * 2), items.drawn([(1, 2), (1, 2)])
    wire.check({"runs": [right, right]}, spec)
    for sizes in ([2 * BLOCK_SIZE], [-1, 2 * BLOCK_SIZE + 1]):  # which add up
        forged = {**right, f"{half}_sizes": np.array(sizes)}
        for runs in ([forged, right], [right, forged], [right] * 3):
            with pytest.raises(WireError, match="2 draws with sizes that add up"):
                wire.check({"runs": runs}, spec)
