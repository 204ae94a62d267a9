"""The given classes of `submission`, as opposed to a student's own.

Some code in this package is right only for exactly these classes. This package imports nothing from
`submission`, so model.py and dataset.py there register their classes on import.

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
