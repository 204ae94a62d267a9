"""A Python with numpy but without torch: tests that need no torch run, the others say why not."""

import os
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

import numpy
import pytest

from autograder.isolation import leftovers

# What a checkout, which has no edition.json, reads its description with.
DESCRIBED = ("pydantic", "pydantic_core", "annotated_types", "typing_inspection")


@pytest.fixture(scope="module")
def bare() -> Path:
    """Such a Python, in a folder that the grader's workers can read."""
    folder = Path(tempfile.mkdtemp(prefix="without-torch-"))
    folder.chmod(0o755)
    venv.create(folder, symlinks=True)
    (libraries,) = folder.glob("lib/python*/site-packages")
    installed = Path(numpy.__file__).parent
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    described = [installed.parent / name for name in DESCRIBED]
    for source in (
        installed,
        *installed.parent.glob("numpy.libs"),
        metadata(installed.parent),
        *described,
    ):
        shutil.copytree(source, libraries / source.name, ignore=ignored)
    shutil.copy(installed.parent / "typing_extensions.py", libraries)
    yield folder / "bin" / "python"
    leftovers.remove_tree(folder)


def metadata(libraries: Path) -> Path:
    (found,) = libraries.glob("numpy-*.dist-info")
    return found


def grade(bare: Path, tree: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [bare, "src/grader.py", "--submission", "solutions", *arguments],
        cwd=tree,
        env={"PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_tests_that_need_no_torch_run(bare, tree):
    ran = grade(bare, tree, "3a")
    assert ran.returncode == 0
    # One line says so, with the command that repairs it.
    assert ran.stderr.count("\n") == 1 and "torch" in ran.stderr
    assert ran.stdout.count(" passed ") == 4


def test_the_others_say_so_in_one_line(bare, tree):
    ran = grade(bare, tree, "3a-0-basic", "1e-1-basic", "1g-5-hidden")
    assert ran.returncode == 1
    assert ran.stdout.count("needs torch") == 2
    assert ran.stdout.count(" passed ") == 1 and "Traceback" not in ran.stdout


def test_a_run_that_counts_does_not_begin(bare, tree):
    ran = grade(bare, tree, "3a", "--authoritative")
    assert ran.returncode == 3
    assert "torch" in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr
