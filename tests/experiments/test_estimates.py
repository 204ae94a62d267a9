"""Slopes and their standard errors, compared with formulas; means of hardly any values."""

import math

import pytest
import torch


def test_one_value_has_no_standard_error_and_none_have_no_mean(lab):
    assert math.isnan(lab.estimates.mean([1.0]).error) and math.isnan(lab.estimates.mean([]).value)


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
