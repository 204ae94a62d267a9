"""Batches of examples, and the state of all random number generators."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from torch.utils.data import DataLoader

PAD_ID = 0  # in targets: nothing to predict here


class Examples(Protocol):
    """A dataset for training: pairs (x, y) of ids, each of shape (T,), long."""

    def __len__(self) -> int: ...

    def __getitem__(self, idx: int, /) -> tuple[torch.Tensor, torch.Tensor]: ...


class TextExamples(Examples, Protocol):
    """Examples of text, with the meaning of each id."""

    MASK_CHAR: str
    stoi: dict[str, int]
    itos: dict[int, str]


class BatchOrder:
    """The batches of a whole training, as lists of indices: a batch_sampler for a DataLoader.

    Each epoch visits all examples in an order of its own, which depends only on the seed and the
    epoch. Iteration starts after the `done` batches that were trained on, so that `seed` and `done`
    are enough to resume a training.
    """

    def __init__(self, examples: int, batch_size: int, epochs: int):
        self.examples, self.batch_size, self.epochs = examples, batch_size, epochs
        self.seed = int(torch.randint(2**31, ()))
        self.done = 0

    @property
    def per_epoch(self) -> int:
        """The number of batches in an epoch; the last one may be smaller."""
        return -(-self.examples // self.batch_size)

    def __len__(self) -> int:
        return self.epochs * self.per_epoch

    def __iter__(self) -> Iterator[list[int]]:
        epoch: int | None = None
        batches: tuple[torch.Tensor, ...] = ()
        for number in range(self.done, len(self)):
            if number // self.per_epoch != epoch:
                epoch = number // self.per_epoch
                generator = torch.Generator().manual_seed(self.seed + epoch)
                rows = torch.randperm(self.examples, generator=generator)
                batches = rows.split(self.batch_size)
            yield batches[number % self.per_epoch].tolist()

    def epoch_is_complete(self) -> bool:
        """Return whether the last batch that was trained on ended an epoch."""
        return self.done % self.per_epoch == 0


def load(dataset: Examples, order: BatchOrder, num_workers: int) -> DataLoader:
    """Return the batches (x, y) of a dataset, in order, in pinned memory if there is a GPU."""
    return DataLoader(
        dataset,  # type: ignore[arg-type]  # it need not be a Dataset: any Examples will do
        batch_sampler=order,
        num_workers=num_workers,
        pin_memory=torch.cuda.is_available(),
        # Not the global one, from which one more number would be drawn after each resumption.
        generator=torch.Generator().manual_seed(order.seed),
    )


def random_states() -> dict:
    """Return the states of all random number generators that datasets and models may use."""
    state = np.random.get_state()
    assert isinstance(state, tuple)  # a dict only for generators other than numpy's default
    kind, keys, *rest = state
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {
        "random": random.getstate(),
        "numpy": (kind, torch.from_numpy(keys.astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": cuda,
    }


def restore_random_states(states: dict) -> None:
    """Restore what random_states() returned: what was drawn since leaves no trace."""
    version, keys, gauss = states["random"]
    random.setstate((version, tuple(keys), gauss))
    kind, keys, *rest = states["numpy"]
    np.random.set_state((kind, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    if states["cuda"]:
        torch.cuda.set_rng_state_all(states["cuda"])
