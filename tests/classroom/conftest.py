"""A class that is only made once, and small exports written by hand."""

import functools
from pathlib import Path

import pytest

from classroom.gradescope import METADATA
from tests.classroom.clusters import certificates, dask, start  # noqa: F401
from tests.classroom.graded import eight, graded, release, start_grading, undisturbed  # noqa: F401
from tests.classroom.make_class import MadeClass, make_class
from tests.classroom.scripted import workers  # noqa: F401
from tests.classroom.tiny import course, temporary  # noqa: F401


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Return made(packed), which returns a class of 40; each is only made once."""

    @functools.cache
    def make(packed: bool = False) -> MadeClass:
        return make_class(tmp_path_factory.mktemp("made"), 40, packed=packed)

    return make


@pytest.fixture
def export(tmp_path):
    """Return export(metadata, *folders), which writes a Gradescope export with a module in each."""

    def write(metadata: str, *folders: str) -> Path:
        root = tmp_path / "assignment_1_export"
        root.mkdir()
        (root / METADATA).write_text(metadata, encoding="utf-8")
        for name in folders:
            (root / name / "submission").mkdir(parents=True)
            (root / name / "submission" / "a.py").write_text(f"x = '{name}'\n", encoding="utf-8")
        return root

    return write
