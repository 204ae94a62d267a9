"""A folder like the one `make reference` trains in, for tests: students' files, filled in.

A conftest.py that takes over the fixtures below gives its tests such a folder (`assignment`), its
modules (`lab`), one thread, and the commands of run.py.

root/src/{run,dataset,...}.py                as students get them
root/src/submission/, root/src/pretraining/  the reference, complete
root/src/edition.json                        with a tiny recipe for the smoke world
root/src/data/, root/solutions/data/        a smoke world
"""

import contextlib
import importlib
import json
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from autograder.description import load_assignment
from grading.edition import EDITION
from tests.interpreter import call
from tools import world
from tools.reference import GIVEN, compose

REPOSITORY = Path(__file__).resolve().parent.parent
VARIANTS = tuple(load_assignment(REPOSITORY).variants)
COMMANDS = ("environment", "run", "inputs", "dataset", "london_baseline")
PACKAGES = ("submission", "pretraining", "experiments")


def lay_out(root: Path) -> Path:
    """Fill an empty folder as the module's docstring says; the smoke world's recipe is tiny."""
    source = root / "src"
    (source / "grading").mkdir(parents=True)
    for name in GIVEN:
        shutil.copy(REPOSITORY / "src" / name, source / name)
    compose(REPOSITORY, source)
    tables = json.loads((root / EDITION).read_text(encoding="utf-8"))
    recipes = tables["recipes"]
    smoke = recipes["smoke"]
    few = {"max_epochs": 1, "batch_size": 64, "warmup_tokens": 1_000}
    stage = smoke["finetune_pretrained"] | few
    # Learns nothing, but takes only a tenth of a second.
    tiny = dict.fromkeys(("pretrain", "finetune_scratch", "finetune_pretrained"), stage) | {
        "title": "for tests of the commands",
        "usual": {"vanilla": {"lowest": 0.7, "median": 0.8, "highest": 0.9, "runs": 12}},
        "model": smoke["model"] | {"n_layer": 1, "n_embd": 16, "block_size": 64},
    }
    recipes["tiny"] = tiny
    # 320 steps of the smallest model: time enough to interrupt it.
    recipes["long"] = tiny | {"pretrain": stage | {"batch_size": 32, "max_epochs": 40}}
    # The smoke recipe's model, which trains in a second.
    recipes["brief"] = tiny | {"model": smoke["model"]}
    tables["datasets"]["smoke"]["recipe"] = "tiny"
    (root / EDITION).write_text(json.dumps(tables), encoding="utf-8")
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(root)]) == 0
    return root


@contextlib.contextmanager
def imports_from(source: Path) -> Iterator[None]:
    """Import the packages and the commands from `source`, and forget them afterwards."""

    def ours(name: str) -> bool:
        return name.partition(".")[0] in (*COMMANDS, *PACKAGES)

    def forget() -> dict:
        return {name: sys.modules.pop(name) for name in list(sys.modules) if ours(name)}

    before = forget()
    sys.path.insert(0, str(source))
    try:
        yield
    finally:
        sys.path.remove(str(source))
        forget()
        sys.modules.update(before)


# -- fixtures ---------------------------------------------------------------------------------


@pytest.fixture(scope="package")
def assignment(tmp_path_factory) -> Path:
    return lay_out(tmp_path_factory.mktemp("laid_out") / "root")


@pytest.fixture(scope="package")
def lab(assignment) -> Iterator[SimpleNamespace]:
    """run.py, inputs.py and the packages' modules, by the last parts of their names.

    They are imported once, since a new process takes seconds to start.
    """
    paths = [p for package in PACKAGES for p in assignment.glob(f"src/{package}/*.py")]
    names = [f"{path.parent.name}.{path.stem}".removesuffix(".__init__") for path in paths]
    with imports_from(assignment / "src"):
        yield SimpleNamespace(
            **{n.rpartition(".")[2]: importlib.import_module(n) for n in ("run", "inputs", *names)}
        )


@pytest.fixture(scope="package")
def main(lab) -> Callable[[list[str]], int]:
    return lab.run.main


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """More threads only wait for each other, with models so small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def run(main, tmp_path, monkeypatch, capsys) -> Callable[[str], tuple[int, str, str]]:
    """A function that runs a command of run.py in an empty folder: code, output, errors."""
    monkeypatch.chdir(tmp_path)
    return lambda command: call(main, capsys, *shlex.split(command))


# -- models -----------------------------------------------------------------------------------


def train_both(main, folder: Path, variant: str, *options: str) -> None:
    """Pretrain and finetune a variant by run.py's `main`: VARIANT.{pretrain,finetune}.params."""
    pretrained, finetuned = (f"{variant}.{s}.params" for s in ("pretrain", "finetune"))
    stages = (
        f"pretrain {variant} wiki.txt --writing_params_path {pretrained}",
        f"finetune {variant} wiki.txt --writing_params_path {finetuned} "
        f"--reading_params_path {pretrained} --finetune_corpus_path birth_places_train.tsv",
    )
    with contextlib.chdir(folder):
        for stage in stages:
            assert main([*shlex.split(stage), "--seed", "0", *options]) == 0


def read_model(s, path: Path, variant: str = "vanilla", recipe: str | None = None):
    """The smoke world's corpus, and the model with a file's parameters, of a recipe's size."""
    fields = s.recipes.load_recipe(recipe).model_of(variant)
    dataset = s.inputs.read_corpus("wiki.txt", fields["block_size"])
    config = s.model.GPTConfig(dataset.vocab_size, **fields)
    model = s.inputs.build_model(variant, config, torch.device("cpu"))
    s.inputs.load(model, path)
    return dataset, model.eval()


def make_model(s, variant="vanilla", **changes):
    """A small GPT with large random parameters, so that its answers depend on its input."""
    fields = {"vocab_size": 20, "block_size": 32, "n_layer": 2, "n_head": 4, "n_embd": 16}
    model = s.model.GPT(s.model.GPTConfig(**fields | changes | switch(variant)))
    with torch.no_grad():
        for parameter in model.parameters():
            spread = 0.1 if parameter.dim() == 1 else 0.5
            parameter.add_(torch.randn_like(parameter), alpha=spread)
    return model.eval()


def switch(variant: str) -> dict[str, bool]:
    """The field of GPTConfig that selects a variant."""
    return {} if variant == "vanilla" else {variant: True}
