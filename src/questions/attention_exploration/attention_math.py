"""Attention as defined in the exploration: weights, sampled keys, and mixtures in words.

Arrays that arrive here have the right shapes and are finite, but may be so large that products
overflow: then weights are nan, which passes no comparison.
"""

import numpy as np

# The vanishing covariance alpha I of keys. Docstrings promise 1e-12 at most; with a hundredth of
# that, queries in any direction, up to 5,000 long in each of 12 directions, stay right (see
# HeadsCase.samples_of).
ALPHA = 1e-14
TOLERANCE = 0.01  # of weights


def attention_weights(query: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Compute attention's weights for one query.

    Args:
        query: shape (d,).
        keys: shape (..., n, d), any number of sets of keys.

    Returns:
        shape (..., n).
    """
    with np.errstate(all="ignore"):
        scores = keys @ query  # (..., n)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)


def weights_are_right(alpha: np.ndarray, places: list[int]) -> bool:
    """Return whether `places` have equal weights and all others none, within TOLERANCE.

    With a margin of 0.5 between the scores (as in all tests), a scale of 50 leaves 12 keys a
    weight of 12 e^-25 < 1e-9; 0.01 rejects a scale below 14 (12 e^-7 = 0.011).

    Args:
        alpha: shape (..., n).
    """
    wanted = np.zeros(alpha.shape[-1])
    wanted[places] = 1 / len(places)
    return bool(np.abs(alpha - wanted).max() <= TOLERANCE)  # False for nan


def orthonormal_keys(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw n perpendicular keys of norm 1, shape (n, d), n <= d."""
    return np.linalg.qr(rng.normal(size=(d, n)))[0].T


def oblique_keys(rng: np.random.Generator, n: int, d: int, most: float = 0.5) -> np.ndarray:
    """Draw n keys of norm 1 with absolute cosines of at most `most`, shape (n, d), n <= d.

    They are perpendicular keys, bent towards a random mixture as far as the bound allows.
    """
    keys = orthonormal_keys(rng, n, d)
    bend = rng.normal(size=(n, n)) / np.sqrt(n)
    for amount in (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06):
        bent = keys + amount * bend @ keys
        bent /= np.linalg.norm(bent, axis=1, keepdims=True)
        cosines = bent @ bent.T - np.eye(n)
        if np.abs(cosines).max() <= most:
            return bent
    return keys


def draw_keys(
    rng: np.random.Generator, means: np.ndarray, count: int, stretched: int | None = None
) -> np.ndarray:
    """Draw samples of the keys, shape (count, n, d).

    Args:
        means: mu_i, shape (n, d).
        stretched: the key with covariance ALPHA I + (1/2) mu mu^T; that of others is ALPHA I.
    """
    keys = means + np.sqrt(ALPHA) * rng.normal(size=(count, *means.shape))
    if stretched is not None:
        keys[:, stretched] += np.sqrt(0.5) * rng.normal(size=(count, 1)) * means[stretched]
    return keys


def lengthened(means: np.ndarray, length: float) -> np.ndarray:
    """Return keys that equal their means, except that the first one is `length` times its mean."""
    keys = means.copy()
    keys[0] *= length
    return keys


def inputs(u: list[np.ndarray], added: np.ndarray | float = 0.0) -> np.ndarray:
    """Return x_1 = ud + ub, x_2 = ua (+ added), x_3 = uc + ub, as rows."""
    ua, ub, uc, ud = u
    return np.stack([ud + ub, ua + added, uc + ub])


def self_attention(
    x: np.ndarray, K: np.ndarray, Q: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute outputs c_i, one per row, and weights alpha_ij.

    Keys are K x_i, queries Q x_i, values V x_i.
    """
    with np.errstate(all="ignore"):
        keys, queries, values = x @ K.T, x @ Q.T, x @ V.T
        alpha = np.stack([attention_weights(query, keys) for query in queries])
        return alpha @ values, alpha


def in_terms_of(vector: np.ndarray, directions: dict[str, np.ndarray]) -> str:
    """Describe a vector, such as "1.00 ud + 0.50 ub", and the length of what remains."""
    matrix = np.stack(list(directions.values()), axis=1)  # (d, number of directions)
    shares = np.linalg.lstsq(matrix, vector, rcond=None)[0]
    named = [
        f"{share:.2f} {name}"
        for share, name in zip(shares, directions, strict=True)
        if abs(share) >= 0.005
    ]
    with np.errstate(all="ignore"):
        rest = np.linalg.norm(vector - matrix @ shares)
    scale = max(np.linalg.norm(direction) for direction in directions.values())
    if rest > 0.005 * scale:
        named.append(f"something else of norm {rest:.3g}")
    return " + ".join(named).replace("+ -", "- ") or "0"
