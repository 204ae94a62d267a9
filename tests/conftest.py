"""What the tests share: the repository's folder, a way to run commands, a trained project.

make test
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.interpreter import python
from tests.project import ROOT, copy_of_the_project, make, quick_demo_notebook


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def run_python() -> Callable[..., subprocess.CompletedProcess]:
    """Return a function that runs `python ARGUMENT...` as strictly as the suite itself.

    Its keyword arguments are those of subprocess.run; by default it runs in the repository.
    """

    def run(*arguments: str | Path, **keywords) -> subprocess.CompletedProcess:
        return python(ROOT, *map(str, arguments), **{"timeout": 300, **keywords})

    return run


@pytest.fixture(scope="session")
def tree(tmp_path_factory) -> Path:
    """Return a copy of the project with a smoke world in it."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("project"))
    made = make(tree, "world", "DATASET=smoke", "SEED=1")
    assert made.returncode == 0, made.stderr
    return tree


@pytest.fixture(scope="session")
def demo(tree) -> subprocess.CompletedProcess:
    """Run the demo once, and return what it printed."""
    return make(tree, "demo", "RECIPE=smoke", timeout=900)


@pytest.fixture(scope="session")
def released(tree, demo) -> str:
    """Return what `make release` prints for the default edition, run once, after the demo."""
    quick_demo_notebook(tree)
    words = ("release", "EDITION=xcs224n", "RECIPE=smoke")
    made = make(tree, *words, timeout=900)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout
