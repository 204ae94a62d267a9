"""Claims in practice and on position embeddings that no other test checks, in numpy.

The other claims in questions and answers are in test_practice.py and test_practice_added.py. Seeds
are fixed, and what is checked holds for every draw, so nothing can fail by chance.
"""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from tests.written.test_claims_attention import drawn
from tests.written.test_written_numbers import weights

# Practice: attention --------------------------------------------------------------------------


def test_the_derivative_of_a_softmax_is_the_one_derived():
    """By central differences, whose error is of the order of step^2."""
    scores, step = drawn(0, 5), 1e-5
    alpha = weights(scores)
    for i, j in itertools.product(range(5), repeat=2):
        moved = [weights(scores + sign * step * np.eye(5)[j])[i] for sign in (1, -1)]
        slope = (moved[0] - moved[1]) / (2 * step)
        assert slope == pytest.approx(alpha[i] * ((i == j) - alpha[j]), abs=1e-8)
    nearly = weights(np.array([40.0, 0, 0]))
    slopes = np.diag(nearly) - np.outer(nearly, nearly)
    assert np.abs(slopes).max() < 1e-15  # with one weight near 1


@pytest.mark.parametrize("d", [1, 2, 4])
def test_dot_products_of_independent_coordinates_have_variance_d(d):
    """Exactly, over all vectors of coordinates -1 and 1, of mean 0 and variance 1."""
    signs = list(itertools.product((-1, 1), repeat=d))
    products = [sum(a * b for a, b in zip(q, k, strict=True)) for q in signs for k in signs]
    assert sum(products) == 0 and sum(p * p for p in products) == d * len(products)


def test_padding_that_hides_keys_leaves_real_positions_as_they_are():
    x, other = drawn(0, 5, 4), drawn(1, 5, 4)
    other[:3] = x[:3]  # of length 3, filled up in two ways
    hidden = np.where(np.arange(5) < 3, 0.0, -1e9)
    outputs = [np.stack([weights(z @ q + hidden) @ z for q in z]) for z in (x, other)]
    assert outputs[0][:3] == pytest.approx(outputs[1][:3], abs=1e-12)


# Practice: positions --------------------------------------------------------------------------


def test_concatenation_has_cross_terms_unless_the_matrix_is_block_diagonal():
    """A cross term: the word of the query against the position of the key."""
    words, places = drawn(0, 2, 3), drawn(1, 2, 3)
    z = np.concatenate([words, places], axis=1)
    full, blocks = drawn(3, 6, 6), drawn(3, 6, 6)
    blocks[:3, 3:] = blocks[3:, :3] = 0
    for M, crosses in ((full, True), (blocks, False), (np.eye(6), False)):
        apart = words[0] @ M[:3, :3] @ words[1] + places[0] @ M[3:, 3:] @ places[1]
        assert (abs(z[0] @ M @ z[1] - apart) > 1e-3) == crosses


def test_counts_of_relative_biases(b, text):
    """By enumeration: all distances, those within a clip, and those a decoder uses."""
    T, k, m, d = 12, 5, 3, 7
    pairs = list(itertools.product(range(T), repeat=2))
    distances = {j - i for i, j in pairs}
    clipped = {max(-k, min(k, one)) for one in distances}
    assert len(distances) == 2 * (T - 1) + 1 and len(clipped) == 2 * k + 1
    assert b.relative_bias_parameters(T, m) == m * len(distances)
    assert b.relative_bias_parameters(T, m, k) == m * len(clipped)
    used = {j - i for i, j in pairs if j <= i}
    assert len(used) == T and len({max(-k, one) for one in used}) == k + 1
    # Shaw's score, with a vector per distance: the second term depends on the query.
    x, y, Q, K, a = drawn(0, d), drawn(1, d), drawn(2, d, d), drawn(3, d, d), drawn(4, d)
    assert x @ Q @ (y @ K + a) == pytest.approx(x @ Q @ K.T @ y + (x @ Q) @ a)


# Practice: layers -------------------------------------------------------------------------------


def normed(x, degrees=0):
    return (x - x.mean()) / np.sqrt(x.var(ddof=degrees))


def test_the_blocks_by_hand():
    """Attention halves, the feed-forward part exchanges the channels, x = (3, 1)."""
    x = np.array([3.0, 1.0])
    assert normed(x) == pytest.approx([1, -1])
    after = x + normed(x) / 2
    assert after == pytest.approx([3.5, 0.5])
    assert after + normed(after)[::-1] == pytest.approx([2.5, 1.5])
    summed = x + x / 2
    assert summed == pytest.approx([4.5, 1.5])
    both = normed(summed) + normed(summed)[::-1]
    assert both == pytest.approx([0, 0])


