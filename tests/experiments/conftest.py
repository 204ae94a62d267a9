"""The commands that look into models, with the reference and parameters of the smoke recipe."""

import importlib
import shutil
from types import SimpleNamespace

import pytest
import torch

from tests import laid_out
from tests.laid_out import imports_from, train_both
from tests.project import ROOT

MODULES = ("ablate", "calibration", "cloze", "inspection", "pages", "people", "recall")


# Fixtures.
root = laid_out.root
run = laid_out.run
one_thread = laid_out.one_thread


@pytest.fixture(scope="package")
def source(root):
    """run.py, and the modules of both packages that it uses, by name."""
    with imports_from(root / "src"):
        run = importlib.import_module("run")
        found = {name: importlib.import_module(f"experiments.{name}") for name in MODULES}
        found["errors"] = importlib.import_module("pretraining.errors")
        found |= {"utils": run.utils, "helper": run.helper}
        for name in ("attention", "dataset", "induction_scores", "model"):
            found[name] = importlib.import_module(f"submission.{name}")
        yield SimpleNamespace(run=run, inputs=importlib.import_module("inputs"), **found)


@pytest.fixture(scope="package")
def lab(source):
    """The modules of the experiments, by name."""
    names = [path.stem for path in (ROOT / "src" / "experiments").glob("[a-z]*.py")]
    modules = {name: importlib.import_module(f"experiments.{name}") for name in names}
    return SimpleNamespace(**modules)


@pytest.fixture(scope="package")
def main(source):
    return source.run.main


@pytest.fixture(scope="package")
def trained(main, after_demo, tmp_path_factory):
    """A folder with parameters of both stages of training, of two variants.

    Vanilla's are the demo's, which have learnt. The synthesizer's output need not be right.
    """
    folder = tmp_path_factory.mktemp("trained")
    for stage in ("pretrain", "finetune"):
        shutil.copy(after_demo / f"project/build/reference/vanilla.{stage}.params", folder)
    pace = ("--dtype", "float32", "--threads", "1")
    train_both(main, folder, "synthesizer", "--recipe", "brief", *pace)
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
