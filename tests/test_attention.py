"""The attention exploration: the reference's derivations hold numerically, and each question's
tests see what they should.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.judging import Judging
from grading import paths
from grading.cases import GradedTestCase
from grading.verdicts import Outcome, TestEnd
from questions.attention_exploration import attention_math, tests
from questions.attention_exploration import probe as probe
from tests.benches import Bench
from tests.variants import load_module


@pytest.fixture(scope="module")
def reference():
    path = paths.SOLUTIONS / "submission" / "attention_exploration.py"
    return load_module("reference_exploration", path)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def rotation(rng, d, n):
    """n perpendicular vectors of norm 1."""
    return np.linalg.qr(rng.normal(size=(d, n)))[0].T


# Attention ------------------------------------------------------------------------------------


def test_attention_is_the_formula_and_never_overflows(reference, rng):
    q, keys, values = rng.normal(size=4), rng.normal(size=(6, 4)), rng.normal(size=(6, 3))
    c, alpha = reference.attention(q, keys, values)
    plain = np.exp(keys @ q) / np.exp(keys @ q).sum()
    np.testing.assert_allclose(alpha, plain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(c, plain @ values, rtol=0, atol=1e-12)
    _, alpha = reference.attention(q, 1e6 * keys, values)  # exp(1e6) is infinite
    assert alpha.sum() == pytest.approx(1)


def test_the_graders_attention_is_the_given_one(reference, rng):
    q, keys = rng.normal(size=4), rng.normal(size=(5, 6, 4))
    for row, alpha in zip(keys, attention_math.attention_weights(q, keys), strict=True):
        np.testing.assert_allclose(alpha, reference.attention(q, row, row)[1], rtol=0, atol=1e-12)


def test_weights_of_overflowing_scores_are_wrong_without_a_warning(recwarn):
    alpha = attention_math.attention_weights(
        np.full(2, 1e300), np.array([[1e300, 0.0], [0.0, 1e300]])
    )
    assert not attention_math.weights_are_right(alpha, [0])
    assert [w for w in recwarn if w.category is RuntimeWarning] == []  # numpy's


# Copying --------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0.01, 1, 100])
def test_copying_keys_leave_the_others_e_to_the_minus_100(reference, rng, length):
    for d, n in [(2, 2), (2, 9), (7, 3)]:
        q = rng.normal(size=d)
        q *= length / np.linalg.norm(q)
        for j in range(n):
            scores = reference.copying_keys(q, n, j) @ q
            np.testing.assert_allclose(scores, 100 * np.eye(n)[j], rtol=0, atol=1e-9)


# One head -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [100, 5000])
def test_noise_of_the_keys_moves_weights_as_derived(rng, scale):
    """They move by s sqrt(alpha)/2 at one standard deviation: 5e-5 for 100, 2.5e-3 for 5,000."""
    means, alpha = rotation(rng, 7, 5), 1e-12
    keys = means + np.sqrt(alpha) * rng.normal(size=(20_000, 5, 7))
    weights = attention_math.attention_weights(scale * (means[0] + means[1]), keys)
    # A standard deviation of 20,000 normal numbers is off by 1/200 at one of its own; by 5 % at
    # ten: probability < 1e-20.
    assert weights[:, 0].std() == pytest.approx(scale * np.sqrt(alpha) / 2, rel=0.05)
    assert weights[:, 2:].max() < 1e-40


@pytest.mark.parametrize("n", [2, 3, 12])
def test_single_head_weights_are_those_of_attention(reference, rng, n):
    means = rotation(rng, 12, n)
    for scale, length in itertools.product([0.1, 1, 30, 5000], [-0.7, 0, 0.99, 1, 1.5, 3]):
        keys = attention_math.lengthened(means, 0, length)
        _, alpha = reference.attention(scale * (means[0] + means[1]), keys, keys)
        got = reference.single_head_weights(scale, length, n)
        np.testing.assert_allclose(got, alpha[:2], rtol=0, atol=1e-9)


def test_the_weights_that_the_grader_expects_are_attentions(reference):
    """The grader has them as numbers, since a formula would give away the query."""
    for (scale, length, n), expected in tests.WEIGHTS:
        means = np.eye(n)
        keys = attention_math.lengthened(means, 0, length)
        _, alpha = reference.attention(scale * (means[0] + means[1]), keys, keys)
        np.testing.assert_allclose(expected, alpha, rtol=0, atol=tests.EXACT / 10)


@pytest.mark.parametrize("cosine", [-0.15, 0.15])
def test_nearly_perpendicular_keys_leave_the_sum_of_two_a_margin(cosine):
    """average_query's docstring promises enough: for the worst cosines, and any number of keys."""
    for others in (1, 5):
        products = np.full((others + 2, others + 2), cosine) + (1 - cosine) * np.eye(others + 2)
        for signs in itertools.product([-1, 1], repeat=2):
            products[2, :2] = products[:2, 2] = np.array(signs) * cosine
            scores = products[:, 0] + products[:, 1]
            assert scores[0] == pytest.approx(scores[1])
            assert scores[0] - scores[2:].max() >= 0.55 - 1e-12


