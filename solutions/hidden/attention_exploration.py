"""Attention exploration: random inputs stay within what the docstrings promise."""

from __future__ import annotations

import numpy as np

from questions.attention_exploration import attention_math
from questions.attention_exploration.attention_math import weights_are_right
from questions.attention_exploration.tests import (
    APART,
    EXACT,
    LIMIT,
    NEAR,
    AttentionCase,
    AttentionKeyQueryValue,
    HeadsCase,
)


def _expect_weights(case: AttentionCase, tried: list) -> None:
    """Expect the right weights.

    Inputs stay within what the docstrings promise: correct code can't fail.
    """
    for answer in tried:
        alpha, places = case.weights(answer)
        case.expect(
            weights_are_right(alpha, places),
            f"the attention weights that result from {answer.function} are wrong for some inputs",
            id=f"{answer.subject}.weights-for-some",
            got=np.round(alpha, 3).tolist(),
            expected=places,
        )


attention_copying_oblique = _expect_weights
attention_copying_any_query = _expect_weights
attention_averaging_oblique = _expect_weights


def _expect_average(case: HeadsCase, tried: list) -> None:
    """Expect the right weights in 400 samples.

    Each fails correct code with probability below 1e-50: see HeadsCase.samples_of.
    """
    for answer, keys in tried:
        alpha = case.sampled_weights(answer, keys)
        case.expect(
            weights_are_right(alpha, answer.arguments[1:]),
            f"the attention weights that result from {answer.function} are wrong for some keys",
            id=f"{answer.subject}.weights-for-some",
            got=np.round(alpha[:3], 3).tolist(),
            expected=answer.arguments[1:],
        )


attention_single_head_any_means = _expect_average
attention_single_head_steady_any = _expect_average


def attention_single_head_sampled_lengths(case: HeadsCase, tried: list) -> None:
    """Expect exact weights, which must also be those of sampled keys.

    The function does not see noise of 1e-7 in each direction. At one standard deviation this moves
    scores a and b apart by at most sqrt(3) * 1e-7 * 5,000 = 9e-4, and weights by a quarter of
    that: .005 is 23 standard deviations, for 30 samples.
    """
    for answer, means, keys in tried:
        scale, length, n = answer.arguments
        got = np.stack(case.checked(answer, ()))
        query = scale * np.eye(n)[:2].sum(axis=0)
        told = attention_math.lengthened(np.eye(n), 0, length)
        wanted = attention_math.attention_weights(query, told)[:2]
        sampled = attention_math.attention_weights(scale * means[:2].sum(axis=0), keys)[:2]
        exact = np.abs(got - wanted).max() <= EXACT
        case.expect(
            bool(exact and np.abs(got - sampled).max() <= 0.005),
            "the weights that single_head_weights returns are not those of attention for some "
            "scales and lengths",
            id="single-head-weights.values-for-some",
            got=got.tolist(),
            expected=wanted.tolist(),
            of_keys_that_were_drawn=sampled.tolist(),
            arguments=answer.arguments,
        )


def attention_two_heads_any_means(case: HeadsCase, tried: list) -> None:
    """Expect two queries, and the right weights, averaged over both heads, in 400 samples.

    Each fails correct code with probability below 1e-50: see HeadsCase.samples_of.
    """
    for answer, keys in tried:
        first, second, apart = case.both_heads(answer, keys)
        case.expect(
            apart >= APART,
            "two_head_queries returns the same query twice for some means",
            id="two-head-queries.same-query-for-some",
            got=apart,
            expected=f"at least {APART}",
        )
        average = (first + second) / 2
        case.expect(
            weights_are_right(average, answer.arguments[1:]),
            "the average of both heads' outputs is not the mean of the two values for some means",
            id="two-head-queries.average-for-some",
            got=np.round(average[:3], 3).tolist(),
            expected=answer.arguments[1:],
        )


def _expect_limits(case: AttentionKeyQueryValue, tried: list) -> None:
    """Expect answers close to attention's c_2.

    Random inputs are rotations of simple ones: correct code can't fail.
    """
    for answers_ in tried:
        distances = case.distances(answers_)
        case.expect(
            max(distances) <= LIMIT,
            f"{answers_[0].function} does not return the limit of attention's c_2 as beta grows",
            id=f"{answers_[0].subject}.limit-for-some",
            got=distances,
            expected=f"at most {LIMIT} of beta",
        )


attention_key_query_value_unprojected_any = _expect_limits
attention_key_query_value_added_any = _expect_limits


def attention_key_query_value_matrices_any(case: AttentionKeyQueryValue, tried: list) -> None:
    """Expect the right outputs for lengths from 5 to 100.

    The docstring promises such lengths: correct code can't fail.
    """
    for answer in tried:
        _, alpha, misses = case.projected(answer)
        for i, miss, target in zip((1, 2), misses, ("ub - uc", "ub"), strict=True):
            case.expect(
                miss <= NEAR,
                f"with the K, Q and V of key_query_value, c_{i} is not close to {target} for some "
                "orthogonal vectors",
                id=f"key-query-value.c-{i}-for-some",
                got=f"{miss} beta",
                weights=np.round(alpha, 3).tolist(),
            )
