"""Writes what inspection.py found as a page, and beside it the parameters with which it is alive.

The page is inspect.html.j2 with inspect.js in it, which computes the model from the parameters.
Nothing comes from a network: a page that is opened as a file can't fetch files, but it can run the
script that the parameters are.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import torch

from pretraining import given, parameter_files
from pretraining.batches import TextExamples
from pretraining.decoding import ANSWER_STEPS
from pretraining.given import GPT

from .ablate import ROLES
from .inspection import LIKELIEST, RIVALS, Inspected

HERE = Path(__file__).resolve().parent
LIVE = ("vanilla", "rope", "synthesizer")  # what inspect.js computes
UNRECORDED = "don't contain this question"
WARNING = "// The parameters that you trained, for the page beside this file. Don't post them."


def page(
    models: Sequence[tuple[Inspected, GPT]],
    dataset: TextExamples,
    recorded: Mapping[str, str],
    parameters: str,
) -> str:
    """Return the page.

    Args:
        models: one, or several to show side by side, which were asked the same question.
        dataset: has the meaning of the ids.
        recorded: the places in the tables of people, by question.
        parameters: the name of the file with the parameters, in the page's folder.
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    letters = [dataset.itos[i] for i in range(len(dataset.itos))]
    known = "".join(f"\\u{{{ord(each):x}}}" for each in letters if each != dataset.MASK_CHAR)
    template = environment.from_string((HERE / "inspect.html.j2").read_text(encoding="utf-8"))
    return template.render(
        page={
            "letters": letters,
            "likeliest": LIKELIEST,
            "mask": dataset.MASK_CHAR,
            "models": [_plain(inspected, model) for inspected, model in models],
            "places": sorted(set(recorded.values())),
            "recorded": {question: f"say {place}" for question, place in recorded.items()},
            "rivals": RIVALS,
            "steps": ANSWER_STEPS,
            "unrecorded": UNRECORDED,
        },
        longest=min(model.get_block_size() for _, model in models) - ANSWER_STEPS - 1,
        parameters=parameters,
        pattern=f"[{known}]+",
        roles=ROLES,
        script=(HERE / "inspect.js").read_text(encoding="utf-8"),
    )


def _plain(inspected: Inspected, model: GPT) -> dict[str, Any]:
    """Return an answer as JSON can say it."""
    layers = [
        {"note": layer.note, "weights": None if layer.weights is None else _rounded(layer.weights)}
        for layer in inspected.layers
    ]
    fields = {field.name: getattr(inspected, field.name) for field in dataclasses.fields(Inspected)}
    steps = [dataclasses.asdict(step) for step in inspected.steps]
    logits = _rounded(inspected.logits)
    return fields | {"layers": layers, "logits": logits, "steps": steps, "live": is_live(model)}


def _rounded(numbers: torch.Tensor) -> list:
    return numbers.double().round(decimals=4).tolist()


def is_live(model: GPT) -> bool:
    """Return whether inspect.js can compute a model."""
    return given.has_given_blocks(model) and model.variant in LIVE


def parameters(models: Sequence[GPT]) -> str:
    """Return a script with the parameters of models; null if one isn't live."""
    return f"{WARNING}\nwindow.parameters = {json.dumps([_tensors(each) for each in models])};\n"


def _tensors(model: GPT) -> dict[str, Any] | None:
    if not is_live(model):
        return None
    tensors = parameter_files.weights(model.state_dict())
    order = _neighbours(model)
    if order is not None:
        for name, tensor in tensors.items():
            if ".attn.query." in name or ".attn.key." in name:
                tensors[name] = tensor[order]
    return {
        "heads": model.config.n_head,
        "layers": model.config.n_layer,
        "rope": model.config.rope,
        "tensors": {
            parameter_files.short(name): _numbers(tensor.detach().cpu())
            for name, tensor in tensors.items()
        },
    }


def _numbers(tensor: torch.Tensor) -> str | list[float]:
    """Return a tensor in half precision and base64; a vector as a list, which is more precise.

    Rounding the few numbers of LayerNorm would change logits as much as rounding all others.
    """
    if tensor.dim() == 1:
        return tensor.tolist()
    return base64.b64encode(tensor.half().numpy().astype("<f2").tobytes()).decode("ascii")


def _neighbours(model: GPT) -> torch.Tensor | None:
    """Return an order of channels in which RoPE's pairs are neighbours; None if they are.

    Students may choose the pairs k and k + hs/2 instead. Dot products don't depend on the order.
    """
    if not model.config.rope:
        return None
    attn = model.blocks[0].attn
    nh, hs = attn.n_head, attn.key.in_features // attn.n_head
    x = torch.zeros(1, nh, 2, hs, device=next(model.parameters()).device)
    x[..., 0] = 1  # the first of the first pair, which position 1 turns
    turned = attn.with_positions(x)[0, 0, 1]  # (hs,)
    if int(turned[1:].abs().argmax()) == 0:
        return None
    return torch.arange(nh * hs).view(nh, 2, hs // 2).transpose(1, 2).flatten()
