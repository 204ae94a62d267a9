"""The cause that a student reads is that of the mistake, or there is none."""

import re

import pytest

from tests.benches import Bench
from tests.variants import GOLDEN, Variant

CAUSES = {
    ("angles_growing", "angles"): "theta_k grows with k: is the sign of the exponent wrong?",
    ("angles_from_one", "angles"): "pairs are counted from 1, but k counts from 0",
    ("angles_without_two", "angles"): "is the 2 of the exponent -2k/dim missing?",
    ("sine_first", "angles"): "the last axis holds the sine first",
    ("sine_negated", "angles"): "the sine is negated",
    ("positions_from_one", "angles"): "positions are counted from 1, but the first is 0",
    ("angles_all_zero", "angles"): None,
    ("heads_for_positions", "turned"): "axis 1, the heads, is taken for the positions",
    ("heads_for_positions", "relative"): "axis 1, the heads, is taken for the positions",
    ("other_direction", "turned"): "the rotation goes the other way",
    ("cosine_for_sine", "turned"): "sine and cosine are exchanged",
    ("cosine_for_sine", "relative"): "sine and cosine are exchanged",
    ("neighbours_put_into_halves", "relative"): "coordinates are returned in a different order",
    ("longer_vectors", "turned"): None,
    ("nothing_turned", "turned"): "x is returned unchanged",
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize("variant, test", CAUSES)
@pytest.mark.sampled(4)
def test_the_cause_is_that_of_the_mistake(variant, test, bench):
    chosen = [t for t in bench.tests if (t.spec.topic, t.spec.name) == ("rope", test)]
    wrong = Variant(GOLDEN / "rope" / "wrong" / f"{variant}.py")
    (result,) = bench.verdicts(wrong, chosen, 11).values()
    assert result.outcome.value == "failed"
    cause = re.search(r"^  cause: (.*)$", result.message, re.MULTILINE)
    expected = CAUSES[variant, test]
    assert cause[1].startswith(expected) if expected else cause is None
