"""Probes of SynthesizerAttention in attention.py."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from grading.worker import Context
from questions.shared.probe import DTYPES, array_of, default_dtype, described, first_of

from .weights import is_given_shape

LAYERS = ("w1.weight", "w1.bias", "w2", "b2", "value.weight", "value.bias")
PARAMETERS = (*LAYERS, "proj.weight", "proj.bias")


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
        inputs: arrays of shape (B, T, C), float64, which are cut to as many positions as w2 has
            columns: models of earlier years are never called with more.
        dtype: the dtype of the computation.
        training: whether dropouts are active.

    Returns:
        w2: the shape of the submission's w2, [] if there is none. If no given `__init__` makes it,
        nothing is run.
        forms: "float64[2, 5, 8]" for each input; outputs: float64 copies (None if not a tensor).
    """
    attention = _attention(config, dtype)
    w2 = _shape_of_w2(attention)
    outs = []
    if is_given_shape(w2, config):
        _load(attention, weights).train(training)
        with torch.no_grad(), default_dtype(dtype):
            for array in inputs:
                given = torch.tensor(array[:, : w2[1]], dtype=DTYPES[dtype])
                outs.append(_called(attention, given, w2[1]))
    return {"w2": w2} | described(outs)


def gradients(
    context: Context,
    config: dict[str, Any],
    weights: dict[str, np.ndarray],
    x: np.ndarray,
    upstream: np.ndarray,
) -> dict[str, Any]:
    """Compute gradients of sum(attention(x) * upstream) w.r.t. x and each parameter, in float64.

    Returns:
        w2: as above.
        names: "x" and the parameters that got a gradient; arrays: float64, in the same order. An
        output without the input's shape stands for the gradient of x, which then has it, too.
    """
    attention = _attention(config, "float64")
    w2 = _shape_of_w2(attention)
    if not is_given_shape(w2, config):
        return {"w2": w2, "names": [], "arrays": []}
    _load(attention, weights).eval()
    given = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    with default_dtype("float64"):
        out = _called(attention, given, w2[1])
        if not isinstance(out, torch.Tensor) or out.shape != given.shape:
            return {"w2": w2, "names": ["x"], "arrays": [array_of(out)]}
        if out.requires_grad:
            (out * torch.tensor(upstream)).sum().backward()
    found = {"x": given.grad}
    found |= {name: p.grad for name, p in attention.named_parameters()}
    kept = {name: array_of(grad) for name, grad in found.items() if grad is not None}
    return {"w2": w2, "names": list(kept), "arrays": list(kept.values())}


def _called(attention: Any, x: torch.Tensor, columns: int) -> Any:
    """Return attention's output for x, (B, T, C).

    If shapes don't fit each other for this T, but would for as many positions as there are columns,
    the error says so.
    """
    try:
        return first_of(attention(x))
    except RuntimeError as error:
        T = x.shape[1]
        if T < columns and _runs(attention, F.pad(x, (0, 0, 0, columns - T))):
            hint = f"with T = {columns} it works, so cut w2, b2 and the mask to T = {T}"
            error.args = (f"{error} ({hint})",)
        raise


def _runs(attention: Any, x: torch.Tensor) -> bool:
    try:
        attention(x)
    except Exception:
        return False
    return True


def _attention(config: dict[str, Any], dtype: str) -> Any:
    from submission.attention import SynthesizerAttention
    from submission.model import GPTConfig

    return SynthesizerAttention(GPTConfig(**config)).to(DTYPES[dtype])


def _shape_of_w2(attention: Any) -> list[int]:
    w2 = dict(attention.named_parameters()).get("w2")
    return [] if w2 is None else list(w2.shape)


def _load(attention: Any, weights: dict[str, np.ndarray]) -> Any:
    own = dict(attention.named_parameters())
    with torch.no_grad():
        for name, array in weights.items():
            cut = array[tuple(slice(n) for n in own[name].shape)]
            place = tuple(slice(n) for n in cut.shape)  # w2 of earlier years is narrower than ours
            own[name][place].copy_(torch.tensor(cut))
    return attention
