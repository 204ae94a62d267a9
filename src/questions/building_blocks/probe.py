"""Probes that call the functions of the building blocks' modules."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.probe import form_of_tensor
from questions.shared.shapes import numbers, parts_of

MAX_WORDS = 1000


def call(
    context: Context, module: str, function: str, arguments: list[list[Any]], parts: int
) -> dict[str, Any]:
    """Call `function(*arguments[i])` of a file of `submission` for each i.

    Args:
        arguments: arrays become tensors; {"seed": s} a torch.Generator, {"times": matrix} the
            function x -> x @ matrix, {"mixed_by": weights} the function x -> weights @ x,
            {"tanh_of": matrix} the function x -> tanh(x @ matrix), {"config": fields} a GPTConfig.
        parts: the number of tensors, numbers or lists of words in an answer.

    Returns:
        forms: for each call, a description such as "float64[8]"; answers: for each call, its
        parts: arrays or lists of words, None for anything else; changed: for each call, whether
        it modified its arguments.
    """
    imported = importlib.import_module(f"submission.{module.removesuffix('.py')}")
    forms, answers, changed = [], [], []
    for given in arguments:
        taken = [_argument(value) for value in given]
        got = getattr(imported, function)(*taken)
        forms.append(form_of_tensor(got))
        answers.append(parts_of(got, parts, _plain))
        changed.append(any(_is_changed(*pair) for pair in zip(given, taken, strict=True)))
    return {"forms": forms, "answers": answers, "changed": changed}


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.tensor(value)  # a copy
    if isinstance(value, list):  # words, pairs or functions
        return [tuple(item) if isinstance(item, list) else _argument(item) for item in value]
    if isinstance(value, dict):
        ((kind, given),) = value.items()
        return MAKERS[kind](given)
    return value


MAKERS: dict[str, Callable[[Any], Any]] = {
    "seed": lambda seed: torch.Generator().manual_seed(seed),
    "times": lambda matrix: lambda x: x @ torch.tensor(matrix),
    "mixed_by": lambda weights: lambda x: torch.tensor(weights) @ x,
    "tanh_of": lambda matrix: lambda x: (x @ torch.tensor(matrix)).tanh(),
    "config": lambda fields: importlib.import_module("submission.model").GPTConfig(**fields),
}


def _is_changed(value: Any, taken: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not np.array_equal(value, taken.detach().numpy())
    if isinstance(value, dict) and "config" in value:
        return _argument(value) != taken
    if not isinstance(value, list):
        return False
    if any(isinstance(item, dict) for item in value):  # functions, which never compare equal
        return len(value) != len(taken)
    return _argument(value) != taken


def _plain(part: Any) -> Any:
    if isinstance(part, list | tuple) and len(part) <= MAX_WORDS:
        if all(isinstance(word, str) for word in part):
            return [str(word) for word in part]
    if isinstance(part, torch.Tensor):
        part = part.detach().cpu()
        part = (part.double() if part.is_floating_point() else part).numpy()
    return numbers(part)
