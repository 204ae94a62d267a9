"""Rotations: the angles, the two ways to pair a head's coordinates, and likely mistakes.

Pair k is either the neighbours 2k and 2k + 1 (as in the paper) or k and k + hs/2 ("rotate half").
The two differ only in the order of a head's coordinates, so a model that was trained with one
pairing becomes one with the other by reordering the rows of its query and key layers.

Mistakes are tried on what came back: one is named only if it gives the same numbers.
"""

import itertools
from collections.abc import Callable

import numpy as np

# Rounding moves results by 1e-14 in float64, and by 1e-5 if the angles of a dozen positions are
# computed in float32; a mistake moves them by 0.01 to 1.
CLOSE = 1e-4
# Mistakes in theta_k, where dim is 4: 10000^(-2k/4) is right for k = 0, 1.
K = np.arange(2)
THETAS = {
    "": 100.0**-K,
    "theta_k grows with k: is the sign of the exponent wrong?": 100.0**K,
    "pairs are counted from 1, but k counts from 0": 100.0 ** -(K + 1),
    "is the 2 of the exponent -2k/dim missing?": 10.0**-K,
    "does the exponent have the 2 of -2k/dim twice?": 1e4**-K,
    "all pairs have the same theta": 100.0 ** -(0 * K),
}
STARTS = {"": 0, "positions are counted from 1, but the first is 0": 1}
ENTRIES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "": lambda cos, sin: (cos, sin),
    "the last axis holds the sine first": lambda cos, sin: (sin, cos),
    "the sine is negated": lambda cos, sin: (cos, -sin),
}
HEADS = "axis 1, the heads, is taken for the positions, which are axis 2"
LAYERS = ("query.weight", "query.bias", "key.weight", "key.bias")


def cache(theta: np.ndarray, positions: int) -> np.ndarray:
    """Make a cache for apply_rotary_emb with any angles t * theta_k.

    Its shape is (positions, hs/2, 2), its dtype float64.
    """
    angles = np.arange(positions)[:, None] * theta
    return np.stack((np.cos(angles), np.sin(angles)), axis=-1)


def neighbours_of_halves(x: np.ndarray) -> np.ndarray:
    """Move coordinates k and k + hs/2 of the last axis to 2k and 2k + 1."""
    halves = x.reshape(*x.shape[:-1], 2, x.shape[-1] // 2)
    return halves.swapaxes(-2, -1).reshape(x.shape)


def halves_of_neighbours(x: np.ndarray) -> np.ndarray:
    """Move coordinates 2k and 2k + 1 of the last axis to k and k + hs/2."""
    pairs = x.reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
    return pairs.swapaxes(-2, -1).reshape(x.shape)


def halves_as_neighbours(weights: dict[str, np.ndarray], n_head: int) -> dict[str, np.ndarray]:
    """Return the parameters of a rope model in the order of coordinates that pairs neighbours.

    With them, a model that pairs neighbours computes the same as a model that pairs halves does
    with the given ones.

    Args:
        weights: a model's parameters by name.
    """
    changed = dict(weights)
    for name, array in weights.items():
        if name.endswith(LAYERS):
            heads = array.reshape(n_head, -1, *array.shape[1:])  # (n_head, hs, ...)
            moved = neighbours_of_halves(np.moveaxis(heads, 1, -1))
            changed[name] = np.moveaxis(moved, -1, 1).reshape(array.shape)
    return changed


def cause_of_angles(out: np.ndarray) -> str:
    """Return why precompute_rotary_emb(4, 3) is `out`, shape (3, 2, 2): one mistake or several."""
    choices = itertools.product(THETAS, STARTS, ENTRIES)
    for chosen in sorted(choices, key=lambda names: sum(map(bool, names))):
        theta, start, entries = chosen
        angles = np.outer(np.arange(3) + STARTS[start], THETAS[theta])
        tried = np.stack(ENTRIES[entries](np.cos(angles), np.sin(angles)), axis=-1)
        if _same(out, tried):
            return "; ".join(filter(None, chosen))
    return ""


def cause_of_turned(x: np.ndarray, out: np.ndarray, theta: np.ndarray) -> str:
    """Return why apply_rotary_emb(x, ...) is `out`, for angles t * theta_k.

    Args:
        x, out: shape (B, nh, T, hs).
        theta: shape (hs/2,).
    """
    heads, t = np.arange(x.shape[1])[:, None, None], np.arange(x.shape[2])[:, None]
    mistakes = {
        HEADS: heads * theta,
        "the rotation goes the other way: which of the two sines is negated?": -t * theta,
        "position 0 is rotated, too: the first row of the cache belongs to it": (t + 1) * theta,
        "sine and cosine are exchanged: the cache holds the cosine first": np.pi / 2 - t * theta,
    }
    for cause, angles in mistakes.items():
        if any(_same(out, _rotated(x, angles, halves)) for halves in (False, True)):
            return cause
    if _same(out, x):
        return "x is returned unchanged"
    if _same(np.sort(out[:, :, 0]), np.sort(x[:, :, 0])) and not _same(out[:, :, 0], x[:, :, 0]):
        return "coordinates are returned in a different order"
    return ""


def _rotated(x: np.ndarray, angles: np.ndarray, halves: bool) -> np.ndarray:
    """Rotate pairs of neighbours, or of coordinates from both halves, by angles (..., hs/2)."""
    half = x.shape[-1] // 2
    first, second = (
        (np.s_[..., :half], np.s_[..., half:]) if halves else (np.s_[..., 0::2], np.s_[..., 1::2])
    )
    out = np.empty_like(x)
    out[first] = x[first] * np.cos(angles) - x[second] * np.sin(angles)
    out[second] = x[first] * np.sin(angles) + x[second] * np.cos(angles)
    return out


def _same(out: np.ndarray, tried: np.ndarray) -> bool:
    return bool((np.abs(out - tried) <= CLOSE).all())  # False for NaN
