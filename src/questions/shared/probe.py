"""Probes of models: what they are made of and compute, and what a file's parameters answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from grading.worker import Context

from .models import array_of, build, default_dtype, first_of, loaded
from .shapes import form_of

WRAPPERS = ("state_dict", "model_state_dict", "model", "params")
MOST_TENSORS = 1_000  # a model has a few dozen
MOST_NUMBERS = 12_000_000  # the largest recipe's model has 3.4 million
PREFIXES = ("module.", "_orig_mod.")
BUFFERS = (".mask", ".rope_cache")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_parameters(context: Context, name: str) -> dict[str, Any]:
    """Read a parameter file; nothing of the submission's code is imported for it.

    Wrapping dictionaries and the prefixes of DataParallel and torch.compile are taken off.
    Buffers (an attention's mask and angles) and anything that is no floating-point tensor are
    left out.

    Returns:
        problem: "" or why it can't be read; names and arrays (float32) of the parameters.
    """
    try:
        state = torch.load(context.files / name, map_location="cpu", weights_only=True)
        kept = _plain(_unwrap(state))
    except Exception as error:
        reason = f"torch.load(weights_only=True) says {type(error).__name__}"
        return {"problem": reason, "names": [], "arrays": []}
    if kept is None:
        reason = "it holds no model's named tensors, or far more numbers than one of a recipe's"
        return {"problem": reason, "names": [], "arrays": []}
    return {"problem": "", "names": list(kept), "arrays": list(kept.values())}


def _plain(state: dict[str, torch.Tensor] | None) -> dict[str, np.ndarray] | None:
    """Arrays of the parameters. Tensors that are sparse, or hold no values, have none: an error."""
    if state is None or not _is_sensible(state):
        return None
    kept = {}
    for key, tensor in state.items():
        short = _short(key)
        if tensor.dtype in DTYPES and not short.endswith(BUFFERS):
            kept[short] = tensor.detach().to(torch.float32).contiguous().numpy()
    return kept


def _is_sensible(state: dict[str, torch.Tensor]) -> bool:
    """Whether the numbers fit an answer: those of any recipe's model do, three times."""
    return len(state) <= MOST_TENSORS and sum(t.numel() for t in state.values()) <= MOST_NUMBERS


def _unwrap(state: Any) -> dict[str, torch.Tensor] | None:
    for _ in range(3):
        if not isinstance(state, dict) or not state:
            return None
        if all(isinstance(v, torch.Tensor) for v in state.values()):
            return {str(k): v for k, v in state.items()}
        inner = [state[key] for key in WRAPPERS if isinstance(state.get(key), dict)]
        state = inner[0] if inner else None
    return None


def _short(key: str) -> str:
    changed = True
    while changed:
        changed = False
        for prefix in PREFIXES:
            if key.startswith(prefix):
                key, changed = key.removeprefix(prefix), True
    return key


def shapes(context: Context, variant: str, config: dict[str, Any]) -> dict[str, Any]:
    """Names and shapes that the parameters of a variant have."""
    from questions.shared.models import build

    named = {n: list(p.shape) for n, p in build(variant, config).named_parameters()}
    return {"names": list(named), "shapes": list(named.values())}


def answers(
    context: Context,
    variant: str,
    config: dict[str, Any],
    weights: dict[str, np.ndarray],
    corpus: str,
    questions: list[str],
) -> dict[str, Any]:
    """What a model with these weights answers, character by character, the likeliest first.

    Args:
        config: fields of GPTConfig but vocab_size, which the corpus gives.
        corpus: the pretraining text without its final newline.
    """
    from submission.utils import predict_places

    dataset, model = loaded(variant, config, weights, corpus)
    return {"places": [p.place for p in predict_places(model, dataset, questions)]}


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
        logits = first_of(model(torch.tensor(ids)))
    return {"form": form_of(logits), "logits": array_of(logits)}
