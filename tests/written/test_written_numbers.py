"""The written solutions: the numbers that they quote are right.

Everything is drawn from fixed seeds, so a test either always passes or always fails. The bounds on
Monte Carlo errors give the probability that correct code fails with the chosen seed: below 1e-6
each.
"""

import math

import numpy as np
import pytest

LN_FAILURE = math.log(2 / 1e-6)
S, N = 100.0, 6  # of quoted numbers


def normal_integral(function) -> float:
    """Return the mean of function(L), L ~ N(1, 1/2), given L > 0, by the trapezoidal rule."""
    lengths = np.linspace(0, 8, 400_001)  # beyond 8 lies less than 1e-22
    density = np.exp(-((lengths - 1) ** 2))
    return float(np.trapezoid(function(lengths) * density) / np.trapezoid(density))


def weights(scores: np.ndarray) -> np.ndarray:
    """Return a softmax over the first axis, by logarithms, unlike the reference."""
    return np.exp(scores - np.logaddexp.reduce(scores, axis=0))


def distances(numbers: dict, head: str):
    """Return the distance of (alpha_a, alpha_b) from (1/2, 1/2), as a function of lengths L."""
    n, s = numbers["n"], numbers["s"]

    def single(L: np.ndarray) -> np.ndarray:
        return weights(np.stack([s * L, s + 0 * L] + [0 * L] * (n - 2)))[:2]

    def two(L: np.ndarray) -> np.ndarray:
        first = weights(np.stack([s * L] + [0 * L] * (n - 1)))[:2]
        second = weights(np.stack([0 * L, s + 0 * L] + [0 * L] * (n - 2)))[:2]
        return (first + second) / 2

    alpha = {"single": single, "two": two}[head]
    return lambda L: np.linalg.norm(alpha(L) - 0.5, axis=0)


def allowed_error(variance: float, most: float, samples: float) -> float:
    """Return Bernstein's bound: a mean of values in [0, most] exceeds it with probability < 1e-6.

    2 exp(-samples t^2 / (2 (variance + most t / 3))) = 1e-6, solved for t.
    """
    half = LN_FAILURE * most / (3 * samples)
    return half + math.sqrt(half**2 + 2 * LN_FAILURE * variance / samples)


@pytest.fixture(scope="module")
def compared(numbers):
    assert (numbers["compared"]["s"], numbers["compared"]["n"]) == (S, N)
    return numbers["compared"]


def test_the_same_bytes_each_time(written, tmp_path, run_python, script):
    again = tmp_path / "not" / "there" / "yet"
    assert run_python(script, again).returncode == 0
    assert {p.name for p in again.iterdir()} == {p.name for p in written.iterdir()}
    for path in written.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_copying_needs_the_margin_that_is_derived(numbers):
    assert {row["n"] for row in numbers["copying"]["rows"]} >= {3, 12}
    for row in numbers["copying"]["rows"]:
        n = row["n"]
        assert row["scale"] == pytest.approx(math.log(99 * (n - 1)), rel=1e-5)
        assert row["unscaled"] == pytest.approx(math.e / (math.e + n - 1), rel=1e-5)


def test_weights_of_an_average_are_those_of_the_closed_form(numbers, written):
    plotted = np.genfromtxt(written / "average.dat", names=True)
    for row in numbers["average"]["rows"]:
        n = row["n"]
        assert row["scale"] == pytest.approx(math.log((n - 2) * 0.98 / 0.04), rel=1e-5)
        assert {w["s"] for w in row["weights"]} >= {1, 10}
        for w in row["weights"]:
            assert w["alpha_a"] == pytest.approx(1 / (2 + (n - 2) * math.exp(-w["s"])), rel=1e-5)
        curve = 1 / (2 + (n - 2) * np.exp(-plotted["s"]))
        np.testing.assert_allclose(plotted[f"n{n}"], curve, rtol=1e-5)


def test_noise_moves_weights_as_far_as_is_derived(numbers):
    """E (sigma(D) - 1/2)^2 with D ~ N(0, 4 alpha s^2), against 5,000 samples of it.

    Beyond 7 deviations there is one of them with probability below 2e-8.
    """
    grid = np.linspace(-7, 7, 20_001)
    density = np.exp(-(grid**2) / 2)
    assert len(numbers["noise"]) == 4
    for row in numbers["noise"]:
        deviation = 2 * row["s"] * math.sqrt(row["alpha"]["value"])
        assert row["difference"]["value"] == pytest.approx(deviation, rel=1e-5)
        square = (np.tanh(deviation * grid / 2) / 2) ** 2
        mean, fourth = (
            np.trapezoid(x * density) / np.trapezoid(density) for x in (square, square**2)
        )
        error = allowed_error(fourth - mean**2, square.max(), 5_000)
        assert abs(row["moved"]["value"] ** 2 - mean) <= error
        assert error < 0.3 * mean  # otherwise, this would test nothing


