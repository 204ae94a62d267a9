"""The reference and `pretraining`, imported once from a folder like a student's."""

import pytest
import torch

from tests import laid_out
from tests.laid_out import switch

# Fixtures.
assignment = laid_out.assignment
submission = laid_out.lab
one_thread = laid_out.one_thread


@pytest.fixture
def corpus(assignment):
    return (assignment / "src" / "data" / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")


@pytest.fixture
def build(submission, corpus):
    """Return a function that creates a dataset of the smoke world and a small model for it."""

    def build(variant="vanilla", dropout=0.0, seed=0, dataset_class=None):
        dataset = (dataset_class or submission.dataset.CharCorruptionDataset)(corpus, 64)
        torch.manual_seed(seed)
        size = {"n_layer": 2, "n_head": 2, "n_embd": 32}
        drops = dict.fromkeys(("embd_pdrop", "resid_pdrop", "attn_pdrop"), dropout)
        config = submission.model.GPTConfig(
            dataset.vocab_size, 64, **size, **drops, **switch(variant)
        )
        return dataset, submission.model.GPT(config)

    return build


@pytest.fixture
def train(submission, build):
    """Return a function that trains such a model, or another; it returns the trainer."""

    def train(model=None, dataset_class=None, seed=0, **settings):
        dataset, built = build(dataset_class=dataset_class)
        submission.utils.set_seed(seed)
        usual = {"optimizer": "muon", "learning_rate": 3e-3, "dtype": "float32", "threads": 1}
        config = submission.trainer.TrainerConfig(**{"max_epochs": 1} | usual | settings)
        trainer = submission.trainer.Trainer(model or built, dataset, None, config)
        trainer.train()
        return trainer

    return train


@pytest.fixture
def batch(submission):
    """Return a function that gives the first rows of a dataset as (x, y), after seeding."""

    def batch(dataset, rows=70):
        submission.utils.set_seed(1)
        pairs = [dataset[number % len(dataset)] for number in range(rows)]
        return tuple(torch.stack(part) for part in zip(*pairs, strict=True))

    return batch
