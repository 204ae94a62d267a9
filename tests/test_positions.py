"""The claims of the written answers on position embeddings, computed."""

import math

import numpy as np
import pytest

RNG = np.random.default_rng(0)
T, D = 7, 8


def sinusoids(count: int, d: int = D) -> np.ndarray:
    """Return p(0) to p(count - 1), shape (count, d), from the sheet's equation."""
    angles = np.arange(count)[:, None] * 10_000.0 ** (-2 * np.arange(d // 2) / d)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(count, d)


@pytest.fixture(scope="module")
def layer():
    """Return the sheet's layer with random parameters, (T, d) to (T, d)."""
    q, k, v, first, second = RNG.normal(size=(5, D, D))
    b1, b2 = RNG.normal(size=(2, 1, D))

    def layer(x: np.ndarray) -> np.ndarray:
        weights = np.exp((x @ q) @ (x @ k).T / math.sqrt(D))
        h = weights / weights.sum(axis=1, keepdims=True) @ (x @ v)
        return np.maximum(h @ first + b1, 0) @ second + b2

    return layer


def test_without_positions_the_same_words_give_the_same_vectors_in_any_order(layer):
    x, order = RNG.normal(size=(T, D)), RNG.permutation(T)
    # Sums of 7 or 8 terms of order 10 to 100, in another order: 1e-13.
    np.testing.assert_allclose(layer(x[order]), layer(x)[order], rtol=0, atol=1e-9)


def test_with_sinusoids_they_do_not_and_the_layer_is_as_equivariant_as_before(layer):
    x, order = RNG.normal(size=(T, D)), np.roll(np.arange(T), 1)
    moved = layer(x[order] + sinusoids(T))
    assert np.abs(moved - layer(x + sinusoids(T))[order]).max() > 0.1
    both = (x + sinusoids(T))[order]
    np.testing.assert_allclose(layer(both), layer(x + sinusoids(T))[order], rtol=0, atol=1e-9)


def test_the_first_pair_tells_whole_numbers_apart_if_only_just():
    pairs = sinusoids(3_000, d=2)
    gaps = np.linalg.norm(pairs[1:] - pairs[0], axis=1)  # |p(t) - p(0)| = 2 |sin(t / 2)|
    assert gaps.min() > 0 and int(gaps.argmin()) + 1 in (710, 1420, 2130, 2840)
    assert gaps[709] == pytest.approx(abs(2 * math.sin(355)), rel=1e-6)
    assert gaps[709] == pytest.approx(6e-5, rel=0.01)
    assert 710 == pytest.approx(113 * 2 * math.pi, abs=1e-4)


def test_dot_products_depend_on_the_distance_alone():
    p = sinusoids(40)
    scores = p @ p.T
    omega = 10_000.0 ** (-2 * np.arange(D // 2) / D)
    expected = [[np.cos((s - t) * omega).sum() for t in range(40)] for s in range(40)]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_a_word_at_another_place_may_have_the_same_sum():
    p, u = sinusoids(T), RNG.normal(size=D)
    v = u + p[2] - p[5]
    np.testing.assert_allclose(u + p[2], v + p[5], rtol=0, atol=1e-15)
