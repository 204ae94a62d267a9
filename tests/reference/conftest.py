"""The reference's package `submission`, imported from a folder as students have it."""

import importlib
import random
import types

import pytest
import torch
from laid_out import imports_from, lay_out
from texts import CORPUS


@pytest.fixture(scope="package")
def source(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("laid_out") / "root") / "src"


@pytest.fixture(scope="module", autouse=True)
def s(source):
    """The modules of the reference, as attributes."""
    with imports_from(source):
        names = [path.stem for path in (source / "submission").glob("*.py")]
        modules = {name: importlib.import_module(f"submission.{name}") for name in names}
        yield types.SimpleNamespace(**modules)


@pytest.fixture(autouse=True)
def seed():
    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def corpus(s):
    return s.dataset.CharCorruptionDataset(CORPUS + "Where?", 64)
