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
    # Score j is 100, the others at most 50: their weights are below e^-50.
    return 100.0 * keys[j]
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
    # k_j . q = 100 (q . q) / (q . q) = 100 however long q is, and the score of a zero key is 0:
    # together, the zero keys get a weight of (n - 1) e^-100 at most.
    keys = np.zeros((n, len(q)))
    keys[j] = 100.0 * q / (q @ q)
    return keys
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
    # With q = s (k_a + k_b) scores a and b are the same, s (1 + k_a . k_b) >= .85 s, and those of
    # other keys at most .3 s: at s = 100 their weights are below e^-55.
    return 100.0 * (keys[a] + keys[b])
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
    # With q = s (mu_a + mu_b), k_i . q = mu_i . q + e_i . q, where mu_i . q is s for a and b and 0
    # for the others, and e_i . q has standard deviation sqrt(alpha) |q| = sqrt(2 alpha) s. Scores
    # a and b differ by 2 s sqrt(alpha) at one standard deviation, which moves their weights by a
    # quarter of that, as d/dx 1/(1 + e^-x) = 1/4 at 0. At s = 100 and alpha = 1e-12 that is 5e-5,
    # and the other weights are e^-100. At s = 5,000 it is 2.5e-3; were alpha 1e-6, the two scores
    # would differ by 10 there, and the weights swing from 0 to 1.
    scale = 100.0
    return scale * (means[a] + means[b])
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
    # With q = c mu_a + c' mu_b the scores of the means are c, c' and 0. Equal weights of a and b
    # take c = c' = scale. So k_a . q = length * scale, k_b . q = scale; the other n - 2 scores
    # are 0. Hence
    #     alpha_a = e^(length scale) / (e^(length scale) + e^scale + n - 2)
    #     alpha_b = e^scale          / (the same).
    # Their quotient is e^((length - 1) scale): 0, 1 or infinity in the limit, as length is below,
    # at or above 1; and alpha_b alone keeps the others' share below (n - 2) e^-scale.
    scores = np.array([length * scale, scale] + [0.0] * (n - 2))
    shares = np.exp(scores - max(scores))
    return shares[0] / sum(shares), shares[1] / sum(shares)
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
    # q has no part along mu_a or mu_b, so that k_a and k_b score 0 whatever their lengths are;
    # every other key scores -s. With s = 100 the others' weights are e^-100 each. Noise moves
    # scores a and b apart by sqrt(2 alpha (n - 2)) s, which is 4.5e-4 for 12 keys at alpha = 1e-12.
    others = np.delete(means, [a, b], axis=0)  # (n - 2, d)
    return -100.0 * others.sum(axis=0)
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
    # The first head copies value a: its scores are s for a, 0 for all others. The second copies
    # value b. With k_a = L mu_a, as in part ii, the first head's scores are s L and 0, so that
    # it is right for any L > 0 for which s L >> log n; the second's don't depend on L: scores of
    # a and b no longer compete in one softmax. The exception is L near 0, where the first
    # head's weight on a is e^(s L) / (e^(s L) + n - 1): rare, since the density of L ~ N(1, 1/2)
    # there is only .2.
    scale = 100.0
    return scale * means[a], scale * means[b]
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
    # x_2 . x_2 = beta^2, while x_2 . x_1 = x_2 . x_3 = 0: alpha_22 = 1 / (1 + 2 e^(-beta^2)).
    # So c_2 is x_2 = ua, less 2 e^-25 of it at beta = 5.
    return ua
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
    # With x_2 = ua + ud: x_2 . x_1 = ud . ud = beta^2, x_2 . x_3 = 0, but x_2 . x_2 = 2 beta^2.
    # With x_2 = ua + uc: x_2 . x_3 = uc . uc = beta^2, x_2 . x_1 = 0, and x_2 . x_2 = 2 beta^2.
    # Either way x_2 attends to itself most, by a factor e^(beta^2): c_2 tends to x_2, never to ub.
    # No attention weights could give ub either: it is no mixture of x_1, x_2, x_3 with
    # weights >= 0.
    return ua + added
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
    # An outer product u w^T / beta^2 sends w to u, and what is perpendicular to w to 0.
    # Values: V sends ub to ub, uc to -uc, and the others to 0: v_1 = ub, v_2 = 0, v_3 = ub - uc.
    # So c_2 must copy v_1, and c_1 must copy v_3. Keys may be the inputs: K = I. Then Q x_2 has to
    # be ud, which only x_1 contains, and Q x_1 has to be uc, which only x_3 contains: Q sends ua
    # to ud and ud to uc. The scores of x_2 are beta^2, 0, 0 and those of x_1 are 0, 0, beta^2:
    # each of the unwanted weights is below e^-25.
    beta_squared = ua @ ua
    K = np.eye(len(ua))
    Q = (np.outer(ud, ua) + np.outer(uc, ud)) / beta_squared
    V = (np.outer(ub, ub) - np.outer(uc, uc)) / beta_squared
    return K, Q, V
    ### END CODE HERE ###
