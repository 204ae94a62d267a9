"""run.py, imported from a folder like a student's, and parameters of each variant."""

import importlib

import pytest

from tests import laid_out
from tests.laid_out import VARIANTS, imports_from, train_both

# Fixtures.
assignment = laid_out.assignment
run = laid_out.run
one_thread = laid_out.one_thread


@pytest.fixture(scope="package")
def modules(assignment):
    """Import run.py and helper.py once, since a new process takes seconds to start."""
    with imports_from(assignment / "src"):
        yield importlib.import_module("run"), importlib.import_module("submission.helper")


@pytest.fixture(scope="package")
def main(modules):
    return modules[0].main


@pytest.fixture(scope="package")
def trained(main, tmp_path_factory):
    """Return a folder with the parameters of a pretrained and a finetuned model of each variant."""
    folder = tmp_path_factory.mktemp("trained")
    for variant in VARIANTS:
        train_both(main, folder, variant)
    return folder
