"""Questions that call functions: what their reference and their judges promise holds."""

import itertools
import math

import numpy as np
import pytest

from questions.attention_exploration.tests import NEARLY_PERPENDICULAR
from questions.building_blocks import samples


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
