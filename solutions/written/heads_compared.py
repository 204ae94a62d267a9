"""Compare single heads and two heads on keys that vary: numbers that the solutions quote.

Three designs, made by the reference's functions, are meant to average values a and b:

    sum       a single head, s (mu_a + mu_b)
    steady    a single head, -s times the sum of all other means
    two       two heads, s mu_a and s mu_b

The keys, which always have at least the covariance ALPHA I, change in one of three ways:

    length    k_a is L mu_a, where L is normal with mean 1 and variance 1/2
    lengths   every key is such a multiple of its mean, each with an L of its own
    stranger  as `length`, with one more key of norm 1, perpendicular to all means, which the
              designs don't know

Samples in which k_a points away from mu_a are ignored, as on the sheet; with `lengths`, so are
those in which k_b points away from mu_b.
"""

import math
from types import ModuleType

import numpy as np

from rounding import rounded, scientific

KEYS = 6  # whose means are known; a and b are the first two
ALPHA = 1e-12  # the covariance that vanishes, as great as docstrings allow
SAMPLES = 20_000
CHANGES = ("length", "lengths", "stranger")


def designs(exploration: ModuleType, means: np.ndarray) -> dict[str, np.ndarray]:
    """Return the queries of each design, one per row."""
    return {
        "sum": exploration.single_head_query(means, 0, 1)[None],
        "steady": exploration.steady_query(means, 0, 1)[None],
        "two": np.stack(exploration.two_head_queries(means, 0, 1)),
    }


def draw(means: np.ndarray, change: str) -> np.ndarray:
    """Draw samples of the keys with one of CHANGES; return those that count, (samples, n, d)."""
    rng = np.random.default_rng(CHANGES.index(change))
    directions = np.eye(means.shape[1])[: len(means) + (change == "stranger")]
    keys = directions + math.sqrt(ALPHA) * rng.normal(size=(SAMPLES, *directions.shape))
    many = KEYS if change == "lengths" else 1
    lengths = rng.normal(1.0, math.sqrt(0.5), size=(SAMPLES, many))
    keys[:, :many] += (lengths - 1)[:, :, None] * directions[:many]
    return keys[(lengths[:, :2] > 0).all(axis=1)]


def weights(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Compute the weights of a and b, averaged over heads, for each sample; shape (samples, 2)."""
    scores = keys @ queries.T  # (samples, n, heads)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    alpha = exponentials / exponentials.sum(axis=1, keepdims=True)
    return alpha[:, :2].mean(axis=-1)


def compared(exploration: ModuleType) -> dict:
    """Measure how far (alpha_a, alpha_b) is from (1/2, 1/2) for each change and design.

    Returns:
        for each change and design rms, the root mean square distance, and far, the share of samples
        that are further away than .1; the number of samples; for `lengths` the share in which a key
        other than k_a and k_b points away from its mean; for the steady design, noise: the distance
        that is derived for `length`.
    """
    means = np.eye(KEYS + 1)[:KEYS]
    found: dict = {"n": KEYS, "alpha": scientific(ALPHA)}
    for change in CHANGES:
        keys = draw(means, change)
        rows = {}
        for name, queries in designs(exploration, means).items():
            distance = np.linalg.norm(weights(queries, keys) - 0.5, axis=1)
            rms = scientific(float(np.sqrt(np.mean(distance**2))))
            rows[name] = {"rms": rms, "far": rounded(np.mean(distance > 0.1))}
        found[change] = {"samples": len(keys), **rows}
        if change == "lengths":
            along = np.einsum("snd,nd->sn", keys, means)
            found[change]["turned"] = rounded(np.mean((along[:, 2:] < 0).any(axis=1)))
    scale = float(np.abs(exploration.steady_query(means, 0, 1)).max())
    found["s"] = rounded(scale)
    found["noise"] = scientific(scale / 2 * math.sqrt(ALPHA * (KEYS - 2)))
    return found
