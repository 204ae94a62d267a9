"""The attention exploration: what its tests take for granted holds."""

import itertools

import numpy as np
import pytest

import grading
from questions.attention_exploration import attention_math, tests
from tests.variants import load_module


@pytest.fixture(scope="module")
def reference():
    path = grading.SOLUTIONS / "submission" / "attention_exploration.py"
    return load_module("reference_exploration", path)


def test_the_graders_attention_is_the_given_one_and_the_formula(reference):
    rng = np.random.default_rng(5)
    q, keys, values = rng.normal(size=4), rng.normal(size=(5, 6, 4)), rng.normal(size=(6, 3))
    for row, alpha in zip(keys, attention_math.attention_weights(q, keys), strict=True):
        plain = np.exp(row @ q) / np.exp(row @ q).sum()
        c, given = reference.attention(q, row, values)
        np.testing.assert_allclose([alpha, given], [plain, plain], rtol=0, atol=1e-12)
        np.testing.assert_allclose(c, plain @ values, rtol=0, atol=1e-12)
        _, given = reference.attention(q, 1e6 * row, values)  # exp(1e6) is infinite
        assert given.sum() == pytest.approx(1)


def test_the_weights_that_the_grader_expects_are_attentions(reference):
    """The grader has them as numbers, since a formula would give away the query."""
    for (scale, length, n), expected in tests.WEIGHTS:
        means = np.eye(n)
        keys = attention_math.lengthened(means, length)
        _, alpha = reference.attention(scale * (means[0] + means[1]), keys, keys)
        np.testing.assert_allclose(expected, alpha, rtol=0, atol=tests.EXACT / 10)


@pytest.mark.parametrize("cosine", [-tests.NEARLY_PERPENDICULAR, tests.NEARLY_PERPENDICULAR])
def test_nearly_perpendicular_keys_leave_the_sum_of_two_a_margin(cosine):
    """average_query's docstring promises enough: for the worst cosines, and any number of keys."""
    for others in (1, 5):
        products = np.full((others + 2, others + 2), cosine) + (1 - cosine) * np.eye(others + 2)
        for signs in itertools.product([-1, 1], repeat=2):
            products[2, :2] = products[:2, 2] = np.array(signs) * cosine
            scores = products[:, 0] + products[:, 1]
            assert scores[0] == pytest.approx(scores[1])
            assert scores[0] - scores[2:].max() >= 0.55 - 1e-12
