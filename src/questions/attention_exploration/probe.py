"""Probes that call the functions of attention_exploration.py, with numpy only."""

import importlib
from typing import Any

import numpy as np

from grading.worker import Context
from questions.shared.shapes import form_of, numbers, parts_of


def call(
    context: Context, module: str, function: str, arguments: list[list[Any]], parts: int
) -> dict[str, Any]:
    """Call `function(*arguments[i])` of a file of `submission` for each i.

    Args:
        parts: the number of arrays or numbers in an answer.

    Returns:
        forms: for each call, a description such as "float64[8]"; answers: for each call, its
        parts: arrays where they are real numbers, otherwise None.
    """
    imported = importlib.import_module(f"submission.{module.removesuffix('.py')}")
    got = [getattr(imported, function)(*_copies(given)) for given in arguments]
    return {
        "forms": [form_of(a) for a in got],
        "answers": [parts_of(a, parts, numbers) for a in got],
    }


def _copies(given: list[Any]) -> list[Any]:
    """Copy arguments, which may be changed; one array passed twice stays one, as in any call."""
    own: dict[bytes, np.ndarray] = {}
    return [
        own.setdefault(value.tobytes(), value.copy()) if isinstance(value, np.ndarray) else value
        for value in given
    ]
