"""Descriptions of answers, for messages."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def form_of(answer: Any) -> str:
    """Describe a value by its dtype and shape, "float64[2, 5, 8]".

    A pair and the like is described by its first four parts, "tuple of int64[3], int"; a list of
    words by their number, "5 words"; anything else by its type.
    """
    if answer is None:
        return "None (is a `return` missing?)"
    if isinstance(answer, type):
        return f"the class {answer.__name__} itself"
    if _is_array(answer):
        return _form_of_array(answer)
    if isinstance(answer, list) and answer and all(isinstance(word, str) for word in answer):
        return f"{len(answer)} words"
    if isinstance(answer, tuple | list) and answer:
        parts = [_form_of_array(p) if _is_array(p) else _kind(p) for p in answer[:4]]
        return f"{type(answer).__name__} of {', '.join(parts)}" + ", ..." * (len(answer) > 4)
    return type(answer).__name__


def _kind(part: Any) -> str:
    words = isinstance(part, list) and part and all(isinstance(word, str) for word in part)
    return f"{len(part)} words" if words else type(part).__name__


def _is_array(answer: Any) -> bool:
    torch = sys.modules.get("torch")  # questions that don't use it don't import it
    kinds = (np.ndarray, torch.Tensor) if torch else np.ndarray
    return isinstance(answer, kinds)


def _form_of_array(array: Any) -> str:
    return f"{str(array.dtype).removeprefix('torch.')}[{', '.join(str(n) for n in array.shape)}]"
