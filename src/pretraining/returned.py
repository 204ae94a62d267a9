"""Check the return values of students' functions before given code uses them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any

import torch

from . import GPT, InputError, Trainer
from .batches import Examples, random_states, restore_random_states

EXAMPLES = 8  # items that are checked before training
PART = re.compile(r"^\s*# \[([a-z ]+)\]$", re.MULTILINE)


class WrongReturn(InputError):
    """A function of the student's returned something that can't be used."""


def model(function: Callable, got: object) -> GPT:
    """Return what `function` returned if it is a model.

    Raises:
        WrongReturn: it is something else.
    """
    if isinstance(got, torch.nn.Module) and hasattr(got, "get_block_size"):
        return got  # a student's own GPT is accepted
    raise _fault(function, in_words(got), "a GPT")


def trainer(function: Callable, got: Any) -> Trainer:
    """Return the Trainer if `function` returned a pair (TrainerConfig, Trainer).

    Raises:
        WrongReturn: it is something else, or a Trainer of something that can't be trained.
    """
    if not (isinstance(got, tuple | list) and len(got) == 2 and _trains(got[1])):
        raise _fault(function, in_words(got), "a TrainerConfig and the Trainer made with it")
    made = got[1]
    wrong = {
        "config": (hasattr(made.config, "max_epochs"), "a TrainerConfig"),
        "model": (isinstance(made.model, torch.nn.Module), "the model that it was given"),
        "train_dataset": (_is_dataset(made.train_dataset), "a dataset of pairs x and y"),
    }
    for name, (fine, expected) in wrong.items():
        if not fine:
            shown = in_words(getattr(made, name))
            raise _fault(function, f"a Trainer with {name} = {shown}", expected)
    check_examples(made.train_dataset)
    return made


def _trains(value: object) -> bool:
    """Return whether this works as a Trainer; the class itself doesn't."""
    attributes = ("config", "model", "train_dataset")
    has_all = all(hasattr(value, name) for name in attributes)
    return has_all and callable(getattr(value, "train", None)) and not isinstance(value, type)


def _is_dataset(value: object) -> bool:
    indexed = hasattr(type(value), "__len__") and hasattr(type(value), "__getitem__")
    return indexed and not isinstance(value, str | bytes)


def tensor(function: Callable, got: object, like: torch.Tensor | None = None) -> torch.Tensor:
    """Return what `function` returned if it is a tensor, with the shape of `like` if given.

    Raises:
        WrongReturn: it is something else.
    """
    if isinstance(got, torch.Tensor) and (like is None or got.shape == like.shape):
        return got
    shape = "" if like is None else f" of shape {tuple(like.shape)}"
    raise _fault(function, in_words(got), f"a tensor{shape}")


@torch.no_grad()
def check_forward(model: GPT, vocab_size: int) -> None:
    """Run a model once on a few ids, without changing it or any random number generator.

    Raises:
        WrongReturn: `forward`, of the model or of its attention, returns the wrong thing.
    """
    T = min(model.get_block_size(), 7)
    idx = torch.zeros(2, T, dtype=torch.long, device=next(model.parameters()).device)
    states, training = random_states(), model.training
    model.eval()  # no dropout, which would draw from the device's generator, too
    got: Any = model(idx, idx)
    model.train(training)
    restore_random_states(states)
    forward, expected = type(model).forward, f"logits of shape (2, {T}, {vocab_size}), and the loss"
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise _fault(forward, in_words(got), expected)
    logits, loss = got
    right = isinstance(logits, torch.Tensor) and logits.shape == (2, T, vocab_size)
    if not right or not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise _fault(forward, in_words(got), expected)


def counts(function: Callable, got: Any) -> tuple[int, int]:
    """Return what `function` returned if it is a pair of integers.

    Raises:
        WrongReturn: it is something else.
    """
    if isinstance(got, tuple | list) and len(got) == 2:
        if all(isinstance(count, Integral) for count in got):
            return int(got[0]), int(got[1])
    expected = "two integers: the number of right answers, and of questions"
    raise _fault(function, in_words(got), expected)


def example(dataset: Examples, index: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an item of a dataset if it is a pair (x, y) of ids, each of shape (T,), long.

    Raises:
        WrongReturn: it is something else.
    """
    got: Any = dataset[index]
    expected = "x and y, two tensors of the same length with dtype torch.long"
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


def check_examples(dataset: Examples) -> None:
    """Check a dataset's first items, without changing any random number generator.

    Raises:
        WrongReturn: one is not a pair of tensors of ids, or they differ in length.
    """
    states = random_states()
    lengths = [len(example(dataset, index)[0]) for index in range(min(EXAMPLES, len(dataset)))]
    restore_random_states(states)
    for index, length in enumerate(lengths):
        if length != lengths[0]:
            returned = f"x and y of length {lengths[0]} for item 0, and {length} for item {index}"
            raise _fault(type(dataset).__getitem__, returned, "the same length for all items")


def in_words(got: object) -> str:
    """Describe a value: itself if it is short, a shape, the parts of a pair, or a type."""
    if got is None:
        return "None"
    if isinstance(got, type):
        return f"the class {got.__name__} itself"
    if isinstance(got, torch.Tensor):
        return f"a tensor of shape {tuple(got.shape)}, {got.dtype}"
    if isinstance(got, tuple | list) and len(got) < 4:
        parts = [in_words(part) for part in got]
        return f"a {type(got).__name__} of {len(got)}: {', '.join(parts)}"
    shown = repr(got) if isinstance(got, str | int | float) else ""
    return shown if 0 < len(shown) <= 60 else f"a value of type {type(got).__name__}"


def _fault(function: Callable, returned: str, expected: str) -> WrongReturn:
    """Return an error on what a function returned, with its place and its part of the work."""
    missing = " (is its `return` missing?)" if returned == "None" else ""
    return WrongReturn(f"{place(function)} returned {returned}{missing}, expected {expected}")


def place(function: Callable) -> str:
    """Describe a function: "pretrain (submission/helper.py:140, [pretraining])"."""
    function = inspect.unwrap(function)  # the function itself, below a decorator
    try:
        lines, first = inspect.getsourcelines(function)
        path = Path(inspect.getsourcefile(function) or "")
    except (OSError, TypeError):  # it is not in a file
        return function.__qualname__
    part = PART.search("".join(lines))
    where = f"{path.parent.name}/{path.name}:{first}{f', [{part[1]}]' if part else ''}"
    return f"{function.__qualname__} ({where})"
