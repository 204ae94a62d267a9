"""The reference and `pretraining`, imported from a folder like a student's."""

import importlib
import random
import types

import pytest
import torch

from tests.laid_out import imports_from, lay_out
from tests.reference.texts import CORPUS


@pytest.fixture(scope="package")
def source(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("laid_out") / "root") / "src"


@pytest.fixture(scope="module", autouse=True)
def s(source):
    """Return the modules of the reference and of `pretraining`, as attributes."""
    with imports_from(source):
        modules = {}
        for package in ("submission", "pretraining"):
            for path in (source / package).glob("*.py"):
                modules[path.stem] = importlib.import_module(f"{package}.{path.stem}")
        yield types.SimpleNamespace(**modules)


@pytest.fixture(autouse=True)
def seed():
    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def corpus(s):
    return s.dataset.CharCorruptionDataset(CORPUS + "Where?", 64)
