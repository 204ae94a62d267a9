"""Training and decoding of models. Students may read this package, but change nothing in it.

It imports nothing from `submission`. Instead, model.py and dataset.py there register their classes
here, because some of this code is right for these classes only. The grader always uses its own
copy.

A class of attention with `replaceable = True` allows the faster code here to compute its forward.
It promises to compute what CausalSelfAttention does, with the same layers, and to use positions
only in `with_positions`, so that decoding can keep keys and values from step to step.
"""

from __future__ import annotations

from typing import Any, TypeGuard

# Classes of `submission`. Students may replace any of them, so type checkers can't know more.
CausalSelfAttention = Any
CharCorruptionDataset = Any
Block = Any
GPT = Any
Trainer = Any
TrainerConfig = Any

_classes: dict[str, Any] = {}


class InputError(ValueError):
    """The problem is a file, an option or a number, not the code.

    The message is one line that says what was found, what was expected and, for a file, where; a
    command prints nothing else.
    """


def register(**classes: type) -> None:
    """Register given classes: block, gpt (model.py) and corruption (dataset.py)."""
    _classes.update(classes)


def has_given_blocks(model: GPT) -> bool:
    """Return whether a model is the given one; the attention may be a student's own."""
    block, gpt = (_classes.get(name) for name in ("block", "gpt"))
    return type(model) is gpt and all(type(each) is block for each in model.blocks)


def is_replaceable(attn: object) -> TypeGuard[CausalSelfAttention]:
    """Return whether a module's own class, not one that it inherits from, is `replaceable`."""
    return vars(type(attn)).get("replaceable", False)


def is_corrupted(dataset: object) -> TypeGuard[CharCorruptionDataset]:
    """Return whether a dataset is a CharCorruptionDataset, whose examples hide a span."""
    corruption = _classes.get("corruption")
    return corruption is not None and isinstance(dataset, corruption)
