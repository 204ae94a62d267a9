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
    if isinstance(answer, tuple | list) and answer and not _is_words(answer):
        parts = ", ".join(map(_form_of_part, answer[:4]))
        return f"{type(answer).__name__} of {parts}" + ", ..." * (len(answer) > 4)
    return _form_of_part(answer)


def _form_of_part(part: Any) -> str:
    torch = sys.modules.get("torch")  # questions that don't use it don't import it
    if isinstance(part, (np.ndarray, torch.Tensor) if torch else np.ndarray):
        return f"{str(part.dtype).removeprefix('torch.')}[{', '.join(map(str, part.shape))}]"
    return f"{len(part)} words" if _is_words(part) else type(part).__name__


def _is_words(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and all(isinstance(word, str) for word in part)


def parts_of(answer: Any, count: int, convert: Callable[[Any], Any]) -> list[Any]:
    """Return an answer's `count` parts, each converted; None for each if it has more or fewer."""
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
