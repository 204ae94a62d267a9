"""Attention exploration: queries that make attention copy one value, or average two.

Only numpy is needed. Notation: n key vectors k_1..k_n and n value vectors, stacked as the rows of
arrays; a query q. Attention gives each value the weight
    alpha_i = exp(k_i . q) / sum_j exp(k_j . q)
and returns the weighted sum c = sum_i alpha_i v_i.
"""

import numpy as np


def attention(q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Attention of one query.

    Args:
        q: the query, shape (d,), float64.
        keys: one key a row, shape (n, d), float64.
        values: one value a row, shape (n, m), float64.

    Returns:
        c, the output, shape (m,), and alpha, the attention weights, shape (n,); both float64.
    """
    scores = keys @ q  # (n,)
    weights = np.exp(scores - scores.max())  # less the maximum, so that exp can't overflow
    alpha = weights / weights.sum()
    return alpha @ values, alpha


def copying_query(keys: np.ndarray, j: int) -> np.ndarray:
    """A query with which attention returns (very nearly) value j alone, whatever the values.

    Args:
        keys: one key a row, shape (n, d), float64. Each has norm 1, and the cosine of any two is
            at most .5; n <= d.
        j: which value to copy, 0 to n - 1.

    Returns:
        the query, shape (d,), float64: alpha_j is within .01 of 1.
    """
    # [part copying]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[part copying] copying_query in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###


def average_query(keys: np.ndarray, a: int, b: int) -> np.ndarray:
    """A query with which attention returns (very nearly) the mean of values a and b.

    Hint: which scores k_i . q would give the weights wanted?

    Args:
        keys: one key a row, shape (n, d), float64. Each has norm 1; n <= d. They are
            perpendicular, or nearly so: the cosine of any two is at most .5, and k_a and k_b are
            closer to k_a + k_b (their dot products with it greater by .5 or more) than any other
            key is.
        a, b: the two values to average, 0 to n - 1, different.

    Returns:
        the query, shape (d,), float64: alpha_a and alpha_b are within .01 of one half.
    """
    # [part average]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[part average] average_query in submission/attention_exploration.py is yours to write"
    )
    ### END CODE HERE ###
