"""Probes that draw items from a CharCorruptionDataset of given documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.shapes import form_of

from .items import MOST


def draw(
    context: Context, documents: list[str], block_size: int, indices: list[int], repeat: int
) -> dict[str, Any]:
    """Draw items of a dataset made of `documents`.

    Args:
        documents: the lines of the corpus.
        block_size: of the dataset.
        indices: which items to draw, in this order.
        repeat: how often to go through `indices`.

    Returns:
        length: of the dataset. If it is not that of `documents`, nothing is drawn.
        kept: how many documents its `data` holds, -1 if it is no list.
        forms: the distinct forms of the items, e.g. "tuple of int64[32], int64[32]".
        x, y: the concatenated entries of all items, uint8 if all fit, else int64; `x_sizes`,
            `y_sizes`: how many belong to each item, 0 if it is not a pair of vectors of integers.
    """
    dataset = _dataset(documents, block_size)
    forms: dict[Any, str] = {}
    plain: dict[Any, bool] = {}  # whether items of a kind are pairs of plain vectors
    x, y = _Entries(), _Entries()
    for _ in range(repeat if len(dataset) == len(documents) else 0):
        for index in indices:
            item = dataset[index]
            key = _kind(item)
            if key not in forms:
                forms[key] = form_of(item)
                plain[key] = _is_plain(item)
            if plain[key]:
                x.add_plain(item[0])
                y.add_plain(item[1])
            else:
                pair = item if _is_pair(item) else (None, None)
                x.add(pair[0])
                y.add(pair[1])
    return {
        "length": len(dataset),
        "kept": _kept(dataset),
        "forms": list(dict.fromkeys(forms.values()))[:10],
        "x": x.array(),
        "y": y.array(),
        "x_sizes": np.array(x.sizes, dtype=np.int64),
        "y_sizes": np.array(y.sizes, dtype=np.int64),
    }


def draw_each(context: Context, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answers of `draw` to several lists of arguments, drawn one after another."""
    return {"runs": [draw(context, **run) for run in runs]}


def vocabulary(context: Context, documents: list[str], block_size: int) -> dict[str, Any]:
    """Return the dataset's alphabet: `itos` as a string in the order of ids, and its sizes."""
    dataset = _dataset(documents, block_size)
    return {
        "itos": [str(dataset.itos[i]) for i in range(len(dataset.itos))],
        "stoi_agrees": all(dataset.stoi[ch] == i for i, ch in dict(dataset.itos).items()),
        "vocab_size": int(dataset.vocab_size),
        "block_size": int(dataset.block_size),
        "length": len(dataset),
        "kept": _kept(dataset),
    }


def _kept(dataset: Any) -> int:
    data = getattr(dataset, "data", None)
    return len(data) if isinstance(data, list | tuple) else -1


def _dataset(documents: list[str], block_size: int) -> Any:
    from submission.dataset import CharCorruptionDataset

    return CharCorruptionDataset("\n".join(documents), block_size)


def _kind(item: Any) -> Any:
    """Return what determines an item's form.

    It is much faster to compute than the form itself, of which there are few different ones.
    """
    if type(item) not in (tuple, list):
        return type(item)
    parts = item[:4]
    tensor = torch.Tensor
    kinds = [(p.dtype, p.shape, p.device) if type(p) is tensor else type(p) for p in parts]
    return (type(item), *kinds)


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, tuple | list)
        and len(item) == 2
        and all(isinstance(part, torch.Tensor) and part.dim() == 1 for part in item)
        and not any(part.is_floating_point() or part.is_complex() for part in item)
    )


def _is_plain(item: Any) -> bool:
    """Return whether items of this kind (see `_kind`) are pairs of short Long vectors in memory.

    Nearly all are. They need no conversion, which would take longer than most codes take to draw.
    """
    return _is_pair(item) and all(
        type(part) is torch.Tensor
        and part.dtype is torch.int64
        and part.device.type == "cpu"
        and len(part) <= MOST
        for part in item
    )


class _Entries:
    """Concatenated vectors, as bytes: 24,000 tensors would fill a small container's memory."""

    def __init__(self) -> None:
        self.bytes = bytearray()
        self.sizes: list[int] = []

    def add_plain(self, vector: torch.Tensor) -> None:
        """Append a vector that `_is_plain`."""
        entries = vector.numpy()
        self.bytes += entries.tobytes()
        self.sizes.append(entries.size)

    def add(self, vector: torch.Tensor | None) -> None:
        """Append a vector; None counts as an empty one."""
        if vector is None:
            self.sizes.append(0)
            return
        entries = vector[:MOST].detach().cpu().long().numpy()
        self.bytes += entries.tobytes()
        self.sizes.append(len(entries))

    def array(self) -> np.ndarray:
        """Return all entries, as bytes if they fit, as ids of the vocabularies asked for do.

        An answer is copied several times on its way, and may have millions of entries.
        """
        entries = np.frombuffer(self.bytes, dtype=np.int64)
        fit = not len(entries) or (entries.min() >= 0 and entries.max() <= 255)
        return entries.astype(np.uint8) if fit else entries
