"""Probes of SynthesizerAttention in attention.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.models import DTYPES, array_of, default_dtype, first_of
from questions.shared.shapes import form_of

LAYERS = ("w1.weight", "w1.bias", "w2", "b2", "value.weight", "value.bias")
PARAMETERS = (*LAYERS, "proj.weight", "proj.bias")


def describe(context: Context, config: dict[str, Any]) -> dict[str, Any]:
    """Return names and shapes of SynthesizerAttention's parameters."""
    attention = _attention(config, "float32")
    named = {name: list(p.shape) for name, p in attention.named_parameters()}
    return {"names": list(named), "shapes": list(named.values())}


def forward(
    context: Context,
    config: dict[str, Any],
    weights: dict[str, np.ndarray],
    inputs: list[np.ndarray],
    dtype: str = "float64",
    training: bool = False,
) -> dict[str, Any]:
    """Load weights into SynthesizerAttention and run each of `inputs` through it.

    Args:
        config: fields of GPTConfig.
        weights: by parameter name, float64. The columns of w2 and b2 are cut to the number that
            the submission's own parameters have.
        inputs: arrays of shape (B, T, C), float64.
        dtype: the dtype of the computation.
        training: whether dropouts are active.

    Returns:
        forms: "float64[2, 5, 8]" for each input; outputs: float64 copies (None if not a tensor).
    """
    attention = _load(_attention(config, dtype), weights)
    attention.train(training)
    outs = []
    with torch.no_grad(), default_dtype(dtype):
        for array in inputs:
            outs.append(first_of(attention(torch.tensor(array, dtype=DTYPES[dtype]))))
    return {"forms": [form_of(out) for out in outs], "outputs": [array_of(out) for out in outs]}


def gradients(
    context: Context,
    config: dict[str, Any],
    weights: dict[str, np.ndarray],
    x: np.ndarray,
    upstream: np.ndarray,
) -> dict[str, Any]:
    """Compute gradients of sum(attention(x) * upstream) w.r.t. x and each parameter, in float64.

    Returns:
        names: "x" and the parameters that got a gradient; arrays: float64, in the same order.
    """
    attention = _load(_attention(config, "float64"), weights).eval()
    given = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    with default_dtype("float64"):
        (first_of(attention(given)) * torch.tensor(upstream)).sum().backward()
    found = {"x": given.grad}
    found |= {name: p.grad for name, p in attention.named_parameters()}
    kept = {name: array_of(grad) for name, grad in found.items() if grad is not None}
    return {"names": list(kept), "arrays": list(kept.values())}


def _attention(config: dict[str, Any], dtype: str) -> Any:
    from submission.attention import SynthesizerAttention
    from submission.model import GPTConfig

    return SynthesizerAttention(GPTConfig(**config)).to(DTYPES[dtype])


def _load(attention: Any, weights: dict[str, np.ndarray]) -> Any:
    own = dict(attention.named_parameters())
    with torch.no_grad():
        for name, array in weights.items():
            cut = array[tuple(slice(n) for n in own[name].shape)]
            place = tuple(slice(n) for n in cut.shape)  # w2 of earlier years is narrower than ours
            own[name][place].copy_(torch.tensor(cut))
    return attention
