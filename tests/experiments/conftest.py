"""The commands that look into models, with the reference and parameters of the smoke recipe."""

import importlib
import shlex
from types import SimpleNamespace

import pytest
import torch

from tests.laid_out import imports_from, lay_out

MODULES = ("calibration", "cloze", "errors", "inspection", "pages", "recall")
# By variant. The synthesizer's output is examined, but it need not be right.
RECIPES = {"vanilla": "smoke", "synthesizer": "brief"}


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """With models this small, more threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="package")
def root(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("laid_out") / "root")


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
def trained(source, tmp_path_factory):
    """A folder with parameters of both stages of training, of two variants; vanilla has learnt."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for variant, recipe in RECIPES.items():
            pretrained, finetuned = (f"{variant}.{s}.params" for s in ("pretrain", "finetune"))
            for command in (
                f"pretrain {variant} wiki.txt --writing_params_path {pretrained}",
                f"finetune {variant} wiki.txt --writing_params_path {finetuned} "
                f"--reading_params_path {pretrained} "
                "--finetune_corpus_path birth_places_train.tsv",
            ):
                options = f"--recipe {recipe} --dtype float32 --threads 1 --seed 0".split()
                assert source.run.main([*shlex.split(command), *options]) == 0
    return folder


@pytest.fixture
def run(source, tmp_path, monkeypatch, capsys):
    """A function that runs a command in an empty folder: code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def call(command: str) -> tuple[int, str, str]:
        try:
            code = source.run.main(shlex.split(command))
        except SystemExit as error:  # argparse
            code = error.code
        return code, *capsys.readouterr()

    return call


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
