"""Rotation angles, and conversion between the two ways to pair a head's coordinates.

Pair k is either the neighbours 2k and 2k + 1 (as in the paper) or k and k + hs/2 ("rotate half").
The two differ only in the order of a head's coordinates, so a model that was trained with one
pairing becomes one with the other by reordering the rows of its query and key layers.
"""

from __future__ import annotations

import numpy as np

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
