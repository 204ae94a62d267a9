"""Check what the functions that students write return, before given code stumbles over it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .checkpoints import random_states, restore_random_states
from .errors import InputError

if TYPE_CHECKING:
    from submission.model import GPT
    from submission.trainer import Trainer

    from .batches import Examples

PART = re.compile(r"^\s*# \[([a-z ]+)\]$", re.MULTILINE)


def model(function: Callable, got: object) -> GPT:
    """Return what `function` returned if it is a model.

    Raises:
        InputError: it is something else.
    """
    if isinstance(got, torch.nn.Module):
        return got  # type: ignore[return-value]  # a GPT of a student's own will do
    raise _fault(function, in_words(got), "a GPT")


def trainer(function: Callable, got: Any) -> Trainer:
    """Return the Trainer of what `function` returned if it is a pair (TrainerConfig, Trainer).

    Raises:
        InputError: it is something else.
    """
    if isinstance(got, tuple | list) and len(got) == 2 and _trains(got[1]):
        return got[1]
    raise _fault(function, in_words(got), "a TrainerConfig and the Trainer made with it")


def _trains(value: object) -> bool:
    """Return whether this works as a Trainer; a class of them doesn't."""
    called = callable(getattr(value, "train", None)) and hasattr(value, "config")
    return called and not isinstance(value, type)


def counts(function: Callable, got: Any) -> tuple[int, int]:
    """Return what `function` returned if it is a pair of whole numbers.

    Raises:
        InputError: it is something else.
    """
    if isinstance(got, tuple | list) and len(got) == 2:
        if all(isinstance(count, Integral) for count in got):
            return int(got[0]), int(got[1])
    expected = "two whole numbers: of right answers, and of questions"
    raise _fault(function, in_words(got), expected)


def example(dataset: Examples, index: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an item of a dataset if it is a pair (x, y) of ids, each of shape (T,), long.

    Raises:
        InputError: it is something else.
    """
    got: Any = dataset[index]
    expected = "x and y, two tensors of one length with dtype torch.long"
    item = type(dataset).__getitem__
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise _fault(item, in_words(got), expected)
    x, y = got
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):
        raise _fault(item, in_words(got), expected)
    if x.dim() != 1 or x.shape != y.shape or (x.dtype, y.dtype) != (torch.long, torch.long):
        shown = [f"of shape {tuple(part.shape)}, {part.dtype}" for part in (x, y)]
        raise _fault(item, f"x {shown[0]}, and y {shown[1]}", expected)
    return x, y


def check_example(dataset: Examples) -> None:
    """Check a dataset's first item, and leave generators of random numbers as they were.

    Raises:
        InputError: it is no pair of ids.
    """
    states = random_states()
    example(dataset, 0)
    restore_random_states(states)


def in_words(got: object) -> str:
    """Show a value in few words: itself where it is short, the types in a pair, or its type."""
    if got is None:
        return "None"
    if isinstance(got, tuple | list) and len(got) < 4:
        parts = [in_words(part) for part in got]
        return f"a {type(got).__name__} of {len(got)}: {', '.join(parts)}"
    shown = repr(got) if isinstance(got, str | int | float) else ""
    return shown if 0 < len(shown) <= 60 else f"a value of type {type(got).__name__}"


def _fault(function: Callable, returned: str, expected: str) -> InputError:
    """Say what a function returned, where it stands, and which part of the work it is."""
    missing = " (is its `return` missing?)" if returned == "None" else ""
    return InputError(f"{place(function)} returned {returned}{missing}, expected {expected}")


def place(function: Callable) -> str:
    """Name a function: "pretrain (submission/helper.py:140, [pretraining])"."""
    try:
        lines, first = inspect.getsourcelines(function)
        path = Path(inspect.getsourcefile(function) or "")
    except (OSError, TypeError):  # it stands in no file
        return function.__qualname__
    part = PART.search("".join(lines))
    where = f"{path.parent.name}/{path.name}:{first}{f', [{part[1]}]' if part else ''}"
    return f"{function.__qualname__} ({where})"
