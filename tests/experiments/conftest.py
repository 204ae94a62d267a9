"""The commands that look into models, with the reference and parameters of the smoke recipe."""

import importlib
from types import SimpleNamespace

import pytest
import torch

from tests import laid_out
from tests.laid_out import imports_from, train_both

MODULES = ("calibration", "cloze", "errors", "inspection", "pages", "recall")
# By variant. The synthesizer's output is examined, but it need not be right.
RECIPES = {"vanilla": "smoke", "synthesizer": "brief"}


# Fixtures.
root = laid_out.root
run = laid_out.run
one_thread = laid_out.one_thread


@pytest.fixture(scope="package")
def source(root):
    """run.py, and the modules of both packages that it uses, by name."""
    with imports_from(root / "src"):
        run = importlib.import_module("run")
        found = {name: importlib.import_module(f"pretraining.{name}") for name in MODULES}
        found |= {"utils": run.utils, "helper": run.helper}
        for name in ("attention", "dataset", "model"):
            found[name] = importlib.import_module(f"submission.{name}")
        yield SimpleNamespace(run=run, inputs=importlib.import_module("inputs"), **found)


@pytest.fixture(scope="package")
def main(source):
    return source.run.main


@pytest.fixture(scope="package")
def trained(main, tmp_path_factory):
    """A folder with parameters of both stages of training, of two variants; vanilla has learnt."""
    folder = tmp_path_factory.mktemp("trained")
    for variant, recipe in RECIPES.items():
        pace = ("--dtype", "float32", "--threads", "1")
        train_both(main, folder, variant, "--recipe", recipe, *pace)
    return folder


@pytest.fixture(scope="package")
def load(source, trained):
    """A function that gives the corpus and a trained model: of a variant, by the stage's name."""

    def load(variant="vanilla", stage="finetune"):
        fields = source.run.recipes.load_recipe("smoke").model_of(variant)
        dataset = source.inputs.read_corpus("wiki.txt", fields["block_size"])
        config = source.model.GPTConfig(dataset.vocab_size, **fields)
        model = source.inputs.build_model(variant, config, torch.device("cpu"))
        path = trained / f"{variant}.{stage}.params"
        model.load_state_dict(source.utils.load_parameters(path, model))
        return dataset, model.eval()

    return load
