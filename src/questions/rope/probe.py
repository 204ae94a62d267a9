"""Probes of RoPE's two functions in attention.py; shared/probe.py has those of whole models."""

from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.probe import DTYPES, default_dtype, described


def angles(context: Context, sizes: list[list[int]]) -> dict[str, Any]:
    """Call precompute_rotary_emb(dim, max_positions) for each of `sizes`.

    Returns:
        forms: "float32[10, 4, 2]" for each; outputs: float64 copies (None if not a tensor).
    """
    from submission.attention import precompute_rotary_emb

    return described([precompute_rotary_emb(*size) for size in sizes])


def turned(
    context: Context, inputs: list[np.ndarray], caches: list[np.ndarray], dtype: str = "float64"
) -> dict[str, Any]:
    """Call apply_rotary_emb for each of `inputs` with its cache.

    Args:
        inputs: arrays of shape (B, n_head, T, hs), float64.
        caches: arrays of shape (T or more, hs/2, 2), float64.
        dtype: the dtype to which both are converted.
    """
    from submission.attention import apply_rotary_emb

    with torch.no_grad(), default_dtype(dtype):
        pairs = zip(inputs, caches, strict=True)
        return described([apply_rotary_emb(_heads(x, dtype)[1], _c(c, dtype)) for x, c in pairs])


def gradient(
    context: Context, x: np.ndarray, cache: np.ndarray, upstream: np.ndarray
) -> dict[str, Any]:
    """Return the gradient of sum(apply_rotary_emb(x, cache) * upstream) w.r.t. x, in float64."""
    from submission.attention import apply_rotary_emb

    leaf, view = _heads(x, "float64")
    with default_dtype("float64"):
        out = apply_rotary_emb(view, _c(cache, "float64"))
        if not isinstance(out, torch.Tensor) or out.shape != view.shape:
            return described([out])  # in the gradient's place, which then has the wrong shape
        if out.requires_grad:
            (out * torch.tensor(upstream)).sum().backward()
    return described([None if leaf.grad is None else leaf.grad.transpose(1, 2)])


def _heads(x: np.ndarray, dtype: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a leaf, and its (B, n_head, T, hs) view, strided like CausalSelfAttention's heads."""
    leaf = torch.tensor(x.swapaxes(1, 2).copy(), dtype=DTYPES[dtype], requires_grad=True)
    return leaf, (leaf * 1.0).transpose(1, 2)


def _c(cache: np.ndarray, dtype: str) -> torch.Tensor:
    return torch.tensor(cache, dtype=DTYPES[dtype])
