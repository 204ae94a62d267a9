"""What the judges of span corruption read from items, and how they explain mistakes."""

import tracemalloc
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder import solutions
from autograder.judging import load_hidden
from grading import wire
from grading.errors import WireError
from grading.verdicts import TestEnd
from questions.span_corruption import items, probe
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


@pytest.fixture(scope="module")
def hidden():
    return load_hidden(solutions.HIDDEN)


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


def test_items_are_read_back():
    (example,) = read([RIGHT]).examples
    assert (example.truncated, example.start, example.masked) == (20, 4, "Byron")


@pytest.mark.parametrize("document", [DOCUMENT, FOREIGN, DOCUMENT + "\0 \ud800"])
def test_items_are_read_back_whatever_their_characters(document):
    reading = read([item(document, 4, 6)] * 3, document)
    assert not reading.wrong
    assert [each.original for each in reading.examples] == [document] * 3


def test_reading_items_takes_no_object_for_each_character(monkeypatch):
    monkeypatch.setattr(f"{__name__}.BLOCK_SIZE", 1000)
    drawn = run([RIGHT] * 500, [DOCUMENT])  # mostly PADs, which are no character of Latin-1
    tracemalloc.start()
    reading = items.read(**drawn)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(reading.examples) == 500
    # Copies of the ids and the decoded text take 2.3 times the bytes of x. With an object for
    # each character it was 11 times.
    assert peak < 5 * drawn["drawn"]["x"].nbytes


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


def sentence(texts: list[str], document: str = DOCUMENT) -> items.Malformed:
    """Return what is wrong with the first wrong item."""
    return read(texts, document).wrong[0]


def test_characters_that_are_dropped_are_named():
    kept = "".join(c for c in FOREIGN if c.isascii())
    assert "not ASCII, such as é" in sentence([item(kept[:12], 2, 3)], FOREIGN).sentence


def test_an_empty_span_is_drawn_legibly():
    wrong = DOCUMENT[:4] + items.MASK_CHAR + "BByron" + 2 * items.MASK_CHAR
    assert sentence([wrong]).expected.endswith("in brackets: Ada []Byron  (an empty span)")


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


@pytest.mark.parametrize(("ids", "dtype"), [([0, 255], "u1"), ([0, 256], "i8"), ([-1], "i8")])
def test_entries_cross_as_bytes_if_they_fit(ids, dtype):
    entries = probe._Entries()
    entries.add(torch.tensor(ids))
    assert entries.array().dtype == np.dtype(dtype) and entries.array().tolist() == ids
    assert probe._Entries().array().tolist() == []


def test_items_are_read_back_from_bytes_too():
    for texts in ([RIGHT] * 3, [RIGHT, DOUBLED, ""]):
        wide = run(texts, [DOCUMENT])
        ids = {name: wide["drawn"][name].astype(np.uint8) for name in ("x", "y")}
        narrow = {**wide, "drawn": {**wide["drawn"], **ids}}
        one, other = items.read(**wide), items.read(**narrow)
        assert one.examples == other.examples
        assert [str(wrong) for wrong in one.wrong] == [str(wrong) for wrong in other.wrong]


@pytest.mark.parametrize("nothing", ["", items.PAD_CHAR, items.MASK_CHAR])
def test_items_without_text_fail_as_pairs(nothing):
    """Their form is right, or claimed to be."""
    forms = ["tuple of int64[64], int64[64]"]
    drawn = {**answer([nothing] * 20, items.FRIENDLY_DOCUMENTS), "forms": forms}
    with pytest.raises(TestEnd, match="contains nothing from its document"):
        Case({"runs": [drawn]}, is_hidden=False).test_pairs()


@pytest.mark.parametrize("seed", range(20))
def test_no_document_begins_or_ends_with_a_blank(seed):
    lengths = [4, 4, 5, 60, 200]
    drawn = items.draw_documents(np.random.default_rng(seed), lengths, "ab cdefg")
    assert [len(d.strip()) for d in drawn] == lengths


def failing(judge, *arguments, **keywords) -> str:
    """What a judge says."""
    with pytest.raises(TestEnd) as end:
        judge(Case(), *arguments, **keywords)
    assert end.value.verdict.credit == Fraction(0)
    return end.value.verdict.message


