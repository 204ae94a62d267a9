"""Answers of functions: descriptions for messages, and their parts as plain data."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

MAX_NUMBERS = 100_000  # of one part of an answer; the largest expected part has 40,000


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


def parts_of(answer: Any, count: int, convert: Callable[[Any], Any]) -> list[Any]:
    """Return so many parts of an answer, each converted; None for each if there are not so many."""
    if count == 1:
        return [convert(answer)]
    several = isinstance(answer, tuple | list)
    several = several or (isinstance(answer, np.ndarray) and answer.ndim > 0)
    if not several or len(answer) != count:
        return [None] * count
    return [convert(part) for part in answer]


def numbers(part: Any) -> np.ndarray | None:
    """Return real numbers as a float64, int64 or bool array; None for anything else."""
    if not isinstance(part, np.ndarray | np.number | list | tuple | int | float):
        return None
    try:
        array = np.asarray(part)
    except (TypeError, ValueError, OverflowError):
        return None  # lists of different lengths, or of something else
    if array.dtype.kind not in "bfiu" or array.size > MAX_NUMBERS:
        return None
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return array if array.dtype.kind == "b" else array.astype(np.int64)
