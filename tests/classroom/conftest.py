"""A class that is only made once, and small exports written by hand."""

from pathlib import Path

import pytest

from autograder import solutions
from classroom.gradescope import METADATA
from grading import paths
from tests.classroom.clusters import certificates, dask, start  # noqa: F401
from tests.classroom.graded import eight, graded, release, start_grading, undisturbed  # noqa: F401
from tests.classroom.make_class import MadeClass, make_class
from tests.classroom.tiny import course, temporary  # noqa: F401
from tools import world


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Return made(platform, packed), which returns a class of 40; each is only made once."""
    kept: dict[tuple[str, bool], MadeClass] = {}

    def make(platform: str = "gradescope", packed: bool = False) -> MadeClass:
        if (platform, packed) not in kept:
            folder = tmp_path_factory.mktemp(platform)
            kept[platform, packed] = make_class(folder, 40, platform=platform, packed=packed)
        return kept[platform, packed]

    return make


@pytest.fixture(scope="session")
def smoke_world(tmp_path_factory) -> Path:
    """Return a folder with src/data/ and solutions/data/, which are missing in a checkout."""
    folder = tmp_path_factory.mktemp("world")
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(folder)]) == 0
    return folder


@pytest.fixture
def data(smoke_world, monkeypatch) -> Path:
    """Let hosts of this process find the smoke world, and return its folder."""
    monkeypatch.setattr(paths, "DATA", smoke_world / "src" / "data")
    monkeypatch.setattr(solutions, "ANSWERS", smoke_world / "solutions" / "data")
    return smoke_world


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
