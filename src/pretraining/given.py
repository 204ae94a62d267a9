"""The given classes of `submission`, as opposed to a student's own.

Some code in this package is right only for exactly these classes. This package imports nothing from
`submission`, so model.py and dataset.py there register their classes on import. (Code below
TYPE_CHECKING, here and in other modules, is for type checkers only.)

Which attention the faster code here may replace is said by its class, with `replaceable = True`. It
promises to compute what CausalSelfAttention does, with the same layers, where positions enter only
by `with_positions`: keys and values can then be kept from step to step, for instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from submission.attention import CausalSelfAttention
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT

_classes: dict[str, type] = {}


def register(**classes: type) -> None:
    """Register given classes: block, gpt (model.py) and corruption (dataset.py)."""
    _classes.update(classes)


def has_given_blocks(model: GPT) -> bool:
    """Return whether a model is the given one; the attention may be a student's own."""
    return type(model) is _classes.get("gpt") and all(
        type(block) is _classes.get("block") for block in model.blocks
    )


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