def test_the_missing_end_of_lengths_is_named(hidden):
    def missing(lengths: list[int]) -> str:
        texts = [item(DOCUMENT[:n], 1, 1) for n in range(4, 29) if n not in lengths]
        return failing(
            hidden.span_corruption.span_corruption_every_length, [run(texts, [DOCUMENT])]
        )

    assert "the shortest, from 4 on" in missing([4, 5])
    assert "the longest" in missing([28])
    assert "between" in missing([9])


def test_a_span_in_the_middle_is_called_so(hidden):
    def said(start) -> str:
        texts = [item(DOCUMENT[:n], start(n - 3), 3) for n in range(8, 29)]
        return failing(hidden.span_corruption.span_corruption_position, [run(texts, [DOCUMENT])])

    assert "always in the middle" in said(lambda room: room // 2)
    assert "never starts in the second half" in said(lambda room: 0)
    assert "never starts in the first half" in said(lambda room: room)


WHY = {
    (0.12, 0.12, 0.12): "too short",
    (0.31, 0.30, 0.32): "too long",
    (0.65, 0.54, 0.64): "too long",
    (0.15, 0.08, 0.14): "too short",
    (0.26, 0.15, 0.25): "shorter than a block",
    (0.30, 0.70, 0.25): "shorter than a block",
    (0.25, 0.26, 0.03): "longer than a block",
    (0.38, 0.38, 0.96): "longer than a block",
}


@pytest.mark.parametrize("means", WHY)
def test_wrong_shares_are_explained(means, hidden):
    """Each reading has as many items as are judged, with this share of 100 characters."""
    readings = [
        items.Reading([], 128, [items.Example("", "", "a" * span, "b" * (100 - span))] * 8000)
        for span in (round(100 * mean) for mean in means)
    ]
    names = ("common", "short", "long")
    keywords = {name: [reading] for name, reading in zip(names, readings, strict=True)}
    assert WHY[means] in failing(hidden.span_corruption.span_corruption_span_share, **keywords)


def test_vocabularies_without_foreign_characters_are_called_so(hidden):
    itos = items.expected_vocabulary([FOREIGN])
    got = {"itos": [*itos[:2], *filter(str.isascii, itos[2:])], "stoi_agrees": True}
    said = failing(hidden.span_corruption.span_corruption_any_alphabet, got, [run([], [FOREIGN])])
    assert "not ASCII, such as é" in said


ENTRIES = torch.arange(7)


@pytest.mark.parametrize(
    "vectors",
    [
        [ENTRIES, ENTRIES],
        [torch.stack((ENTRIES, -ENTRIES), 1)[:, 0], ENTRIES],
        [ENTRIES, torch.stack((ENTRIES, -ENTRIES), 1)[:, 0]],
        [ENTRIES.int(), ENTRIES, ENTRIES.to(torch.uint8)],
        [torch.nn.Buffer(ENTRIES), ENTRIES],
    ],
    ids=["plain", "strided first", "strided second", "other dtypes", "another class"],
)
def test_the_probe_sends_vectors_as_they_are_stored_or_not(vectors, monkeypatch):
    items_of_it = [(vector, vector + 1) for vector in vectors]
    monkeypatch.setattr(probe, "_dataset", lambda *_: items_of_it)
    drawn = probe._drawn(["some"] * len(vectors), 8, repeat=2)
    count = 2 * len(vectors)
    assert drawn["x"].tolist() == ENTRIES.tolist() * count
    assert drawn["y"].tolist() == (ENTRIES + 1).tolist() * count
    assert drawn["x_sizes"].tolist() == drawn["y_sizes"].tolist() == [len(ENTRIES)] * count


def test_the_probe_sends_no_more_of_a_vector_than_fits_and_nothing_of_no_pair(monkeypatch):
    long = torch.arange(items.MOST + 5)
    mixed = [(long, ENTRIES), (ENTRIES, ENTRIES), (ENTRIES.float(), ENTRIES), [ENTRIES], "none"]
    monkeypatch.setattr(probe, "_dataset", lambda *_: mixed)
    drawn = probe._drawn(["some"] * len(mixed), 8, repeat=1)
    assert drawn["x_sizes"].tolist() == [items.MOST, 7, 0, 0, 0]
    assert drawn["y_sizes"].tolist() == [7, 7, 0, 0, 0]
    assert drawn["x"].tolist() == [*range(items.MOST), *range(7)]
    assert len(drawn["forms"]) == 5
