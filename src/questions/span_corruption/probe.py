"""Probes that draw items from a CharCorruptionDataset of given documents."""

from typing import Any

import numpy as np
import torch

from grading.worker import Context
from questions.shared.shapes import form_of

from .items import MOST

NOTHING = torch.zeros(0, dtype=torch.int64)  # in place of an item that is not a pair


def draw(context: Context, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw items of several datasets, one after another.

    Args:
        runs: for each, `documents`, the lines of its corpus; `block_size`; and `repeat`, how often
            to draw all of its documents in turn.

    Returns:
        runs: for each,
        length: of the dataset. If it is not that of `documents`, nothing is drawn.
        kept: how many documents its `data` holds, -1 if it is no list.
        forms: the distinct forms of the items, e.g. "tuple of int64[32], int64[32]".
        x, y: the concatenated entries of all items, uint8 if all fit, else int64; `x_sizes`,
            `y_sizes`: how many belong to each item, 0 if it is not a pair of vectors of integers.
    """
    return {"runs": [_drawn(**run) for run in runs]}


def _drawn(documents: list[str], block_size: int, repeat: int) -> dict[str, Any]:
    dataset = _dataset(documents, block_size)
    forms: dict[str, None] = {}
    xs, ys = [], []
    for _ in range(repeat if len(dataset) == len(documents) else 0):
        for index in range(len(documents)):
            item = dataset[index]
            forms[form_of(item)] = None
            x, y = item if _is_pair(item) else (NOTHING, NOTHING)
            xs.append(_entries(x))
            ys.append(_entries(y))
    found = {"length": len(dataset), "kept": _kept(dataset), "forms": list(forms)[:10]}
    return found | _concatenated("x", xs) | _concatenated("y", ys)


def _entries(vector: torch.Tensor) -> np.ndarray:
    """Copy a vector: 24,000 tensors would fill a small container's memory."""
    return vector[:MOST].detach().cpu().long().numpy().copy()


def _concatenated(name: str, vectors: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return all entries, as bytes if they fit, as ids of the vocabularies asked for do.

    An answer is copied several times on its way, and may have millions of entries.
    """
    entries = np.concatenate([np.zeros(0, np.int64), *vectors])
    fit = not len(entries) or (entries.min() >= 0 and entries.max() <= 255)
    sizes = np.array([len(vector) for vector in vectors], dtype=np.int64)
    return {name: entries.astype(np.uint8) if fit else entries, f"{name}_sizes": sizes}


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


def _is_pair(item: Any) -> bool:
    return (
        isinstance(item, tuple | list)
        and len(item) == 2
        and all(isinstance(part, torch.Tensor) and part.dim() == 1 for part in item)
        and not any(part.is_floating_point() or part.is_complex() for part in item)
    )
