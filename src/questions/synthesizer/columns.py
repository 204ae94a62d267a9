"""How many columns the synthesizer's w2 and b2 have; tests and probes import this."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_given_shape(w2: list[int], config: dict[str, Any]) -> bool:
    """Return whether w2 has a shape that a given `__init__` makes.

    It has block_size columns, or block_size - 1 as in earlier years.
    """
    hs, block_size = config["n_embd"] // config["n_head"], config["block_size"]
    return w2 in ([hs, block_size], [hs, block_size - 1])


def can_run(w2: list[int], config: dict[str, Any]) -> bool:
    """Return whether a module with such a w2 can be given weights and inputs for `config`."""
    hs, least = config["n_embd"] // config["n_head"], config["block_size"] - 1
    return len(w2) == 2 and w2[0] == hs and w2[1] >= least


def cut(weights: dict[str, np.ndarray], columns: int) -> dict[str, np.ndarray]:
    """Return weights with this many columns of w2 and b2."""
    narrow = {name: np.ascontiguousarray(weights[name][..., :columns]) for name in ("w2", "b2")}
    return weights | narrow
