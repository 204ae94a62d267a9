"""Which classes of `submission` are the given ones, and no student's own.

Some of what is done here is right for exactly these classes: keys and values can be kept from step
to step for the given attention, say, but not for any. This package imports nothing of `submission`,
so model.py and dataset.py there register their classes when they are imported. (Below
TYPE_CHECKING, here and in other modules, stands what type checkers read and Python doesn't run.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from submission.attention import CausalSelfAttention
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT

_classes: dict[str, type] = {}


def register(**classes: type) -> None:
    """Name given classes: attention, block and gpt (of model.py), corruption (of dataset.py)."""
    _classes.update(classes)


def is_given_model(model: GPT) -> bool:
    """Return whether a model is exactly the given one: then we know what its attention computes."""
    return type(model) is _classes.get("gpt") and all(
        type(block) is _classes.get("block") and is_given_attention(block.attn)
        for block in model.blocks
    )


def is_given_attention(attn: object) -> TypeGuard[CausalSelfAttention]:
    """Return whether a module is the given CausalSelfAttention, and no student's own.

    An earlier year's had students write how it turns queries and keys, where ours has `rotated`.
    """
    known = hasattr(attn, "rotated") or not getattr(attn, "rope", False)
    return type(attn) is _classes.get("attention") and known


def is_corrupted(dataset: object) -> TypeGuard[CharCorruptionDataset]:
    """Return whether a dataset is a CharCorruptionDataset, whose examples hide a span."""
    corruption = _classes.get("corruption")
    return corruption is not None and isinstance(dataset, corruption)
