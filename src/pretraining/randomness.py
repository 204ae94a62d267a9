"""The state of all random number generators, so that code can leave no trace of its draws."""

from __future__ import annotations

import random

import numpy as np
import torch


def random_states() -> dict:
    """Return the states of all random number generators that datasets and models may use."""
    state = np.random.get_state()
    assert isinstance(state, tuple)  # a dict only for generators other than numpy's default
    kind, keys, *rest = state
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        "random": random.getstate(),
        "numpy": (kind, torch.from_numpy(keys.astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": cuda,
    }


def restore_random_states(states: dict) -> None:
    """Restore what random_states() returned, as if nothing had been drawn since."""
    version, keys, gauss = states["random"]
    random.setstate((version, tuple(keys), gauss))
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    if states["cuda"]:
        torch.cuda.set_rng_state_all(states["cuda"])