# Two heads ------------------------------------------------------------------------------------


def test_seven_point_nine_percent_of_samples_point_away(rng):
    assert math.erfc(1) / 2 == pytest.approx(0.079, abs=5e-4)
    keys = attention_math.draw_keys(rng, np.eye(3), 20_000, stretched=0)
    # A share of 20,000: .01 is 5.2 standard deviations, probability 2e-7.
    assert np.mean(keys[:, 0, 0] < 0) == pytest.approx(0.0786, abs=0.01)
    assert np.ptp(keys[:, 0, 1:]) + np.ptp(keys[:, 1:], axis=0).max() < 1e-4


@pytest.mark.parametrize("length", [0.1, 0.5, 1, 1.5, 3])
def test_two_heads_stay_in_the_middle_where_one_swings(reference, rng, length):
    means = rotation(rng, 9, 6)
    keys = attention_math.lengthened(means, 4, length)
    heads = [
        attention_math.attention_weights(q, keys) for q in reference.two_head_queries(means, 4, 1)
    ]
    single = attention_math.attention_weights(reference.single_head_query(means, 4, 1), keys)
    np.testing.assert_allclose((sum(heads) / 2)[[4, 1]], 0.5, rtol=0, atol=1e-3)
    assert (np.abs(single[4] - 0.5) > 0.49) == (length != 1)


# Self-attention -------------------------------------------------------------------------------


@pytest.mark.parametrize("added", [None, 2, 3])
@pytest.mark.parametrize("d", [4, 9])
def test_outputs_tend_to_what_the_reference_says_as_beta_grows(reference, rng, d, added):
    directions, identity = rotation(rng, d, 4), np.eye(d)
    distances = []
    for beta in (1, 2, 3, 4):
        u = beta * directions
        more = [] if added is None else [u[added]]
        answer = reference.added_output(*u, *more) if more else reference.unprojected_output(*u)
        c, _ = attention_math.self_attention(
            attention_math.inputs(list(u), *more), identity, identity, identity
        )
        distances.append(np.linalg.norm(c[1] - answer) / beta)
        # The others' weights are e^(-beta^2) of x_2's each, or less; inputs are below 3 beta apart.
        assert distances[-1] < 6 * np.exp(-(beta**2))
        # Never ub: of all mixtures, ub + (uc + ud)/2 is the closest.
        assert np.linalg.norm(c[1] - u[1]) > 0.7 * beta
    assert distances == sorted(distances, reverse=True)


@pytest.mark.parametrize("beta", [5, 8, 100])
def test_key_query_value_gives_the_outputs_asked_for(reference, rng, beta):
    for d in (4, 5, 12):
        u = list(beta * rotation(rng, d, 4))
        c, alpha = attention_math.self_attention(
            attention_math.inputs(u), *reference.key_query_value(*u)
        )
        np.testing.assert_allclose(c[1], u[1], rtol=0, atol=1e-9 * beta)
        np.testing.assert_allclose(c[0], u[1] - u[2], rtol=0, atol=1e-9 * beta)
        assert alpha[0, 2] > 1 - 1e-10 and alpha[1, 0] > 1 - 1e-10


# The grader's tests ---------------------------------------------------------------------------


HOSTILE = {
    "nothing": lambda args: [],
    "none": lambda args: [None] * args["parts"],
    "words": lambda args: ["here"] * args["parts"],
    "too many": lambda args: [np.zeros(4)] * (args["parts"] + 1),
    "scalars": lambda args: [np.float64(1)] * args["parts"],
    "integers": lambda args: [np.zeros(4, dtype=np.int64)] * args["parts"],
    "three axes": lambda args: [np.zeros((4, 4, 4))] * args["parts"],
    "nan": lambda args: [np.full(4, np.nan)] * args["parts"],
    "nan matrices": lambda args: [np.full((4, 4), np.nan)] * args["parts"],
    "huge": lambda args: [np.full(4, 1e308)] * args["parts"],
    "huge matrices": lambda args: [np.full((4, 4), 1e308)] * args["parts"],
}


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.sampled(4)
def test_no_answer_of_a_worker_passes_or_breaks_the_judge(hostile, tmp_path, recwarn, monkeypatch):
    def observe(case, probe, role, args, seed):
        count = len(args["arguments"])
        return {"forms": ["?"] * count, "answers": [HOSTILE[hostile](args)] * count}

    monkeypatch.setattr(GradedTestCase, "observe", observe)
    bench = Bench(tmp_path)
    run = SimpleNamespace(seed=3, staged=None, judging=Judging(None, bench.judges))
    for test in bench.tests:
        if not test.spec.topic.startswith("attention_"):
            continue
        with pytest.raises(TestEnd) as end:
            test.method(test.case(run, test.spec))
        assert end.value.verdict.outcome in (Outcome.FAILED, Outcome.ERROR)
    assert [w for w in recwarn if w.category is RuntimeWarning] == []  # numpy's
