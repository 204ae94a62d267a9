"""The reference and `pretraining`, imported from a folder like a student's."""

import importlib
import random
import types

import pytest
import torch

from tests import laid_out
from tests.laid_out import imports_from
from tests.reference.texts import CORPUS

# Fixtures.
root = laid_out.root
one_thread = laid_out.one_thread


@pytest.fixture(scope="package")
def source(root):
    return root / "src"


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
