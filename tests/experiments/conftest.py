"""The commands that look into models, with the reference and parameters of the smoke recipe."""

import shutil

import pytest
import torch

from tests import laid_out
from tests.laid_out import make_model, read_model, train_both

# Fixtures.
assignment = laid_out.assignment
lab = laid_out.lab
main = laid_out.main
run = laid_out.run
one_thread = laid_out.one_thread


@pytest.fixture(scope="package")
def trained(main, after_training, tmp_path_factory):
    """A folder with parameters of both stages of training, of two variants.

    Vanilla's are the reference's, which have learnt. The synthesizer's output need not be right.
    """
    folder = tmp_path_factory.mktemp("trained")
    for stage in ("pretrain", "finetune"):
        shutil.copy(after_training / f"build/reference/vanilla.{stage}.params", folder)
    pace = ("--dtype", "float32", "--threads", "1")
    train_both(main, folder, "synthesizer", "--recipe", "brief", *pace)
    return folder


@pytest.fixture(scope="package")
def load(lab, trained):
    """A function that gives the corpus and a trained model: of a variant, by the stage's name."""

    def load(variant="vanilla", stage="finetune"):
        return read_model(lab, trained / f"{variant}.{stage}.params", variant, "smoke")

    return load


@pytest.fixture(scope="package")
def recorded(lab):
    """The places of dev and of train, by question."""
    found = {}
    for file in ("birth_dev.tsv", "birth_places_train.tsv"):
        _, questions, places = lab.inputs.read_answered(file)
        found |= zip(questions, places, strict=True)
    return found


@pytest.fixture
def random_model(lab):
    """A function that gives people's corpus, and a model with large random parameters."""

    def make(people, layers):
        text = "\n".join(f"{p.question} {p.place}." for p in people)
        dataset = lab.dataset.CharCorruptionDataset(text, 64)
        torch.manual_seed(1)
        fields = {"n_layer": layers, "n_head": 2, "block_size": 64}
        return dataset, make_model(lab, vocab_size=dataset.vocab_size, **fields)

    return make