def test_dividing_by_one_less_is_another_slip():
    x = np.array([1.0, 2, 3, 4])
    assert normed(x, 1) / normed(x) == pytest.approx(math.sqrt(5 / 4) / math.sqrt(5 / 3))
    assert (x.var(), x.var(ddof=1)) == pytest.approx((5 / 4, 5 / 3))


def test_several_heads_are_a_sum_of_averages_each_with_its_own_map():
    x, rng = drawn(0, 5, 4), np.random.default_rng(1)
    alphas = rng.dirichlet(np.ones(5), size=(2, 5))
    values, out = drawn(2, 2, 4, 2), drawn(3, 4, 4)
    side_by_side = np.concatenate([alphas[i] @ x @ values[i] for i in (0, 1)], axis=1) @ out
    added = sum(alphas[i] @ x @ (values[i] @ out[2 * i : 2 * i + 2]) for i in (0, 1))
    assert side_by_side == pytest.approx(added)


# Practice: objectives, reach, cost, sizes ---------------------------------------------------------


def test_how_bert_treats_a_thousand_tokens(text):
    chosen = 1000 * Fraction(15, 100)
    counts = [1000 - chosen, *(chosen * Fraction(share, 10) for share in (8, 1, 1))]
    rows = re.findall(r"(\d+) & (?:not )?chosen", text("bert_mask"))
    assert [int(row) for row in rows] == counts == [850, 120, 15, 15]


@pytest.mark.parametrize("heads, levels", [(1, 4), (2, 3), (3, 2)])
def test_ways_down_reach_each_position_once(b, heads, levels):
    """j (k+1)^l back by head j of level l, or stay: each sum is another number."""
    steps = [
        [0, *(j * (heads + 1) ** level for j in range(1, heads + 1))] for level in range(levels)
    ]
    sums = sorted(sum(way) for way in itertools.product(*steps))
    assert sums == list(range((heads + 1) ** levels)) and b.receptive_field(heads, levels) == len(
        sums
    )
    assert [[0, *b.looks_back(heads, level)] for level in range(levels)] == steps


def test_the_examples_of_cost_and_of_parameters(b, text):
    wanted = {"encoder": 180, "encoder-decoder": 300, "decoder": 500}
    for kind, count in wanted.items():
        assert b.attention_multiply_adds(kind, 3, 5, 10) == count and str(count) in text("cost")
    V, T, L, C = 3, 5, 1, 2
    terms = [2 * V * C, T * C, L * (12 * C**2 + 13 * C), 2 * C]
    assert terms == [12, 10, 74, 4] and sum(terms) == 100
    assert "12 + 10 + 74 + 4 = 100" in text("parameters")
    k = 1000
    assert 2 * (6 * k) ** 2 * k == 12 * (6 * k) * k**2  # both cost the same at n = 6k


def test_the_quotient_of_lengths_in_words():
    """For ten times the length, all pairs cost a hundredfold, and what is linear tenfold."""
    k = 1000
    pairs, rest = (lambda n: 2 * n * n * k), (lambda n: 12 * n * k * k)
    assert pairs(5120) == 100 * pairs(512) and rest(5120) == 10 * rest(512)


def table_of_modifications(text):
    """The rows of the table after Narang et al., by model."""
    rows = re.findall(
        r"(?:\\hline )?([A-Za-z() ]+?) & ([\d{},]+) million & ((?:[\d.]+ & )+[\d.]+)", text
    )
    return {
        name.strip(): [float(size.replace("{,}", "")), *map(float, rest.split(" & "))]
        for name, size, rest in rows
    }


def test_the_table_of_modifications_says_what_the_answer_concludes(text):
    """The table's numbers were compared with the paper's table 1; the rest follows from them."""
    table = table_of_modifications(text("in_words"))
    base, swiglu = table["baseline"], table["SwiGLU"]
    dense, switch = table["Synthesizer (dense)"], table["Switch Transformer"]
    assert len(table) == 4 and {len(row) for row in table.values()} == {6}
    SIZE, SPEED, LOSS, GLUE, FACTS, GERMAN = range(6)
    better = [swiglu[i] > base[i] for i in (SPEED, GLUE, FACTS, GERMAN)]
    assert all(better) and swiglu[LOSS] < base[LOSS] and swiglu[SIZE] == base[SIZE]
    assert switch[SIZE] / base[SIZE] == pytest.approx(5, abs=0.1)
    assert 0.9 < switch[SPEED] / base[SPEED] < 1
    assert abs(dense[GERMAN] - base[GERMAN]) < 0.02  # by the last column alone
    lost = {i: 1 - dense[i] / base[i] for i in (GLUE, FACTS)}
    assert lost[FACTS] > lost[GLUE] > 0.1 and dense[LOSS] > base[LOSS]


