"""Questions that call functions: what their reference and their judges promise holds."""

import itertools
import math

import numpy as np
import pytest
import torch

from questions.attention_exploration.tests import NEARLY_PERPENDICULAR
from questions.building_blocks import samples
from questions.shared import shapes
from tests.variants import building_blocks


def test_a_query_that_sees_nothing_gets_zeros_and_finite_gradients():
    rng = np.random.default_rng(11)
    q, k, v = (torch.tensor(rng.normal(size=(3, 4)), requires_grad=True) for _ in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, False, True]])
    y = building_blocks().scaled_dot_product_attention(q, k, v, mask)
    assert y[1].abs().max() == 0
    y.sum().backward()
    assert all(part.grad.isfinite().all() for part in (q, k, v))


def test_rounding_decides_nothing_but_at_the_beginning_of_a_range():
    """Check what solutions/hidden/building_blocks.py says, for all distances that can be drawn."""
    for _, n_buckets, reach, causal in samples.distances(np.random.default_rng(5)):
        e = n_buckets // (2 if causal else 4)
        for far in range(e + 1, reach):
            place = e * math.log(far / e) / math.log(reach / e)
            begins = far**e == e ** (e - round(place)) * reach ** round(place)
            assert begins == (abs(place - round(place)) < 1e-5)
            assert begins or abs(place - round(place)) > 1e-4
            single = np.float32(e) * np.log(np.float32(far / e)) / np.log(np.float32(reach / e))
            assert abs(single - place) < 1e-5


@pytest.mark.parametrize("cosine", [-NEARLY_PERPENDICULAR, NEARLY_PERPENDICULAR])
def test_nearly_perpendicular_keys_leave_the_sum_of_two_a_margin(cosine):
    """average_query's docstring promises enough: for the worst cosines, and any number of keys."""
    for others in (1, 5):
        products = np.full((others + 2, others + 2), cosine) + (1 - cosine) * np.eye(others + 2)
        for signs in itertools.product([-1, 1], repeat=2):
            products[2, :2] = products[:2, 2] = np.array(signs) * cosine
            scores = products[:, 0] + products[:, 1]
            assert scores[0] == pytest.approx(scores[1])
            assert scores[0] - scores[2:].max() >= 0.55 - 1e-12


@pytest.mark.parametrize(
    "answer, form, parts",
    [
        (None, "None (is a `return` missing?)", [None, None]),
        (dict, "the class dict itself", [None, None]),
        (np.zeros((2, 3)), "float64[2, 3]", [0.0, 0.0]),
        ((np.zeros(3), 1), "tuple of float64[3], int", [0.0, 1]),
        ([1, 2, 3, 4, 5], "list of int, int, int, int, ...", [None, None]),
        (([[1], [1, 2]], "word"), "tuple of list, str", [None, None]),
    ],
)
def test_answers_are_described_and_taken_apart(answer, form, parts):
    assert shapes.form_of(answer) == form
    found = shapes.parts_of(answer, 2, shapes.numbers)
    assert [part if part is None else part.max() for part in found] == parts