@pytest.mark.parametrize("head", ["single", "two"])
def test_shares_of_samples_agree_with_an_integral_over_lengths(numbers, head):
    lengths = numbers["lengths"]
    assert lengths["near"] == 0.05
    middle = distances(lengths, head)
    near_middle = normal_integral(lambda L: middle(L) <= 0.05)
    # A single head's weights lie on the line between (1, 0) and (0, 1), at 1/2 + t and 1/2 - t,
    # and are within .05 of (1, 0) when t > 1/2 - .05/sqrt(2), which is middle(L) > .657.
    far = math.sqrt(0.5) - 0.05
    expected = {
        "near_middle": near_middle,
        "near_a": normal_integral(lambda L: (middle(L) >= far) & (L > 1)),
        "near_b": normal_integral(lambda L: (middle(L) >= far) & (L < 1)),
    }
    expected["elsewhere"] = 1 - sum(expected.values())
    samples = lengths["samples"] * lengths["kept_share"]
    for name, share in expected.items():
        error = allowed_error(share * (1 - share), 1, samples)
        assert abs(lengths["kept"][head][name] - share) <= error + 1e-5, name
        assert error < 0.03


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


def test_what_is_derived_about_lengths_is_right(numbers):
    theory, s, n = (numbers["lengths"][key] for key in ("theory", "s", "n"))
    grid = np.linspace(-7, 9, 800_001)
    density = np.exp(-((grid - 1) ** 2)) / math.sqrt(math.pi)
    step = grid[1] - grid[0]
    negative = np.trapezoid(density[grid <= 0]) * step
    assert theory["negative"] == pytest.approx(negative, rel=1e-4)
    samples = numbers["lengths"]["samples"]
    error = allowed_error(negative * (1 - negative), 1, samples)
    assert abs(1 - numbers["lengths"]["kept_share"] - negative) <= error
    at_0 = np.interp(0, grid, density)
    assert theory["density"] == pytest.approx([at_0, at_0 / (1 - negative)], rel=1e-4)
    short = theory["short"]
    assert (n - 1) / (math.exp(s * short) + n - 1) == pytest.approx(0.01, rel=1e-4)
    inside = (grid > 0) & (grid <= short)
    share = np.trapezoid(density[inside]) * step / (1 - negative)
    assert theory["short_share"] == pytest.approx(share, rel=1e-3)
    # A bound, and nearly reached; the first order, and nearly all there is.
    sigma = (1 + np.tanh(s * (grid - 1) / 2)) / 2
    between = np.trapezoid(density[(sigma >= 0.05) & (sigma <= 0.95)]) * step
    assert between <= theory["between"] <= 1.02 * between
    mean = normal_integral(lambda L: distances(numbers["lengths"], "two")(L) ** 2)
    assert theory["rms"] == pytest.approx(math.sqrt(mean), rel=0.05)


def test_plots_show_weights_against_lengths_and_count_every_sample_once(numbers, written):
    plotted = np.genfromtxt(written / "lengths.dat", names=True)
    L, s, n = plotted["length"], numbers["lengths"]["s"], numbers["lengths"]["n"]
    assert (L.min(), L.max()) == (-0.5, 2.5) and (np.diff(L) > 0).all() and len(L) > 100
    single = weights(np.stack([s * L, s + 0 * L] + [0 * L] * (n - 2)))
    np.testing.assert_allclose(plotted["singlea"], single[0], atol=1e-5)
    np.testing.assert_allclose(plotted["singleb"], single[1], atol=1e-5)
    first = weights(np.stack([s * L] + [0 * L] * (n - 1)))
    np.testing.assert_allclose(plotted["twoa"], first[0] / 2, atol=1e-5)
    np.testing.assert_allclose(plotted["twob"], first[1] / 2 + 0.5, atol=1e-5)
    histogram = np.genfromtxt(written / "histogram.dat", names=True)
    assert (histogram["weight"][0], histogram["weight"][-1]) == (0, 1)
    for name in ("single", "two"):  # the last edge has the last bin's value again
        assert histogram[name][:-1].sum() == pytest.approx(1, abs=1e-4)
        assert histogram[name][-1] == histogram[name][-2]


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


@pytest.mark.parametrize("change", ["length", "lengths", "stranger"])
def test_each_design_is_as_far_off_as_with_other_samples(compared, change):
    """Keys lie on their means here, since noise moves the steady head of `length` alone.

    Of the two heads' mean square, short lengths make nearly all: a few hundred samples of 18,000,
    so that its root is known to about 4 %.
    """
    rng, drawn = np.random.default_rng(1), N if change == "lengths" else 1
    lengths = np.ones((N + (change == "stranger"), 200_000))
    lengths[:drawn] = rng.normal(1, math.sqrt(0.5), size=(drawn, 200_000))
    lengths = lengths[:, (lengths[:2] > 0).all(axis=0)]
    a, b, *others = np.eye(N + 1)[:N, : len(lengths), None]  # the last key is the stranger
    designs = {"sum": [a + b], "steady": [-sum(others)], "two": [a, b]}
    for design, queries in designs.items():
        heads = [weights(S * query * lengths)[:2] for query in queries]
        squares = ((np.mean(heads, axis=0) - 0.5) ** 2).sum(axis=0)
        if (change, design) != ("length", "steady"):
            measured = compared[change][design]["rms"]["value"]
            assert measured == pytest.approx(math.sqrt(squares.mean()), rel=0.12), design
