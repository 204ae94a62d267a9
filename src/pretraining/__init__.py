"""Training and decoding of models. Students may read this package, but change nothing in it.

It imports nothing from `submission`: model.py and dataset.py there register their given classes
here, for which alone some code in this package is right. The grader always uses its own copy.

Which attention the faster code here may replace is said by its class, with `replaceable = True`. It
promises to compute what CausalSelfAttention does, with the same layers, where positions enter only
by `with_positions`: keys and values can then be kept from step to step, for instance.
"""

from __future__ import annotations

from typing import Any, TypeGuard

# What `submission` calls by these names. Students may replace any of it, so that type checkers
# can't know more.
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


def has_replaceable_attention(model: GPT) -> bool:
    """Return whether a model is the given one, and all of its attention may be replaced."""
    return has_given_blocks(model) and all(is_replaceable(block.attn) for block in model.blocks)


def is_replaceable(attn: object) -> TypeGuard[CausalSelfAttention]:
    """Return whether a module's own class, not one that it inherits from, says `replaceable`."""
    return vars(type(attn)).get("replaceable", False)


def is_corrupted(dataset: object) -> TypeGuard[CharCorruptionDataset]:
    """Return whether a dataset is a CharCorruptionDataset, whose examples hide a span."""
    corruption = _classes.get("corruption")
    return corruption is not None and isinstance(dataset, corruption)