# Position embeddings ------------------------------------------------------------------------------


def layer(x, seed=5):
    """A head and a feed-forward network with biases, without a mask: the sheet's equation."""
    d = x.shape[1]
    Q, K, V, W_1, W_2 = drawn(seed, 5, d, d)
    b_1, b_2 = drawn(seed + 1, 2, 1, d)
    ones = np.ones((len(x), 1))
    H = weights((x @ Q @ (x @ K).T / math.sqrt(d)).T).T @ x @ V
    return np.maximum(H @ W_1 + ones @ b_1, 0) @ W_2 + ones @ b_2


def orders(n):
    return [np.eye(n)[list(order)] for order in itertools.permutations(range(n))]


def encodings(T, d):
    t, k = np.arange(T)[:, None], np.arange(d // 2)
    angles = t * 10000.0 ** (-2 * k / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(T, d)


def test_the_layer_makes_pz_of_px_for_every_order():
    x = drawn(0, 4, 6)
    z, A, B = layer(x), drawn(1, 4, 4), drawn(2, 4, 3)
    for P in orders(4):
        assert layer(P @ x) == pytest.approx(P @ z, abs=1e-10)
        # What may be used without proof, and what the proof uses.
        assert weights((P @ A @ P.T).T).T == pytest.approx(P @ weights(A.T).T @ P.T)
        assert (np.maximum(P @ B, 0) == P @ np.maximum(B, 0)).all()
        assert (P.T @ P == np.eye(4)).all() and (P @ np.ones((4, 1)) == 1).all()
    assert any((P @ P != np.eye(4)).any() for P in orders(4))  # "P times P" is another matter


def test_two_sentences_of_the_same_words_get_the_same_vectors():
    vectors = dict(zip(("the", "dog", "bit", "man"), drawn(3, 4, 6), strict=True))
    sentences = ["the dog bit the man".split(), "the man bit the dog".split()]
    made = [layer(np.stack([vectors[word] for word in words])) for words in sentences]
    for n, word in enumerate(sentences[0]):
        assert made[0][n] == pytest.approx(made[1][sentences[1].index(word)])
    assert made[0][2] == pytest.approx(made[1][2])  # of "bit": nothing tells who bit
    assert sorted("nora") == sorted("arno")


def test_a_causal_layer_sees_a_set_at_the_last_word():
    x = drawn(0, 4, 6)
    hidden = np.triu(np.full((4, 4), -np.inf), 1)

    def causal(z):
        return weights((z @ z.T + hidden).T).T @ z

    for P in orders(4):
        is_last_fixed = P[3, 3] == 1
        same = np.allclose(causal(P @ x)[3], causal(x)[3])
        assert same == is_last_fixed
    swapped = x[[3, 1, 2, 0]]  # the first and the last: what the others see changes
    assert not np.allclose(causal(swapped)[1], causal(x)[1])


def test_with_positions_only_the_identity_is_left():
    x, phi = drawn(0, 4, 6), encodings(4, 6)
    for P in orders(4):
        is_identity = (P == np.eye(4)).all()
        assert np.allclose(P @ x + phi, P @ (x + phi)) == is_identity
        assert np.allclose(layer(P @ x + phi), P @ layer(x + phi)) == is_identity
        assert layer(P @ (x + phi)) == pytest.approx(P @ layer(x + phi), abs=1e-10)


def test_what_follows_from_unique_encodings_and_what_does_not():
    p = encodings(1000, 8)
    gaps = np.abs(p[:, None, :2] - p[None, :, :2]).max(axis=2) + np.eye(1000)
    assert gaps.min() > 1e-5  # the first pair alone is unique
    assert abs(2 * math.sin(355)) == pytest.approx(6e-5, rel=0.01)
    assert np.linalg.norm(p[710, :2] - p[0, :2]) == pytest.approx(abs(2 * math.sin(355)))
    assert 113 * 2 * math.pi == pytest.approx(710, abs=1e-4)
    # Word u at s and word v at t have one sum, for a suitable v.
    s, t, u = 3, 11, drawn(0, 8)
    v = u + p[s] - p[t]
    assert u + p[s] == pytest.approx(v + p[t]) and not np.allclose(u, v)
    # Random vectors are unique, too; their products say nothing of distances.
    random = drawn(1, 40, 8)
    products, sums = random @ random.T, p[:40] @ p[:40].T
    assert np.ptp(products.diagonal(1)) > 1 and np.ptp(sums.diagonal(1)) < 1e-9
    omega = 10000.0 ** (-2 * np.arange(4) / 8)
    assert sums[2, 9] == pytest.approx(np.cos(7 * omega).sum())
