"""Attention exploration: basic tests' assertions on random inputs, and sampled lengths.

Random inputs stay within what the docstrings promise, and those of the last question are rotations
of simple ones: correct code can't fail. In samples of the keys, of which a test has 400, each fails
correct code with probability below 1e-50: see HeadsCase.samples_of.
"""

import numpy as np

from questions.attention_exploration import attention_math
from questions.attention_exploration.tests import (
    EXACT,
    AttentionCase,
    AttentionKeyQueryValue,
    HeadsCase,
)

attention_copying_oblique = AttentionCase.expect_weights
attention_copying_any_query = AttentionCase.expect_weights
attention_averaging_oblique = AttentionCase.expect_weights
attention_single_head_any_means = HeadsCase.expect_average
attention_single_head_steady_any = HeadsCase.expect_average
attention_two_heads_any_means = HeadsCase.expect_average_of_heads
attention_key_query_value_unprojected_any = AttentionKeyQueryValue.expect_limits
attention_key_query_value_added_any = AttentionKeyQueryValue.expect_limits
attention_key_query_value_matrices_any = AttentionKeyQueryValue.expect_projected


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
        right_keys = attention_math.lengthened(np.eye(n), length)
        wanted = attention_math.attention_weights(query, right_keys)[:2]
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
