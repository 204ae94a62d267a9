"""run.py, imported from a folder like a student's, and parameters of each variant."""

import importlib
import shlex

import pytest

from tests.laid_out import VARIANTS, imports_from, lay_out
from tests.running.commands import FINETUNE, PRETRAIN


@pytest.fixture(scope="package")
def root(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("laid_out") / "root")


@pytest.fixture(scope="package")
def modules(root):
    """Import run.py and helper.py once, since a new process takes seconds to start."""
    with imports_from(root / "src"):
        yield importlib.import_module("run"), importlib.import_module("submission.helper")


@pytest.fixture
def run(modules, root, tmp_path, monkeypatch, capsys):
    """Return a function that runs a sheet's command in an empty folder: code, output, errors."""
    monkeypatch.chdir(tmp_path)

    def call(command: str) -> tuple[int, str, str]:
        try:
            code = modules[0].main(shlex.split(command.partition("run.py")[2] or command))
        except SystemExit as error:  # argparse
            code = error.code
        return code, *capsys.readouterr()

    return call


@pytest.fixture(scope="package")
def trained(modules, tmp_path_factory):
    """Return a folder with the parameters of a pretrained and a finetuned model of each variant."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for variant in VARIANTS:
            for command in (PRETRAIN, FINETUNE):
                command = command.replace("vanilla", variant)
                assert modules[0].main([*shlex.split(command)[2:], "--seed", "0"]) == 0
    return folder
