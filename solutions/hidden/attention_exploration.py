"""Attention exploration: what is drawn is within what the docstrings promise."""

from __future__ import annotations

import numpy as np

from questions.attention_exploration import attention_math
from questions.attention_exploration.attention_math import weights_are_right
from questions.attention_exploration.calling import AsksAttention
from questions.attention_exploration.tests_heads import EXACT, AsksHeads
from questions.attention_exploration.tests_projections import LIMIT, NEAR, AsksProjections


def _expect_weights(case: AsksAttention, tried: list) -> None:
    """Expect right weights.

    What is drawn is within what the docstrings promise: a right code can't fail.
    """
    for answer in tried:
        alpha, places = case.weights(answer)
        case.expect(
            weights_are_right(alpha, places),
            f"what {answer.function} returns gives other attention weights for some inputs",
            got=np.round(alpha, 3).tolist(),
            expected=places,
        )


attention_copying_oblique = _expect_weights
attention_copying_any_query = _expect_weights
attention_averaging_oblique = _expect_weights


def attention_single_head_any_means(case: AsksHeads, tried: list) -> None:
    """Expect right weights in 400 samples.

    Each fails a right code with probability below 1e-50: see near_means.
    """
    for answer, keys in tried:
        alpha = case.sampled_weights(answer, keys)
        case.expect(
            weights_are_right(alpha, answer.arguments[1:]),
            "the query of single_head_query gives other attention weights for some keys near "
            "their means",
            got=np.round(alpha[:3], 3).tolist(),
            expected=answer.arguments[1:],
        )


def attention_single_head_sampled_lengths(case: AsksHeads, tried: list) -> None:
    """Expect exact weights, which are also those of keys that were drawn.

    What the function isn't told is noise of 1e-7 in each direction: it moves scores a and b apart
    by sqrt(3) * 1e-7 * 5,000 = 9e-4 at most at one standard deviation, and weights by a quarter
    of that: .005 is 23 standard deviations, for 30 samples.
    """
    for answer, sampled in tried:
        got = np.stack(case.checked(answer, ()))
        wanted = case.exact_weights(*answer.arguments)[:2]
        exact = np.abs(got - wanted).max() <= EXACT
        case.expect(
            bool(exact and np.abs(got - sampled[:2]).max() <= 0.005),
            "single_head_weights returns other weights than attention gives to keys of some scale "
            "and length",
            got=got.tolist(),
            expected=wanted.tolist(),
            of_keys_that_were_drawn=sampled[:2].tolist(),
            arguments=answer.arguments,
        )


def attention_two_heads_spread(case: AsksHeads, tried: list) -> None:
    """Expect two heads to swing at most a quarter as much as a single head does.

    That is: the mean squared distance of two heads' weights from (1/2, 1/2) is at most 1/16 of that
    of a single head with the query 100 (mu_a + mu_b), over the same samples.

    Let L be k_a's length, normal with mean 1 and variance 1/2, given L > 0. A squared distance is
    at most 1/2.
    - Single head: 2 (alpha_a - 1/2)^2 = (1/2) tanh^2(50 (L - 1)). 1 - tanh^2 has the integral
      .04, L a density below .62: the mean exceeds .487. Of 1,000 samples at least 800 are kept (of
      probability .921 each: 14 standard deviations), and their mean is below .45 with probability
      exp(-800 KL(.90 || .974)) < 1e-20 (Chernoff, for values in [0, 1/2]).
    - Two heads: with 12 keys and s >= 50, head 1 leaves 1 - alpha = 11 / (e^(s L) + 11) to others
      than a, and the distance squared is (1 - alpha)^2 (1 + 1/121) / 4. Where that matters, L is
      below .15, the density below .3, and the integral of (1 - alpha)^2 over s L is
      ln 12 - 11/12 < 1.57: the mean is below .3 * 1.57 * .2521 / 50 < .0024 (with fewer keys it is
      less). It exceeds .45/16 = .028 with probability exp(-800 KL(.056 || .0048)) < 1e-29.
    For 5 sets together: below 1e-18.
    """
    for answer, keys in tried:
        means, a, b = answer.arguments
        average = _average(case.both_heads(answer, means))
        case.expect(
            weights_are_right(average, [a, b]),
            "the average of both heads is not that of the two values when keys are their means",
            got=np.round(average, 3).tolist(),
            expected=[a, b],
        )
        average = _average(case.both_heads(answer, keys))
        single = attention_math.attention_weights(100.0 * means[[a, b]].sum(axis=0), keys)
        spread, reference = _from_middle(average[:, [a, b]]), _from_middle(single[:, [a, b]])
        case.expect(
            spread <= reference / 4,  # nan is not
            "the average of both heads swings nearly as much as a single head when one key is "
            "longer or shorter",
            got=spread,
            expected=f"at most a quarter of {reference}",
        )


def _average(heads: list[np.ndarray]) -> np.ndarray:
    return (heads[0] + heads[1]) / 2


def _from_middle(weights: np.ndarray) -> float:
    """Compute the root mean square distance of rows from (1/2, 1/2)."""
    return float(np.sqrt(np.mean(np.sum((weights - 0.5) ** 2, axis=1))))


def _expect_limits(case: AsksProjections, tried: list) -> None:
    """Expect answers close to attention's c_2.

    What is drawn is rotated only: a right code can't fail.
    """
    for answers_ in tried:
        distances = case.distances(answers_)
        case.expect(
            max(distances) <= LIMIT,
            f"{answers_[0].function} is not what attention's c_2 tends to as beta grows",
            got=distances,
            expected=f"at most {LIMIT} of beta",
        )


attention_key_query_value_unprojected_any = _expect_limits
attention_key_query_value_added_any = _expect_limits


def attention_key_query_value_matrices_any(case: AsksProjections, tried: list) -> None:
    """Expect right outputs for lengths from 5 to 100.

    The docstring promises them: a right code can't fail.
    """
    for answer in tried:
        _, alpha, misses = case.projected(answer)
        for miss, sentence in zip(
            misses, ("c_1 is not close to ub - uc", "c_2 is not close to ub"), strict=True
        ):
            case.expect(
                miss <= NEAR,
                f"with the K, Q and V of key_query_value, {sentence} for some orthogonal vectors",
                got=f"{miss} beta",
                weights=np.round(alpha, 3).tolist(),
            )
