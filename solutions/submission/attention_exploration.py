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
        the query, shape (d,), float64: alpha_j is within .001 of 1.
    """
    # [part copying]
    ### START CODE HERE ###
    # Score j is 100, the others at most 50: their weights are below e^-50.
    return 100.0 * keys[j]
    ### END CODE HERE ###


def average_query(keys: np.ndarray, a: int, b: int) -> np.ndarray:
    """A query with which attention returns (very nearly) the mean of values a and b.

    Beware: the keys need not be perpendicular. Which scores k_i . q would give the weights wanted?
    The keys are linearly independent, so that there is a q with any n scores that you choose.

    Args:
        keys: one key a row, shape (n, d), float64. Each has norm 1, and the cosine of any two is
            at most .5; n <= d, and the keys are linearly independent.
        a, b: the two values to average, 0 to n - 1, different.

    Returns:
        the query, shape (d,), float64: alpha_a and alpha_b are within .001 of one half.
    """
    # [part average]
    ### START CODE HERE ###
    scores = np.zeros(len(keys))
    scores[[a, b]] = 100.0  # the others' weights are e^-100 of theirs
    # The shortest q with keys @ q = scores. With perpendicular keys it is 100 (k_a + k_b).
    return np.linalg.pinv(keys) @ scores
    ### END CODE HERE ###
