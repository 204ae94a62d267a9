"""The reference and `pretraining`, imported from a folder like a student's."""

import random

import pytest
import torch

from tests import laid_out
from tests.laid_out import imported

# Fixtures.
assignment = laid_out.assignment
one_thread = laid_out.one_thread


@pytest.fixture(scope="module", autouse=True)
def s(assignment):
    """Return the modules of the reference and of `pretraining`, as attributes."""
    with imported(assignment / "src") as modules:
        yield modules


@pytest.fixture(autouse=True)
def seed():
    random.seed(0)
    torch.manual_seed(0)


@pytest.fixture
def corpus(s):
    text = "Ana Ruiz was born in Lima.\nÉmile Łuk, a sailor, was born in Tromsø in 1845.\nWhere?"
    return s.dataset.CharCorruptionDataset(text, 64)
