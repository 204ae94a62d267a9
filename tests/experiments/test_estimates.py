"""Means, slopes and their standard errors, compared with formulas and with other programs' way."""

import math

import pytest
import torch


def test_a_mean_has_the_standard_error_of_independent_values(lab):
    found = lab.estimates.mean([1.0, 2.0, 3.0, 6.0])
    assert found.value == 3.0
    assert found.error == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert math.isnan(lab.estimates.mean([1.0]).error) and math.isnan(lab.estimates.mean([]).value)
    assert str(lab.estimates.Estimate(0.456, 0.044)) == "0.46 ± 0.04"
    assert lab.estimates.Estimate(-0.21, 0.1).is_clear
    assert not lab.estimates.Estimate(0.2, 0.1).is_clear


X, Y = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([2.0, 3.0, -1.0])


def test_a_slope_through_the_origin_of_values_that_do_not_depend_on_each_other(lab):
    found = lab.estimates.Slope.of(X, Y).estimate([{0}, {1}, {2}])
    b = (2 + 6 + 1) / 6
    rests = [2 - b, 2 * (3 - 2 * b), -1 * (-1 + b)]
    assert found.value == pytest.approx(b)
    assert found.error == pytest.approx(math.sqrt(1.5 * sum(r * r for r in rests)) / 6)


def test_values_with_any_member_in_common_depend_on_each_other(lab):
    """A person may be the first of one pair and the second of another."""
    pulls = torch.tensor([0.5, 0.25, -1.0], dtype=torch.float64)
    found = lab.estimates.Slope(2.0, pulls).estimate([("a", "b"), ("c", "a"), ("d", "e")])
    assert found.error == pytest.approx(math.sqrt(5 / 4 * (0.75**2 + 1)))
