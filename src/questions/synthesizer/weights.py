"""Parameters of SynthesizerAttention, and how many columns w2 and b2 may have."""

from typing import Any

import numpy as np


def draw_weights(rng: np.random.Generator, config: dict[str, Any]) -> dict[str, np.ndarray]:
    """Draw parameters of SynthesizerAttention, float64, large enough for each to matter.

    With the initial parameters, a missing ReLU would move the output by 1e-4 and a missing b2 not
    at all. Here hidden units are of order 1 and scores of order 1 to 2, so each term matters.
    """
    C, hs = config["n_embd"], config["n_embd"] // config["n_head"]
    matrix = lambda: rng.normal(0.0, C**-0.5, (C, C))  # noqa: E731
    return {
        "w1.weight": matrix(),
        "w1.bias": rng.normal(0.0, 0.5, C),
        "w2": rng.normal(0.0, 2.0 * hs**-0.5, (hs, config["block_size"])),
        "b2": rng.normal(0.0, 1.0, config["block_size"]),
        "value.weight": matrix(),
        "value.bias": rng.normal(0.0, 0.5, C),
        "proj.weight": matrix(),
        "proj.bias": rng.normal(0.0, 0.5, C),
    }


def is_given_shape(w2: list[int], config: dict[str, Any]) -> bool:
    """Return whether w2 has a shape that a given `__init__` makes.

    It has block_size columns, or block_size - 1 as in earlier years.
    """
    hs, block_size = config["n_embd"] // config["n_head"], config["block_size"]
    return w2 in ([hs, block_size], [hs, block_size - 1])


def cut(weights: dict[str, np.ndarray], columns: int) -> dict[str, np.ndarray]:
    """Return weights with this many columns of w2 and b2."""
    narrow = {name: np.ascontiguousarray(weights[name][..., :columns]) for name in ("w2", "b2")}
    return weights | narrow
