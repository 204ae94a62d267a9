"""The given classes of `submission`, as opposed to a student's own.

Some code in this package is right only for exactly these classes: for instance, keys and values can
be kept from step to step with the given attention, but not with any other. This package imports
nothing from `submission`, so model.py and dataset.py there register their classes on import. (Code
below TYPE_CHECKING, here and in other modules, is for type checkers only.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from submission.attention import CausalSelfAttention
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT

_classes: dict[str, type] = {}


def register(**classes: type) -> None:
    """Register given classes: attention, block, gpt (model.py) and corruption (dataset.py)."""
    _classes.update(classes)


def has_given_blocks(model: GPT) -> bool:
    """Return whether a model is the given one; the attention may be a student's own."""
    return type(model) is _classes.get("gpt") and all(
        type(block) is _classes.get("block") for block in model.blocks
    )


def is_given_model(model: GPT) -> bool:
    """Return whether a model is exactly the given one, whose attention we know."""
    return has_given_blocks(model) and all(is_given_attention(block.attn) for block in model.blocks)


def is_given_attention(attn: object) -> TypeGuard[CausalSelfAttention]:
    """Return whether a module is the given CausalSelfAttention, not a student's own.

    In earlier years students wrote how it rotates queries and keys; ours has `rotated` for this.
    """
    known = hasattr(attn, "rotated") or not getattr(attn, "rope", False)
    return type(attn) is _classes.get("attention") and known


def is_corrupted(dataset: object) -> TypeGuard[CharCorruptionDataset]:
    """Return whether a dataset is a CharCorruptionDataset, whose examples hide a span."""
    corruption = _classes.get("corruption")
    return corruption is not None and isinstance(dataset, corruption)
