"""Probes of parameter files and of what models with such parameters answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..worker import Context

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
    from .synthesizer import build

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


def loaded(
    variant: str, config: dict[str, Any], weights: dict[str, np.ndarray], corpus: str
) -> tuple[Any, Any]:
    """The corpus's dataset, for its vocabulary, and a model with these parameters.

    Args:
        config: fields of GPTConfig but vocab_size, which the corpus gives.
    """
    from submission.dataset import CharCorruptionDataset

    from .synthesizer import build

    # Numbers below 1e-38 take a processor a hundred times as long as others.
    torch.set_flush_denormal(True)
    dataset = CharCorruptionDataset(corpus, config["block_size"])
    model = build(variant, config | {"vocab_size": dataset.vocab_size})
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.tensor(weights[name]))
    return dataset, model.eval()
