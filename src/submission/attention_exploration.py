"""Attention exploration: queries, keys and matrices that make attention do what is asked.

Only numpy is needed. Notation: n key vectors k_1..k_n and n value vectors, stacked as the rows of
arrays; a query q. Attention gives each value the weight
    alpha_i = exp(k_i . q) / sum_j exp(k_j . q)
and returns the weighted sum c = sum_i alpha_i v_i.

Each answer is checked with `attention`: any design that gives the required weights or outputs is
right. `python src/attention_exploration.py` plots what one head and two heads do.
"""

import numpy as np

if __name__ == "__main__":
    raise SystemExit(
        "This file only defines functions; its command is: python src/attention_exploration.py"
    )


def attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute attention for one query.

    Args:
        q: the query, shape (d,), float64.
        keys: one key per row, shape (n, d), float64.
        values: one value per row, shape (n, m), float64.

    Returns:
        c, the output, shape (m,), and alpha, the attention weights, shape (n,); both float64.
    """
    scores = keys @ q  # (n,)
    weights = np.exp(scores - scores.max())  # minus the maximum: exp can't overflow
    alpha = weights / weights.sum()
    return alpha @ values, alpha


def copying_query(keys: np.ndarray, j: int) -> np.ndarray:
    """Return a query with which attention gives (very nearly) value j alone, whatever the values.

    Args:
        keys: one key per row, shape (n, d), float64. Each has norm 1, and the cosine of any two is
            at most .5; n <= d.
        j: which value to copy, 0 to n - 1.

    Returns:
        the query, shape (d,), float64: alpha_j is within .01 of 1.
    """
    # [attention copying]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention copying] copying_query in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def copying_keys(q: np.ndarray, n: int, j: int) -> np.ndarray:
    """Return keys with which a given query copies value j (very nearly), whatever the values.

    Args:
        q: the query, shape (d,), float64, d >= 2. Its norm may be anything from .01 to 100.
        n: the number of keys, 2 or more; there may be more keys than dimensions.
        j: which value to copy, 0 to n - 1.

    Returns:
        the keys, one per row, shape (n, d), float64: alpha_j is within .01 of 1.
    """
    # [attention copying]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention copying] copying_keys in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def average_query(keys: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return a query with which attention gives (very nearly) the mean of values a and b.

    Hint: which scores k_i . q would give the required weights?

    Args:
        keys: one key per row, shape (n, d), float64. Each has norm 1; n <= d. They are
            perpendicular, or nearly so: the cosine of any two is from -.15 to .15.
        a, b: the two values to average, 0 to n - 1, different.

    Returns:
        the query, shape (d,), float64: alpha_a and alpha_b are within .01 of one half.
    """
    # [attention averaging]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention averaging] average_query"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def single_head_query(means: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return a query that averages values a and b when only the means of the keys are known.

    Key i is drawn from a normal distribution with mean mu_i and covariance alpha I, where alpha is
    at most 1e-12: keys differ from their means by about 1e-6 in each direction.

    Args:
        means: mu_i, one per row, shape (n, d), float64: perpendicular, each of norm 1; n <= d.
        a, b: the two values to average, 0 to n - 1, different.

    Returns:
        the query, shape (d,), float64: for nearly all sampled keys, alpha_a and alpha_b are within
        .01 of one half.
    """
    # [attention single head]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention single head] single_head_query"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def single_head_weights(scale: float, length: float, n: int) -> tuple[float, float]:
    """Return the weights of values a and b when k_a is longer or shorter than mu_a.

    The means mu_i are perpendicular, each of norm 1. k_a = length * mu_a; the other n - 1 keys
    equal their means. The query is the one described in part ii of the question: a linear
    combination of mu_a and mu_b alone, which gives values a and b equal weights when all keys
    equal their means. Its scale is mu_a . q.

    Think of k_a as drawn with covariance alpha I + (1/2) mu_a mu_a^T, where alpha vanishes: then
    `length` is normal with mean 1 and variance 1/2.

    Args:
        scale: mu_a . q, positive; it may be as large as 5,000, where exp alone overflows.
        length: the length of k_a in the direction of mu_a; it may be negative.
        n: the number of keys, 2 or more.

    Returns:
        alpha_a and alpha_b, exact (to rounding).
    """
    # [attention single head]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention single head] single_head_weights"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def steady_query(means: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return a query that averages values a and b whatever the length of k_a.

    Keys are drawn as for single_head_query, except that k_a has the covariance
    alpha I + (1/2) mu_a mu_a^T, so that it may be longer or shorter than mu_a, or even point the
    other way. All other keys keep the covariance alpha I, and there are no more keys than means.

    Args:
        means: mu_i, one per row, shape (n, d), float64: perpendicular, each of norm 1; n <= d.
        a, b: the two values to average, 0 to n - 1, different.

    Returns:
        the query, shape (d,), float64: for nearly all sampled keys, alpha_a and alpha_b are within
        .01 of one half.
    """
    # [attention single head]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention single head] steady_query"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def two_head_queries(means: np.ndarray, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two different queries whose outputs average to the mean of values a and b.

    The output is (c_1 + c_2)/2, where c_1 is attention's output for the first query and c_2 for
    the second. Key i is drawn from a normal distribution with mean mu_i and covariance alpha I,
    where alpha is at most 1e-12.

    Args:
        means: mu_i, one per row, shape (n, d), float64: perpendicular, each of norm 1; n <= d.
        a, b: the two values to average, 0 to n - 1, different.

    Returns:
        two queries, each of shape (d,), float64, whose difference has norm 1 or more. For nearly
        all sampled keys, the weights of a and b, averaged over both heads, are within .01 of one
        half.
    """
    # [attention two heads]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention two heads] two_head_queries"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def unprojected_output(
    ua: np.ndarray, ub: np.ndarray, uc: np.ndarray, ud: np.ndarray
) -> np.ndarray:
    """Return the limit of self-attention's output c_2 without key, query and value matrices.

    x_1 = ud + ub, x_2 = ua and x_3 = uc + ub are keys, queries and values at once:
    k_i = q_i = v_i = x_i.

    Args:
        ua, ub, uc, ud: perpendicular, each of the same norm beta (5 or more), shape (d,), float64.

    Returns:
        the vector that c_2 approximates as beta grows, shape (d,), float64.
    """
    # [attention key query value]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention key query value] unprojected_output"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def added_output(
    ua: np.ndarray, ub: np.ndarray, uc: np.ndarray, ud: np.ndarray, added: np.ndarray
) -> np.ndarray:
    """Return the limit of c_2 when `added` is added to x_2, else as in unprojected_output.

    Can it be ub?

    Args:
        ua, ub, uc, ud: perpendicular, each of the same norm beta (5 or more), shape (d,), float64.
        added: either ud or uc.

    Returns:
        the vector that c_2 approximates as beta grows, shape (d,), float64.
    """
    # [attention key query value]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention key query value] added_output"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def key_query_value(
    ua: np.ndarray, ub: np.ndarray, uc: np.ndarray, ud: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return matrices with which self-attention gives c_2 = ub and c_1 = ub - uc, very nearly.

    x_1 = ud + ub, x_2 = ua and x_3 = uc + ub; keys are k_i = K x_i, queries q_i = Q x_i and values
    v_i = V x_i. Output c_i is that of attention for the query q_i. c_3 may be anything.

    Args:
        ua, ub, uc, ud: perpendicular, each of the same norm beta (5 or more), shape (d,), float64.

    Returns:
        K, Q and V, each of shape (d, d), float64: c_2 differs from ub, and c_1 from ub - uc, by
        at most .01 beta.
    """
    # [attention key query value]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[attention key query value] key_query_value"
        " in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###
