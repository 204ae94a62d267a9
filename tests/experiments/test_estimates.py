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


def test_values_that_only_repeat_others_of_their_members_make_nothing_more_certain(lab):
    once = lab.estimates.Slope.of(X, Y).estimate([{0}, {1}, {2}])
    slope = lab.estimates.Slope.of(X.repeat(2), Y.repeat(2))
    twice = slope.estimate([{0}, {1}, {2}] * 2)
    assert twice.value == pytest.approx(once.value) and twice.error == pytest.approx(once.error)
    assert slope.estimate([{i} for i in range(6)]).error < once.error


def test_values_with_any_member_in_common_depend_on_each_other(lab):
    """A person may be the first of one pair and the second of another."""
    pulls = torch.tensor([0.5, 0.25, -1.0], dtype=torch.float64)
    found = lab.estimates.Slope(2.0, pulls).estimate([("a", "b"), ("c", "a"), ("d", "e")])
    assert found.error == pytest.approx(math.sqrt(5 / 4 * (0.75**2 + 1)))


def test_what_two_slopes_have_in_common_cancels_in_their_difference(lab):
    common, own = torch.tensor([5.0, -3.0, 4.0]), torch.tensor([0.1, -0.1, 0.2])
    first, second = lab.estimates.Slope.of(X, common + own), lab.estimates.Slope.of(X, common)
    who = [{0}, {1}, {2}]
    found, expected = (
        each.estimate(who) for each in (first - second, lab.estimates.Slope.of(X, own))
    )
    assert found.value == pytest.approx(expected.value, abs=1e-6)
    assert found.error == pytest.approx(expected.error, abs=1e-6)
    assert found.error < first.estimate(who).error / 10
