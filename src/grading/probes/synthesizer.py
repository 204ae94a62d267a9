"""Probes of attention.py and of the models made with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ..worker import Context
from .plain import form_of

DTYPES = {"float32": torch.float32, "float64": torch.float64}
LAYERS = ("w1.weight", "w1.bias", "w2", "b2", "value.weight", "value.bias")
PARAMETERS = (*LAYERS, "proj.weight", "proj.bias")


def describe(context: Context, config: dict[str, Any]) -> dict[str, Any]:
    """Names and shapes of SynthesizerAttention's parameters."""
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
        weights: by parameter name, float64. The columns of w2 and b2 are cut to those that the
            submission's own parameters have.
        inputs: arrays of shape (B, T, C), float64.
        dtype: what to compute in.
        training: whether dropouts are on.

    Returns:
        forms: "float64[2, 5, 8]" for each input; outputs: float64 copies (None if no tensor).
    """
    attention = _load(_attention(config, dtype), weights)
    attention.train(training)
    outs = []
    with torch.no_grad(), default_dtype(dtype):
        for array in inputs:
            outs.append(_first(attention(torch.tensor(array, dtype=DTYPES[dtype]))))
    return {"forms": [form_of(out) for out in outs], "outputs": [array_of(out) for out in outs]}


def gradients(
    context: Context,
    config: dict[str, Any],
    weights: dict[str, np.ndarray],
    x: np.ndarray,
    upstream: np.ndarray,
) -> dict[str, Any]:
    """Gradients of sum(attention(x) * upstream), in float64, by x and by each parameter.

    Returns:
        names: "x" and the parameters that got a gradient; arrays: float64, in the same order.
    """
    attention = _load(_attention(config, "float64"), weights).eval()
    given = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    with default_dtype("float64"):
        (_first(attention(given)) * torch.tensor(upstream)).sum().backward()
    found = {"x": given.grad}
    found |= {name: p.grad for name, p in attention.named_parameters()}
    kept = {name: array_of(grad) for name, grad in found.items() if grad is not None}
    return {"names": list(kept), "arrays": list(kept.values())}


def model_variant(context: Context, variant: str, config: dict[str, Any]) -> dict[str, Any]:
    """Build a model as `run.py` does, and say what it is made of.

    Returns:
        attentions: the class of each block's attention, e.g. "attention.SynthesizerAttention";
        names, shapes: of the model's parameters.
    """
    model = build(variant, config)
    kinds = [type(block.attn) for block in model.blocks]
    named = {name: list(p.shape) for name, p in model.named_parameters()}
    return {
        "attentions": [f"{k.__module__}.{k.__name__}".removeprefix("submission.") for k in kinds],
        "names": list(named),
        "shapes": list(named.values()),
    }


def model_logits(
    context: Context,
    variant: str,
    config: dict[str, Any],
    weights: dict[str, np.ndarray],
    ids: np.ndarray,
) -> dict[str, Any]:
    """Logits of a model with these weights, in float64, for ids of shape (B, T)."""
    model = build(variant, config).double().eval()
    with torch.no_grad(), default_dtype("float64"):
        for name, parameter in model.named_parameters():
            array = weights[name][tuple(slice(n) for n in parameter.shape)]
            parameter.copy_(torch.tensor(array))
        logits = _first(model(torch.tensor(ids)))
    return {"form": form_of(logits), "logits": array_of(logits)}


def build(variant: str, config: dict[str, Any]) -> Any:
    """The model that the submission's helper makes for a variant."""
    from submission import helper
    from submission.model import GPTConfig

    return getattr(helper, f"initialize_{variant}_model")(GPTConfig(**config))


def _attention(config: dict[str, Any], dtype: str) -> Any:
    from submission.attention import SynthesizerAttention
    from submission.model import GPTConfig

    return SynthesizerAttention(GPTConfig(**config)).to(DTYPES[dtype])


def _load(attention: Any, weights: dict[str, np.ndarray]) -> Any:
    own = dict(attention.named_parameters())
    with torch.no_grad():
        for name, array in weights.items():
            cut = array[tuple(slice(n) for n in own[name].shape)]
            place = tuple(slice(n) for n in cut.shape)  # earlier years' w2 is narrower than ours
            own[name][place].copy_(torch.tensor(cut))
    return attention


@contextmanager
def default_dtype(dtype: str) -> Iterator[None]:
    """What a student's torch.zeros(...) makes fits the rest."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[dtype])
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _first(out: Any) -> Any:
    """Some earlier versions return (output, something else)."""
    return out[0] if isinstance(out, tuple) else out


def array_of(out: Any) -> np.ndarray | None:
    """A float64 copy of a tensor of sensible size, of real numbers; None of anything else."""
    if not isinstance(out, torch.Tensor) or out.is_complex() or out.numel() > 1 << 22:
        return None
    return out.detach().to(torch.float64).cpu().numpy()
