"""Probes of attention_exploration.py, numpy only: which query does it answer?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..worker import Context


def query(
    context: Context, function: str, keys: list[np.ndarray], places: list[list[int]]
) -> dict[str, Any]:
    """Call `function(keys[i], *places[i])` for each i.

    Returns:
        forms: for each call "float64[8]" or the like; queries: the answers that are vectors of
            real numbers, as float64, None for others.
    """
    import submission.attention_exploration as module

    answers = [
        getattr(module, function)(np.array(k), *where)
        for k, where in zip(keys, places, strict=True)
    ]
    return {"forms": [_form(a) for a in answers], "queries": [_vector(a) for a in answers]}


def _form(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return f"{answer.dtype}[{', '.join(str(n) for n in answer.shape)}]"
    return type(answer).__name__


def _vector(answer: Any) -> np.ndarray | None:
    if not isinstance(answer, np.ndarray | list | tuple):
        return None
    try:
        vector = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return vector if vector.ndim == 1 and len(vector) <= 10_000 else None
