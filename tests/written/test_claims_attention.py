"""Claims in the answers on attention that no other test checks, in numpy.

The answers' other claims are in test_written_numbers.py (quoted numbers) and test_written_heads.py
(one head, two heads, the synthesizer). Seeds are fixed, and unless a test says otherwise, what is
checked here holds for every draw, so nothing can fail by chance.
"""

import math

import numpy as np
import pytest

from tests.written.test_written_numbers import weights


def drawn(seed: int, *size: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=size)


def output(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    return weights(scores) @ values


# Copying --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_a_margin_bounds_the_weight_and_the_distance(seed):
    """1 - alpha_j <= (n-1) e^-m, and |c - v_j| <= (1 - alpha_j) max |v_i - v_j|."""
    n = 2 + seed
    scores, values = 3 * drawn(seed, n), drawn(seed + 100, n, 4)
    j = int(scores.argmax())
    margin = scores[j] - np.delete(scores, j).max()
    alpha = weights(scores)
    assert 1 - alpha[j] <= (n - 1) * math.exp(-margin) + 1e-12
    assert alpha[j] >= 1 / (1 + (n - 1) * math.exp(-margin)) - 1e-12
    far = np.linalg.norm(values - values[j], axis=1).max()
    assert np.linalg.norm(alpha @ values - values[j]) <= (1 - alpha[j]) * far + 1e-12
    # Some margin is always needed: at least ln((1 - e)/e) where 1 - alpha_j is e.
    missed = 1 - alpha[j]
    assert margin >= math.log((1 - missed) / missed) - 1e-9


def test_the_two_ways_to_copy_have_the_margins_that_are_said():
    s = 100.0
    half = np.eye(4) + np.ones((4, 4))  # Gram matrix of keys with cosines of 1/2
    keys = np.linalg.cholesky(half / 2)
    assert keys @ keys.T == pytest.approx(half / 2)
    for j in range(4):
        scores = keys @ (s * keys[j])
        assert scores[j] - np.delete(scores, j).max() == pytest.approx(s / 2)
        q = drawn(j, 4) * 10.0 ** (j - 2)  # however long it is
        k = np.zeros((4, 4))
        k[j] = s * q / (q @ q)
        scores = k @ q
        assert scores[j] - np.delete(scores, j).max() == pytest.approx(s)


def test_adding_a_number_to_all_scores_changes_no_weight():
    scores = drawn(0, 6)
    assert weights(scores + 17) == pytest.approx(weights(scores), rel=1e-12)


# An average of two ----------------------------------------------------------------------------


@pytest.mark.parametrize("s", [0.0, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("n", [2, 3, 12])
def test_what_two_averaged_weights_miss_is_what_is_derived(n, s):
    scores, values = np.array([s, s] + [0.0] * (n - 2)), drawn(n, n, 5)
    alpha, middle = weights(scores), values[:2].mean(axis=0)
    missed = (n - 2) / (2 * (2 * math.exp(s) + n - 2))
    assert 0.5 - alpha[:2] == pytest.approx([missed, missed], abs=1e-12)
    assert missed <= (n - 2) / 4 * math.exp(-s)
    delta = (n - 2) / (2 * math.exp(s) + n - 2)
    assert alpha[2:].sum() == pytest.approx(delta, abs=1e-12)
    far = np.linalg.norm(values - middle, axis=1).max()
    assert np.linalg.norm(alpha @ values - middle) <= delta * far + 1e-12


def test_other_right_queries_and_wrong_ones_of_the_average():
    keys, s = np.eye(6), 50.0
    both, others = keys[0] + keys[1], keys[2:].sum(axis=0)
    for r, t in ((1.0, 0.0), (0.0, 1.0), (0.4, 0.6), (2.0, -1.0)):
        assert weights(keys @ (s * (r * both - t * others)))[:2] == pytest.approx([0.5, 0.5])
    quotient = np.divide(*weights(keys @ (100 * keys[0] + 101 * keys[1]))[:2])
    assert quotient == pytest.approx(math.exp(-1))
    assert weights(keys @ (s * (keys[0] - keys[1])))[0] == pytest.approx(1)
    assert weights(keys @ (s * keys.sum(axis=0))) == pytest.approx(np.full(6, 1 / 6))


# One head, keys that are drawn ------------------------------------------------------------------


def test_the_normal_tail_is_below_its_bound():
    for t in np.linspace(0, 8, 81):
        assert math.erfc(t / math.sqrt(2)) <= math.exp(-(t**2) / 2)


@pytest.mark.parametrize("alpha, s", [(1e-12, 100.0), (1e-6, 20.0), (1e-4, 8.0)])
def test_noise_in_the_scores_moves_weights_within_the_bound(alpha, s):
    """|alpha_a - 1/2| <= eta/2 + (n-2)/2 e^(-s + 2 eta), where no score is off by more than eta."""
    n, rng = 6, np.random.default_rng(0)
    noise = rng.normal(size=(n, 500)) * s * math.sqrt(2 * alpha)
    eta = np.abs(noise).max(axis=0)
    scores = noise + np.array([s, s] + [0] * (n - 2))[:, None]
    found = weights(scores)
    assert (found[2:].sum(axis=0) <= (n - 2) / 2 * np.exp(-s + 2 * eta)).all()
    bound = eta / 2 + (n - 2) / 2 * np.exp(-s + 2 * eta)
    assert (np.abs(found[:2] - 0.5) <= bound).all()
    # With s = alpha^(-1/4), both terms go to 0 as alpha does.
    ends = []
    for small in (1e-8, 1e-12, 1e-16):
        e = 2 * small**-0.25 * math.sqrt(small * math.log(n / 1e-6))
        ends.append(e / 2 + (n - 2) / 2 * math.exp(-(small**-0.25) + 2 * e))
    assert ends == sorted(ends, reverse=True) and ends[-1] < 1e-3


# Two heads --------------------------------------------------------------------------------------


def test_two_copying_heads_are_within_the_bound():
    """1 - alpha_a <= (n-1) e^-(s - 2 eta) in head 1, of any noise of at most eta."""
    n, s, eta = 6, 8.0, 0.7
    rng = np.random.default_rng(1)
    scores = rng.uniform(-eta, eta, size=(n, 500))
    scores[0] += s
    assert (1 - weights(scores)[0] <= (n - 1) * math.exp(-(s - 2 * eta))).all()


def test_wrong_pairs_of_queries_give_what_is_said():
    means, s = np.eye(6), 100.0
    both, apart = s * (means[0] + means[1]), s * (means[0] - means[1])
    mixed = (weights(means @ both) + weights(means @ apart)) / 2
    assert mixed[:2] == pytest.approx([0.75, 0.25])
    assert weights(means @ means[0])[0] == pytest.approx(math.e / (math.e + 5))
    halved = (weights(means @ (s / 2 * means[0])) + weights(means @ (s / 2 * means[1]))) / 2
    assert halved[:2] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("n, s", [(3, 10.0), (6, 100.0), (12, 40.0)])
def test_what_the_first_head_leaves_has_the_integral_that_is_derived(n, s):
    """(1/s)(ln n - (n-1)/n), by the trapezoidal rule; beyond 50/s lies less than e^-100."""
    lengths = np.linspace(0, 50 / s, 500_001)
    found = np.trapezoid(((n - 1) / (np.exp(s * lengths) + n - 1)) ** 2, lengths)
    assert found == pytest.approx((math.log(n) - (n - 1) / n) / s, rel=1e-6)
    for epsilon in (0.01, 0.05):  # it misses by more than epsilon only below this length
        border = math.log((n - 1) * (1 - epsilon) / epsilon) / s
        for length, more in ((0.99 * border, True), (1.01 * border, False)):
            alpha = weights(np.array([s * length] + [0.0] * (n - 1)))
            assert (1 - alpha[0] > epsilon) == more
            x = 1 - alpha[0]
            head_2 = np.array([0, 1] + [0] * (n - 2))
            off = np.linalg.norm(((alpha + head_2) / 2)[:2] - 0.5)
            assert off == pytest.approx(x / 2 * math.sqrt(1 + 1 / (n - 1) ** 2), rel=1e-9)


def test_a_key_that_points_away_leaves_half_of_the_other_value():
    n, s, values = 6, 100.0, drawn(3, 6, 4)
    first, second = (np.array(row) for row in ([-0.5 * s] + [0.0] * 5, [0.0, s] + [0.0] * 4))
    c = (output(first, values) + output(second, values)) / 2
    wanted = values[1] / 2 + values[1:].sum(axis=0) / (n - 1) / 2
    assert c == pytest.approx(wanted, abs=1e-12)


# Keys, queries and values -------------------------------------------------------------------------

BETA = 5.0
UA, UB, UC, UD = BETA * np.eye(4)
X = np.stack([UD + UB, UA, UC + UB])


def attended(K, Q, V, x=X):
    """The outputs c_1 to c_3, and weights, a row for each query."""
    alpha = np.stack([weights(x @ K.T @ (Q @ one)) for one in x])
    return alpha @ x @ V.T, alpha


def test_no_weights_bring_the_second_output_to_u_b():
    """With u_d added, for weights of one's choice: the squared distance is as derived."""
    x = np.stack([UD + UB, UA + UD, UC + UB])
    for one in np.random.default_rng(0).dirichlet(np.ones(3), size=200):
        squared = np.sum((one @ x - UB) ** 2)
        derived = (2 * one[1] ** 2 + (1 - one[2]) ** 2 + one[2] ** 2) * BETA**2
        assert squared == pytest.approx(derived) and derived >= BETA**2 / 2 - 1e-9


@pytest.mark.parametrize("t, r", [(0, 0), (1, 0), (0, 1), (0.5, 0.5), (-3, 3), (2, 2)])
def test_no_multiples_bring_it_there_either(t, r):
    x = np.stack([UD + UB, UA + t * UD + r * UC, UC + UB])
    outputs, alpha = attended(np.eye(4), np.eye(4), np.eye(4), x)
    assert alpha[1, 1] >= 1 / (1 + 2 * math.exp(-0.75 * BETA**2)) - 1e-12
    assert np.linalg.norm(outputs[1] - UB) >= alpha[1, 1] * BETA - 1e-9


def over(*pairs):
    """The sum of outer products, divided by beta squared."""
    return sum(np.outer(u, w) for u, w in pairs) / BETA**2


VALUES, IDENTITY = over((UB, UB), (-UC, UC)), np.eye(4)
QUERIES = over((UD, UA), (UC, UD))
RIGHT = {
    "the answer's": (IDENTITY, QUERIES),
    "in the keys": (over((UA, UD), (UD, UC)), IDENTITY),
    "not divided": (IDENTITY, BETA**2 * QUERIES),
    "one more vector": (IDENTITY, over((UD, UA), (UB + UC, UD))),
}


@pytest.mark.parametrize("name", RIGHT)
def test_matrices_that_are_said_to_be_right_are(name):
    outputs, _ = attended(*RIGHT[name], VALUES)
    np.testing.assert_allclose(outputs[1], UB, rtol=0, atol=1e-8)
    np.testing.assert_allclose(outputs[0], UB - UC, rtol=0, atol=1e-8)
    K, Q = RIGHT[name]
    M = K.T @ Q  # only this matters, and these leads have to be large
    leads = [(X[0] - X[j]) @ M @ X[1] for j in (1, 2)] + [(X[2] - X[j]) @ M @ X[0] for j in (0, 1)]
    assert min(leads) > math.log(2 / 1e-8)


def test_scores_of_the_last_right_matrices():
    K, Q = RIGHT["one more vector"]
    assert X @ K.T @ (Q @ X[0]) / BETA**2 == pytest.approx([1, 0, 2])
    assert RIGHT["in the keys"][0].T == pytest.approx(QUERIES)  # the same M


def test_matrices_that_are_said_to_be_wrong_are():
    unscaled, _ = attended(IDENTITY, QUERIES, BETA**2 * VALUES)
    assert unscaled[1] == pytest.approx(BETA**2 * UB, abs=1e-7)
    plus, _ = attended(IDENTITY, QUERIES, over((UB, UB), (UC, UC)))
    assert plus[0] == pytest.approx(UB + UC, abs=1e-8)
    _, transposed = attended(IDENTITY, QUERIES.T, VALUES)
    assert transposed[1] == pytest.approx([1 / 3] * 3)  # u_a is sent to 0
    _, alike = attended(IDENTITY, IDENTITY, VALUES)
    assert alike.diagonal() == pytest.approx([1, 1, 1], abs=1e-9)
    _, weak = attended(IDENTITY, QUERIES / BETA**2, VALUES)
    assert weak[1] == pytest.approx(np.array([math.e, 1, 1]) / (math.e + 2))
    assert math.e / (math.e + 2) == pytest.approx(0.58, abs=5e-3)
    half, _ = attended(IDENTITY, over((UD, UA)), VALUES)
    assert half[0] == pytest.approx((X @ VALUES.T).mean(axis=0))
    _, shared = attended(IDENTITY, over((UB, UA), (UB, UD)), VALUES)
    assert shared[1] == pytest.approx([0.5, 0, 0.5], abs=1e-9)
