"""The staff's answers on one head, two heads and the synthesizer: their claims hold numerically.

Draws have fixed seeds, so a test either always passes or always fails. The bounds on Monte Carlo
errors give the probability that correct code fails with the chosen seed: below 1e-6 each.
"""

import importlib.util
import itertools
import math
import sys

import numpy as np
import pytest

from tests.project import ROOT
from tests.written.test_written_numbers import allowed_error, normal_integral, weights

S, N = 100.0, 6  # of quoted numbers
NEGATIVE = math.erfc(1) / 2  # P(L < 0) for L ~ N(1, 1/2)


@pytest.fixture(scope="module")
def reference():
    path = ROOT / "solutions" / "submission" / "attention_exploration.py"
    spec = importlib.util.spec_from_file_location("exploration_of_heads", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def compared(numbers):
    assert (numbers["compared"]["s"], numbers["compared"]["n"]) == (S, N)
    return numbers["compared"]


def lost(lengths, others):
    """Return the weight that a head with s mu_a leaves to so many other keys, if k_a = L mu_a."""
    return others / (np.exp(np.minimum(S * lengths, 700)) + others)


def expect_mean_square(row, design, mean, fourth, most):
    """Check that the measured mean square is the derived one, with an error of 70 % of it at most.

    Args:
        mean, fourth: of the distance's square, and of its fourth power.
        most: a bound on the squared distance.
    """
    error = allowed_error(fourth - mean**2, most, row["samples"])
    measured = row[design]["rms"]["value"] ** 2
    assert abs(measured - mean) <= error + 2e-4 * math.sqrt(mean)
    assert error < 0.7 * mean


# The query in the span of two means ---------------------------------------------------------


def test_in_the_span_of_two_means_there_is_one_query(reference):
    """Up to its scale, only one averages: c_a and c_b must be the same, and large."""
    means = np.eye(5)
    for first, second in itertools.product(np.linspace(-60, 60, 25), repeat=2):
        q = first * means[0] + second * means[1]
        _, alpha = reference.attention(q, means, means)
        right = np.abs(alpha[:2] - 0.5).max() <= 0.01
        assert right == (first == second and first >= math.log(3 * 0.98 / 0.04))


# A query that survives a changing length ------------------------------------------------------


@pytest.mark.parametrize("length", [-3, -0.5, 0, 0.01, 1, 1.7, 40])
def test_the_steady_query_has_the_same_weights_for_every_length(reference, length):
    for n in (2, 3, 6, 12):
        means = np.linalg.qr(np.random.default_rng(n).normal(size=(13, n)))[0].T
        keys = means.copy()
        keys[0] *= length
        _, alpha = reference.attention(reference.steady_query(means, 0, 1), keys, keys)
        np.testing.assert_allclose(alpha[:2], 1 / (2 + (n - 2) * math.exp(-100)), atol=1e-12)


def test_any_query_that_averages_for_two_lengths_is_perpendicular_to_both_means():
    """Or nearly: with |c_a| > .2, say, it would not average for lengths .5 and 1.5."""
    for c_a, c_b, others in itertools.product(
        np.linspace(-5, 5, 41), np.linspace(-5, 5, 41), (-50.0, -20.0, 0.0)
    ):
        scores = np.array([[0.5 * c_a, c_b] + [others] * 4, [1.5 * c_a, c_b] + [others] * 4])
        alpha = weights(scores.T)[:2]
        if np.abs(alpha - 0.5).max() <= 0.01:
            assert abs(c_a) < 0.1 and abs(c_b) < 0.1 and others < 0


def test_noise_moves_the_steady_query_as_far_as_is_derived(compared):
    assert compared["noise"]["value"] == pytest.approx(S / 2 * math.sqrt(1e-12 * (N - 2)), rel=1e-5)
    row = compared["length"]
    # The squared distance is (x/4)^2 * 2 with a normal x of variance 2 alpha s^2 (n - 2): of mean
    # m and standard deviation sqrt(2) m. A mean of 18,000 is off by 8 % (7.6 standard deviations)
    # with probability below 1e-6.
    assert row["samples"] > 18_000
    measured = row["steady"]["rms"]["value"] ** 2
    assert measured == pytest.approx(compared["noise"]["value"] ** 2, rel=0.08)
    assert row["steady"]["far"] == 0


def test_a_key_that_nobody_knows_takes_a_third(compared):
    row = compared["stranger"]
    assert row["steady"]["rms"]["value"] == pytest.approx(math.sqrt(2) / 6, rel=1e-5)
    assert row["steady"]["far"] == 1


def test_a_key_that_turns_takes_all_of_the_steady_head(compared):
    """The mean square lies between those of the shortest other key alone, and of four like it.

    Let M be the least of four lengths: the others' share W = sum exp(-s L_i), in units of k_a's,
    is between exp(-s M) and 4 exp(-s M), and the squared distance is (W/(2 + W))^2 / 2.
    """
    row = compared["lengths"]
    turned = 1 - (1 - NEGATIVE) ** (N - 2)
    error = allowed_error(turned * (1 - turned), 1, row["samples"])
    assert abs(row["turned"] - turned) <= error < 0.02
    lengths = np.linspace(-5, 7, 1_200_001)
    above = np.array([math.erfc(x) / 2 for x in (lengths[::100] - 1)])  # P(L > x)
    above = np.interp(lengths, lengths[::100], above)
    density = 4 * above**3 * np.exp(-((lengths - 1) ** 2)) / math.sqrt(math.pi)
    step = lengths[1] - lengths[0]
    assert np.trapezoid(density) * step == pytest.approx(1, abs=1e-4)
    bounds = []
    for many in (1, 4):
        share = 1 / (1 + 2 / many * np.exp(np.clip(S * lengths, -700, 700)))
        bounds.append(np.trapezoid(share**2 / 2 * density) * step)
    measured = row["steady"]["rms"]["value"] ** 2
    error = allowed_error(0.25, 0.5, row["samples"])
    assert bounds[0] - error <= measured <= bounds[1] + error
    assert bounds[1] - bounds[0] < 0.01 and error < 0.03


# Two heads ------------------------------------------------------------------------------------


def test_two_heads_withstand_each_change(compared):
    for change, others in (("length", N - 1), ("stranger", N)):
        # What the second head leaves, 5 e^-100, is nothing.
        shape = (1 + 1 / others**2) / 4
        mean, fourth = (
            normal_integral(lambda L, k=k, m=others: lost(L, m) ** (2 * k)) * shape**k
            for k in (1, 2)
        )
        expect_mean_square(compared[change], "two", mean, fourth, shape)
    # Heads leave x and y, independent; each goes in equal shares to the n - 1 others.
    first = normal_integral(lambda L: lost(L, N - 1))
    second = normal_integral(lambda L: lost(L, N - 1) ** 2)
    fourth = normal_integral(lambda L: lost(L, N - 1) ** 4)
    mean = second / 2 * (1 + 1 / (N - 1) ** 2) - first**2 / (N - 1)
    # d^2 <= (x^2 + y^2) 1.04 / 4, whose square has a mean of at most this.
    fourth = 2 * (fourth + second**2) * (1.04 / 4) ** 2
    expect_mean_square(compared["lengths"], "two", mean, fourth, 0.52)


def test_the_single_head_of_two_means_swings_with_each_change(compared):
    for change in ("length", "stranger"):
        mean = normal_integral(lambda L: np.tanh(S * (L - 1) / 2) ** 2 / 2)
        # The others' shares, at most 5 e^-100 but for short lengths, change nothing here.
        expect_mean_square(compared[change], "sum", mean, mean / 2, 0.5)
    assert compared["lengths"]["sum"]["rms"]["value"] > 0.69


def test_which_design_is_the_best_for_which_change(compared):
    """The single head that looks away wins while one length changes alone; else two heads do."""
    order = {
        change: sorted(("sum", "steady", "two"), key=lambda d: compared[change][d]["rms"]["value"])
        for change in ("length", "lengths", "stranger")
    }
    assert order["length"] == ["steady", "two", "sum"]
    assert order["lengths"] == order["stranger"] == ["two", "steady", "sum"]
    for change in ("lengths", "stranger"):
        rms = {design: compared[change][design]["rms"]["value"] for design in ("steady", "two")}
        assert rms["two"] < rms["steady"] / 4


def test_other_pairs_of_queries_average_and_do_what_is_said(reference):
    """Pairs that are right in part i, and the heads' average when k_a is half and twice as long."""
    means = np.eye(6)
    together, away = means[0] + means[1], -means[2:].sum(axis=0)
    pairs = {
        ((1.0, 0.0), (0.0, 1.0)): (S * together, 2 * S * together),
        ((0.5, 0.5), (0.5, 0.5)): (S * away, 2 * S * away),
        ((0.75, 0.25), (0.25, 0.75)): (S * together, S * away),
    }
    for (longer, shorter), queries in pairs.items():
        for length, wanted in ((1, (0.5, 0.5)), (2, longer), (0.5, shorter)):
            keys = means.copy()
            keys[0] *= length
            alpha = sum(reference.attention(q, keys, keys)[1] for q in queries) / 2
            np.testing.assert_allclose(alpha[:2], wanted, rtol=0, atol=1e-9)


# The synthesizer --------------------------------------------------------------------------------

E = dict(zip(("A", "B", "A?", "B?", "p", "r"), np.eye(6), strict=True))


def inputs(query):
    """Return the four inputs with this query, in the table's order, and the wanted outputs."""
    one, other = query[0], "B" if query == "A?" else "A"
    rows = [
        ((one, "p"), (other, "r")),
        ((one, "r"), (other, "p")),
        ((other, "r"), (one, "p")),
        ((other, "p"), (one, "r")),
    ]
    for pairs in rows:
        x = np.stack([*(E[key] + E[value] for key, value in pairs), E[query]])
        (wanted,) = (value for key, value in pairs if key == one)
        yield x, E[wanted]


def test_one_layer_of_attention_looks_up_either_query():
    keys = np.outer(E["A"], E["A"]) + np.outer(E["B"], E["B"])
    queries = 50 * (np.outer(E["A"], E["A?"]) + np.outer(E["B"], E["B?"]))
    values = np.outer(E["p"], E["p"]) + np.outer(E["r"], E["r"])
    for query in ("A?", "B?"):
        for x, wanted in inputs(query):
            alpha = weights(x @ keys.T @ (queries @ x[2]))
            np.testing.assert_allclose(alpha @ x @ values.T, wanted, rtol=0, atol=1e-12)


def synthesized(rng):
    """One layer of a random synthesizer of two heads, with positions: output at position 3."""
    A, B, V, b1, b2, out, positions = (
        rng.normal(size=size) for size in ((2, 6, 3), (3, 3), (2, 6, 3), (2, 3), 3, (6, 6), (3, 6))
    )

    def layer(x):
        x = x + positions
        heads = [weights(np.maximum(x[2] @ A[i] + b1[i], 0) @ B + b2) @ x @ V[i] for i in range(2)]
        return np.concatenate(heads) @ out

    return layer


@pytest.mark.parametrize("query", ["A?", "B?"])
def test_one_layer_of_a_synthesizer_cannot_look_up_either_query(query):
    rng = np.random.default_rng(7)
    for _ in range(100):
        layer = synthesized(rng)
        outputs, wanted = zip(*((layer(x), y) for x, y in inputs(query)), strict=True)
        difference = outputs[0] - outputs[1] + outputs[2] - outputs[3]
        np.testing.assert_allclose(difference, 0, atol=1e-12)
        errors = [np.linalg.norm(o - y) for o, y in zip(outputs, wanted, strict=True)]
        assert max(errors) >= np.linalg.norm(E["p"] - E["r"]) / 2
