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


def test_a_slope_through_the_origin_with_a_cluster_of_its_own_for_each_value(lab):
    x, y = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([2.0, 3.0, -1.0])
    found = lab.estimates.slope(x, y, [0, 1, 2])
    b = (2 + 6 + 1) / 6
    rests = [2 - b, 2 * (3 - 2 * b), -1 * (-1 + b)]
    assert found.value == pytest.approx(b)
    assert found.error == pytest.approx(math.sqrt(1.5 * sum(r * r for r in rests)) / 6)


def test_values_that_only_repeat_others_of_their_cluster_make_nothing_more_certain(lab):
    x, y = torch.tensor([1.0, 2.0, -1.0]), torch.tensor([2.0, 3.0, -1.0])
    once = lab.estimates.slope(x, y, [0, 1, 2])
    twice = lab.estimates.slope(x.repeat(2), y.repeat(2), [0, 1, 2, 0, 1, 2])
    assert twice.value == pytest.approx(once.value) and twice.error == pytest.approx(once.error)
    apart = lab.estimates.slope(x.repeat(2), y.repeat(2), range(6))
    assert apart.error < once.error
