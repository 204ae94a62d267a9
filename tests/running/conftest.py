"""run.py, imported from a folder like a student's, and parameters of each variant."""

import pytest

from tests import laid_out
from tests.laid_out import VARIANTS, train_both

# Fixtures.
assignment = laid_out.assignment
lab = laid_out.lab
main = laid_out.main
run = laid_out.run
one_thread = laid_out.one_thread


@pytest.fixture(scope="package")
def trained(main, tmp_path_factory):
    """Return a folder with the parameters of a pretrained and a finetuned model of each variant."""
    folder = tmp_path_factory.mktemp("trained")
    for variant in VARIANTS:
        train_both(main, folder, variant)
    return folder
