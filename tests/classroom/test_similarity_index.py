"""Tokens, weights and ranks: rarity counts, groups are one author, planted copies rank first."""

import ast

import numpy as np
import pytest

from benchmarks.copies import KINDS, disguised
from benchmarks.independent import solution
from benchmarks.similarity import planted, ranks
from tools.classroom.similarity import texts
from tools.classroom.similarity.index import Entry, Index, authors_of, comparable
from tools.classroom.similarity.texts import Piece, known_of, pieces_of
from tools.classroom.similarity.tokens import View, tokens_of

MARKED = """\
import torch
def mine(x):
    return x + x
class Dataset:
    def __getitem__(self, idx):
        # [span corruption]
        ### START CODE HERE ###
        return self.data[idx]
        ### END CODE HERE ###
"""


def seen(text, view=View.NAMES):
    return [shown for token in tokens_of(text) if (shown := token.seen(view))]


def test_layout_quotes_and_comments_leave_the_codes_tokens_as_they_are():
    one = "y = f(x, 'a')  # Sum it up\nz = y.view(2)"
    two = 'y=f( x,\n  "a")\nz = (y.view)(2)'.replace("(y.view)", "y.view")
    code = [text for text in seen(one) if not text.startswith("#")]
    assert code == seen(two)
    assert [text for text in seen(one) if text.startswith("#")] == ["#sum", "#it", "#up"]


def test_without_names_only_what_an_author_chooses_is_gone():
    assert seen("att = F.softmax(scores, dim=-1) if n > 8 else None", View.SHAPE) == (
        "· = F . softmax ( · , · = - 1 ) if · > 8 else None".split()
    )


@pytest.mark.parametrize("text", ["'''open", "x = 'a\ny", "\\ $ ?", "\0", "é = 1e-5", "'" * 5])
def test_what_is_no_python_has_tokens_all_the_same(text):
    tokens = tokens_of(text)
    assert all(0 <= token.start < token.end <= len(text) for token in tokens)


def test_what_somebody_wrote_is_between_the_markers_or_not_the_starters():
    starter = MARKED.replace("def mine(x):\n    return x + x\n", "")
    known = known_of([starter.replace("self.data[idx]", "None")])
    found = pieces_of("dataset.py", MARKED, known)
    assert found == [
        Piece("dataset.py", "span corruption", ((8, "        return self.data[idx]"),)),
        Piece("dataset.py", "outside the markers", ((2, "def mine(x):"), (3, "    return x + x"))),
    ]
    assert pieces_of("dataset.py", starter.replace("self.data[idx]", "None"), known) == []
    (whole,) = pieces_of("dataset.py", "x = 1\nimport torch\n", known)
    assert whole == Piece("dataset.py", "dataset.py, no markers", ((1, "x = 1"),))


def entry(name, grams, authors=None, is_reference=False):
    made = Entry(name, frozenset(authors or [name] * (not is_reference)), is_reference)
    made.grams = {view: {"topic": {(gram,) for gram in grams}} for view in View}
    return made


def test_groups_are_one_author():
    """Only pairs without a common member remain, of two groups, a member alone and a stranger."""
    entries = [
        entry("a", "xy", "AB"),
        entry("b", "xy", "BC"),
        entry("c", "x", "C"),
        entry("d", "x"),
    ]
    pairs = set(zip(*np.nonzero(comparable(entries)), strict=True))
    assert pairs == {(0, 2), (0, 3), (1, 3), (2, 3)}
    assert len(set(authors_of(entries))) == 2
    index = Index(entries, View.NAMES)
    assert index.class_size == 2
    assert index.counts[("x",)] == 2 and index.counts[("y",)] == 1


def test_references_are_compared_with_the_class_alone():
    entries = [
        entry("a", "x"),
        entry("r", "x", is_reference=True),
        entry("s", "x", is_reference=True),
    ]
    assert set(zip(*np.nonzero(comparable(entries)), strict=True)) == {(0, 1), (0, 2)}
    assert Index(entries, View.NAMES).counts[("x",)] == 1


def test_a_score_is_the_share_of_the_smaller_ones_weight():
    common, rare = [f"c{i}" for i in range(50)], [f"r{i}" for i in range(50)]
    entries = [entry(str(i), common) for i in range(8)]
    entries += [entry("x", common + rare), entry("y", rare + ["own"] * 3)]
    scores = Index(entries, View.NAMES).scores()
    weight = {n: np.log(11 / n) ** 2 for n in (1, 2, 9)}
    smaller = min(50 * (weight[9] + weight[2]), 50 * weight[2] + weight[1])
    assert scores[8, 9] == pytest.approx(50 * weight[2] / smaller)
    # What all but one have hardly counts: it weighs far less than 30 rare grams.
    assert scores[0, 1] == pytest.approx(50 * weight[9] / (30 * weight[2])) and scores[0, 1] < 0.03
    assert scores[0, 9] == 0 and scores[1, 0] == -1


def test_solutions_are_python_and_others_for_each_seed():
    assert solution(3) == solution(3)
    known = texts.known_code()
    written = set()
    for seed in range(12):
        made = solution(seed)
        for text in made.values():
            ast.parse(text)
        pieces = [p for name, text in made.items() for p in pieces_of(name, text, known)]
        assert {"span corruption", "synthesizer", "finetuning"} <= {p.topic for p in pieces}
        written.add("".join(piece.text for piece in pieces))
    assert len(written) == 12


def test_disguises_change_the_text_and_stay_python():
    made = solution(1)
    for kind in KINDS:
        copy = disguised(made, kind, 0)
        assert copy != made
        for text in copy.values():
            ast.parse(text)


def test_planted_copies_rank_above_all_independent_pairs():
    """Without names, copies of all kinds here do; with names, all but fully renamed ones."""
    made = planted(solutions=30, copies=3, golden=False)
    _, _, with_names = ranks(made, View.NAMES)
    usual, _, without = ranks(made, View.SHAPE)
    assert len(usual) > 1_000
    for kind in ("comments stripped", "half renamed", "renamed", "reordered"):
        assert max(without[kind].above) == 0, kind
    for kind in ("comments stripped", "half renamed", "reordered", "split into helper functions"):
        assert max(with_names[kind].above) == 0, kind
