"""Probes of building_blocks.py, which tell what a function answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.shapes import form_of

MAX_NUMBERS = 1_000_000  # of one part of an answer
MAX_WORDS = 1000


def call(context: Context, function: str, arguments: list[list[Any]], parts: int) -> dict[str, Any]:
    """Call `function(*arguments[i])` for each i.

    Args:
        arguments: arrays become tensors; {"seed": s} a torch.Generator, {"times": matrix} the
            function x -> x @ matrix, {"mixed_by": weights} the function x -> weights @ x.
        parts: of how many tensors, numbers or lists of words an answer consists.

    Returns:
        forms: for each call "float64[8]" or the like; answers: for each call its parts, arrays
        or lists of words, None for anything else; changed: whether it changed its arguments.
    """
    import submission.building_blocks as module

    forms, answers, changed = [], [], []
    for given in arguments:
        taken = [_argument(value) for value in given]
        got = getattr(module, function)(*taken)
        forms.append(form_of(got))
        answers.append(_parts(got, parts))
        changed.append(any(_is_changed(*pair) for pair in zip(given, taken, strict=True)))
    return {"forms": forms, "answers": answers, "changed": changed}


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return torch.tensor(value)  # a copy
    if isinstance(value, list):  # words, or pairs
        return [tuple(item) if isinstance(item, list) else item for item in value]
    if isinstance(value, dict):
        return _function(value) if "seed" not in value else _generator(value["seed"])
    return value


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _function(value: dict[str, np.ndarray]) -> Callable[[Any], Any]:
    ((kind, array),) = value.items()
    matrix = torch.tensor(array)
    return {"times": lambda x: x @ matrix, "mixed_by": lambda x: matrix @ x}[kind]


def _is_changed(value: Any, taken: Any) -> bool:
    if isinstance(value, np.ndarray):
        return not np.array_equal(value, taken.detach().numpy())
    return isinstance(value, list) and _argument(value) != taken


def _parts(answer: Any, count: int) -> list[Any]:
    if count == 1:
        return [_plain(answer)]
    if not isinstance(answer, tuple | list) or len(answer) != count:
        return [None] * count
    return [_plain(part) for part in answer]


def _plain(part: Any) -> Any:
    if isinstance(part, list | tuple) and len(part) <= MAX_WORDS:
        if all(isinstance(word, str) for word in part):
            return [str(word) for word in part]
    if isinstance(part, torch.Tensor):
        part = part.detach().cpu().numpy()
    if not isinstance(part, np.ndarray | np.number | list | tuple | int | float):
        return None
    try:
        array = np.asarray(part)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.dtype.kind not in "bfiu" or array.size > MAX_NUMBERS:
        return None
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array if array.dtype.kind == "b" else array.astype(np.int64)
