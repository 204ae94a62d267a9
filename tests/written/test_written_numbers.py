"""The written solutions: the numbers that they quote are right.

Everything is drawn from fixed seeds, so a test either always passes or always fails. Bounds on
Monte Carlo errors were chosen so that correct code fails with a probability below 1e-6 each.
"""

import math

import pytest

S, N = 100.0, 6  # of quoted numbers


@pytest.fixture(scope="module")
def compared(numbers):
    assert (numbers["compared"]["s"], numbers["compared"]["n"]) == (S, N)
    return numbers["compared"]


def test_copying_needs_the_margin_that_is_derived(numbers):
    assert {row["n"] for row in numbers["copying"]["rows"]} >= {3, 12}
    for row in numbers["copying"]["rows"]:
        n = row["n"]
        assert row["scale"] == pytest.approx(math.log(99 * (n - 1)), rel=1e-5)
        assert row["unscaled"] == pytest.approx(math.e / (math.e + n - 1), rel=1e-5)


def test_weights_of_an_average_are_those_of_the_closed_form(numbers):
    for row in numbers["average"]["rows"]:
        n = row["n"]
        assert row["scale"] == pytest.approx(math.log((n - 2) * 0.98 / 0.04), rel=1e-5)
        assert {w["s"] for w in row["weights"]} >= {1, 10}
        for w in row["weights"]:
            assert w["alpha_a"] == pytest.approx(1 / (2 + (n - 2) * math.exp(-w["s"])), rel=1e-5)


def test_one_head_varies_and_two_do_not(numbers):
    lengths = numbers["lengths"]
    # Of values in [0, 1], 20,000 in number: Hoeffding allows an error of .019.
    assert lengths["all"]["single"]["mean_a"] == pytest.approx(0.5, abs=0.019)
    more = 0.5 / (1 - lengths["theory"]["negative"])  # P(L > 1) given L > 0
    assert lengths["kept"]["single"]["mean_a"] == pytest.approx(more, abs=0.02)
    # The variance that the solution derives for s = 100, .2444; its mean square is within .01
    # of that, and the square of the mean's error is below .0004.
    variance = (1 - 4 / (lengths["s"] * math.sqrt(math.pi))) / 4
    assert lengths["all"]["single"]["deviation_a"] ** 2 == pytest.approx(variance, abs=0.0104)
    for kind, design in (("single", "sum"), ("two", "two")):  # of the same samples
        rms = numbers["compared"]["length"][design]["rms"]["value"]
        assert lengths["kept"][kind]["rms"] == pytest.approx(rms, rel=1e-5)
    quotient = lengths["kept"]["single"]["rms"] / lengths["kept"]["two"]["rms"]
    assert lengths["ratio"] == pytest.approx(quotient, rel=1e-4)
    assert lengths["ratio"] > 4  # what the grader asks for


def test_key_query_value_misses_by_what_is_derived(numbers):
    found = numbers["key_query_value"]
    wrong = 1 / (math.exp(found["beta"] ** 2) + 2)
    about = {"rel": 1e-3}  # differences of numbers near 5, known to 1e-15, are 1e-11
    assert found["beta"] == 5
    assert found["unprojected"]["miss"]["value"] == pytest.approx(math.sqrt(10) * wrong, **about)
    miss_1 = found["matrices"]["miss_1"]
    assert miss_1["value"] == pytest.approx(math.sqrt(5) * wrong, **about)
    assert miss_1["mantissa"] * 10.0 ** miss_1["exponent"] == pytest.approx(miss_1["value"])
    assert 1 <= miss_1["mantissa"] < 10  # as LaTeX shows it
    assert found["matrices"]["miss_2"]["value"] == pytest.approx(math.sqrt(2) * wrong, **about)
    # The bound that is derived, and that the search comes close to it.
    assert math.exp(-0.75 * 25) < found["others_at_most"]["value"] < 2 * math.exp(-0.75 * 25)


def test_noise_moves_the_steady_query_as_far_as_is_derived(compared):
    assert compared["noise"]["value"] == pytest.approx(S / 2 * math.sqrt(1e-12 * (N - 2)), rel=1e-5)
    row = compared["length"]
    # The squared distance is (x/4)^2 * 2 with a normal x of variance 2 alpha s^2 (n - 2): of mean
    # m and standard deviation sqrt(2) m. A mean of 18,000 is off by 8 % (7.6 standard deviations)
    # with probability below 1e-6.
    assert row["samples"] > 18_000
    measured = row["steady"]["rms"]["value"] ** 2
    assert measured == pytest.approx(compared["noise"]["value"] ** 2, rel=0.08)
    assert row["steady"]["far"] == 0


def test_a_key_that_nobody_knows_takes_a_third(compared):
    row = compared["stranger"]
    assert row["steady"]["rms"]["value"] == pytest.approx(math.sqrt(2) / 6, rel=1e-5)
    assert row["steady"]["far"] == 1


def test_which_design_is_the_best_for_which_change(compared):
    """The single head that looks away wins while one length changes alone; else two heads do."""
    order = {
        change: sorted(("sum", "steady", "two"), key=lambda d: compared[change][d]["rms"]["value"])
        for change in ("length", "lengths", "stranger")
    }
    assert order["length"] == ["steady", "two", "sum"]
    assert order["lengths"] == order["stranger"] == ["two", "steady", "sum"]
    for change in ("lengths", "stranger"):
        rms = {design: compared[change][design]["rms"]["value"] for design in ("steady", "two")}
        assert rms["two"] < rms["steady"] / 4
