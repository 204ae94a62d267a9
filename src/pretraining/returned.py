"""Check the return values of students' functions before given code uses them.

Each of these raises a WrongReturn with the function's place if it returned something else.
"""

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
    """Return what `function` returned if it is a model; a student's own GPT is accepted."""
    is_model = isinstance(got, torch.nn.Module) and hasattr(got, "get_block_size")
    _expect(is_model, function, got, "a GPT")
    return got


def trainer(function: Callable, got: Any) -> Trainer:
    """Return the Trainer if `function` returned a TrainerConfig and a Trainer that can train."""
    attributes = ("config", "model", "train_dataset")
    trains = (
        _is_pair(got)
        and all(hasattr(got[1], name) for name in attributes)
        and callable(getattr(got[1], "train", None))
        and not isinstance(got[1], type)  # the class itself
    )
    _expect(trains, function, got, "a TrainerConfig and the Trainer made with it")
    made = got[1]
    data = type(made.train_dataset)
    is_indexed = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    is_dataset = is_indexed and not issubclass(data, str | bytes)
    wrong = {
        "config": (hasattr(made.config, "max_epochs"), "a TrainerConfig"),
        "model": (isinstance(made.model, torch.nn.Module), "the model that it was given"),
        "train_dataset": (is_dataset, "a dataset of pairs x and y"),
    }
    for name, (fine, expected) in wrong.items():
        shown = f"a Trainer with {name} = {in_words(getattr(made, name))}"
        _expect(fine, function, got, expected, shown)
    check_examples(made.train_dataset)
    return made


def tensor(function: Callable, got: object, like: torch.Tensor | None = None) -> torch.Tensor:
    """Return what `function` returned if it is a tensor, with the shape of `like` if given."""
    if isinstance(got, torch.Tensor) and (like is None or got.shape == like.shape):
        return got
    shape = "" if like is None else f" of shape {tuple(like.shape)}"
    raise _fault(function, in_words(got), f"a tensor{shape}")


@torch.no_grad()
def check_forward(model: GPT, vocab_size: int) -> None:
    """Run a model once on a few ids, without changing it or any random number generator.

    Raises:
        WrongReturn: its forward method, or that of its attention, returned something else.
    """
    T = min(model.get_block_size(), 7)
    idx = torch.zeros(2, T, dtype=torch.long, device=next(model.parameters()).device)
    states, training = random_states(), model.training
    model.eval()  # no dropout, which would draw from the device's generator, too
    got: Any = model(idx, idx)
    model.train(training)
    restore_random_states(states)
    shape = (2, T, vocab_size)
    right = (
        _is_pair(got)
        and isinstance(got[0], torch.Tensor)
        and got[0].shape == shape
        and isinstance(got[1], torch.Tensor)
        and got[1].numel() == 1
    )
    _expect(right, type(model).forward, got, f"logits of shape {shape}, and the loss")


def counts(function: Callable, got: Any) -> tuple[int, int]:
    """Return what `function` returned if it is a pair of integers."""
    expected = "two integers: the number of right answers, and of questions"
    is_right = _is_pair(got) and all(isinstance(count, Integral) for count in got)
    _expect(is_right, function, got, expected)
    return int(got[0]), int(got[1])


def example(dataset: Examples, index: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an item of a dataset if it is a pair (x, y) of ids, each of shape (T,), long."""
    got: Any = dataset[index]
    item = type(dataset).__getitem__
    expected = "x and y, two tensors of the same length with dtype torch.long"
    is_right = _is_pair(got) and all(isinstance(part, torch.Tensor) for part in got)
    _expect(is_right, item, got, expected)
    x, y = got
    shown = [f"of shape {tuple(part.shape)}, {part.dtype}" for part in got]
    are_ids = x.dim() == 1 and x.shape == y.shape and {x.dtype, y.dtype} == {torch.long}
    _expect(are_ids, item, got, expected, f"x {shown[0]}, and y {shown[1]}")
    return x, y


def check_examples(dataset: Examples) -> None:
    """Check a dataset's first items, without changing any random number generator.

    They must be pairs of tensors of ids, all of the same length.
    """
    states = random_states()
    lengths = [len(example(dataset, index)[0]) for index in range(min(EXAMPLES, len(dataset)))]
    restore_random_states(states)
    for index, length in enumerate(lengths):
        shown = f"x and y of length {lengths[0]} for item 0, and {length} for item {index}"
        expected, item = "the same length for all items", type(dataset).__getitem__
        _expect(length == lengths[0], item, None, expected, shown)


def _is_pair(got: object) -> bool:
    return isinstance(got, tuple | list) and len(got) == 2


def _expect(holds: bool, function: Callable, got: object, expected: str, shown: str = "") -> None:
    """Raise an error on what a function returned, in words or `shown`, unless `holds`."""
    if not holds:
        raise _fault(function, shown or in_words(got), expected)


def _fault(function: Callable, returned: str, expected: str) -> WrongReturn:
    missing = " (is its `return` missing?)" if returned == "None" else ""
    return WrongReturn(f"{place(function)} returned {returned}{missing}, expected {expected}")


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
