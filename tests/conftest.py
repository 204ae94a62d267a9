"""What the tests share: the repository's folder, a way to run commands, a trained project.

make test
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock

from tests.interpreter import python
from tests.project import ROOT, add_recipe, copy_of_the_project, make, quick_release


@pytest.hookimpl(tryfirst=True)  # before the test's fixtures, which may need the tool
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs root, or a tool that is missing; in CI, all tools must be there."""
    if item.get_closest_marker("requires_root") and (sys.platform != "linux" or os.getuid()):
        pytest.skip("needs root on Linux")
    tools = [name for mark in item.iter_markers("requires_tool") for name in mark.args]
    for name in tools:
        if not shutil.which(name):
            end = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            end(f"{name} is missing: apt.txt names Debian's packages")


@pytest.fixture(scope="session", autouse=True)
def folders_of_inner_runs(tmp_path_factory) -> None:
    """Let a pytest that a test starts keep its temporary folders in those of this run.

    Otherwise it would delete, as any run of pytest does, what all but the last three runs have
    left. That takes minutes where one of them was the whole suite, and the test's time runs out.
    """
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the repository's folder."""
    return ROOT


@pytest.fixture(scope="session")
def run_python() -> Callable[..., subprocess.CompletedProcess]:
    """Return a function that runs `python ARGUMENT...`, by default in the repository."""
    return partial(python, ROOT)


@pytest.fixture(scope="session")
def written(tmp_path_factory) -> Path:
    """Return a folder filled by the script of the written answers, without a trained model.

    It would ask the one in build/reference, if there is one, for most of a minute.
    """
    folder = tmp_path_factory.mktemp("written")
    done = python(ROOT, "solutions/written/quoted_numbers.py", folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="session")
def numbers(written) -> dict:
    """Return what the written answers quote."""
    return json.loads((written / "numbers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def executor() -> Iterator[Executor]:
    """Return processes that run the grader's tests on golden variants."""
    from tests.benches import open_executor  # imports torch

    with open_executor() as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


def project_with_a_world(target: Path) -> Path:
    """Copy the project to a folder, and generate a smoke world in it.

    Its editions have no practice, half of all tests, so that a release takes half of its time. The
    recipe `quick` is one epoch of `smoke`.
    """
    copy_of_the_project(target)
    path = target / "assignment.toml"
    text = path.read_text(encoding="utf-8").replace("practice = 4\n", "")
    path.write_text(text, encoding="utf-8", newline="\n")
    add_recipe(target, "quick", max_epochs=1)
    made = make(target, "world", "DATASET=smoke", "SEED=1")
    assert made.returncode == 0, made.stderr
    return target


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first process to ask for it fills; the others wait.

    Args:
        make: fills the folder, which is empty. If it raises, the next process tries it again.
    """
    base = factory.getbasetemp()
    if base.name.startswith("popen-"):  # a process of pytest-xdist, or of a pytest inside one
        base = base.parent  # that of all processes of this run
    folder, made = base / f"once-{name}", base / f"once-{name}.made"
    with FileLock(base / f"once-{name}.lock"):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            made.touch()
    return folder


def come_first() -> None:
    """Let a process that many tests wait for run before others; only root may ask for this."""
    with contextlib.suppress(PermissionError):
        os.nice(-5)


def fresh(factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project with a smoke world in it, which stays as it is."""
    return once(factory, "project", project_with_a_world)


@pytest.fixture(scope="session")
def tree(tmp_path_factory) -> Path:
    """Return such a copy for one process, to which other fixtures add files."""
    target = tmp_path_factory.mktemp("project")
    return shutil.copytree(fresh(tmp_path_factory), target, symlinks=True, dirs_exist_ok=True)


@pytest.fixture(scope="session")
def after_training(tmp_path_factory) -> Path:
    """Return a copy in which the reference was trained."""

    def train(folder: Path) -> None:
        shutil.copytree(fresh(tmp_path_factory), folder, symlinks=True, dirs_exist_ok=True)
        ran = make(folder, "reference", "RECIPE=smoke", preexec_fn=come_first)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    return once(tmp_path_factory, "reference", train)


@pytest.fixture(scope="session")
def reference(tree, after_training) -> Path:
    """Return the trained reference's folder, which is added to `tree`."""
    shutil.copytree(after_training / "build", tree / "build", dirs_exist_ok=True)
    return tree / "build" / "reference"


@pytest.fixture(scope="session")
def released(tree, after_training, tmp_path_factory) -> str:
    """Return what `make release` printed for the default edition; its files are added to `tree`."""

    def run(folder: Path) -> None:
        project = shutil.copytree(after_training, folder / "project", symlinks=True)
        quick_release(project)
        words = ("release", "EDITION=xcs224n", "RECIPE=smoke")
        ran = make(project, *words, preexec_fn=come_first)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        (folder / "printed.txt").write_text(ran.stdout, encoding="utf-8")

    folder = once(tmp_path_factory, "release", run)
    for name in ("build", "dist", "solutions/data"):  # the secret of the runs' seeds is there
        shutil.copytree(folder / "project" / name, tree / name, dirs_exist_ok=True)
    quick_release(tree)
    return (folder / "printed.txt").read_text(encoding="utf-8")
