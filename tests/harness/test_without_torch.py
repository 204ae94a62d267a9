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

# numpy, and what a checkout, which has no edition.json, reads its description with.
KEPT = ("numpy", "numpy.libs", "numpy-*.dist-info", "pydantic", "pydantic_core")
KEPT += ("annotated_types", "typing_inspection", "typing_extensions.py")


@pytest.fixture(scope="module")
def bare() -> Path:
    """Such a Python, in a folder that the grader's workers can read."""
    folder = Path(tempfile.mkdtemp(prefix="without-torch-"))
    folder.chmod(0o755)
    venv.create(folder, symlinks=True)
    (libraries,) = folder.glob("lib/python*/site-packages")
    ignored = shutil.ignore_patterns("tests", "__pycache__")
    for path in (path for name in KEPT for path in Path(numpy.__file__).parents[1].glob(name)):
        if path.is_dir():
            shutil.copytree(path, libraries / path.name, ignore=ignored)
        else:
            shutil.copy(path, libraries)
    yield folder / "bin" / "python"
    leftovers.remove_tree(folder)


def grade(bare: Path, tree: Path, *arguments: str) -> subprocess.CompletedProcess:
    ran = subprocess.run(
        [bare, "src/grader.py", "--submission", "solutions", *arguments],
        cwd=tree,
        env={"PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran


def test_tests_that_need_no_torch_run_and_others_say_so_in_one_line(bare, tree):
    ran = grade(bare, tree, "3a", "1e-1-basic", "1g-5-hidden")
    assert ran.returncode == 1
    # One line says so, with the command that repairs it.
    assert ran.stderr.count("\n") == 1 and "torch" in ran.stderr
    assert ran.stdout.count(" passed ") == 4 and ran.stdout.count("needs torch") == 2
    counts = grade(bare, tree, "3a", "--authoritative")  # a run that counts does not begin
    assert counts.returncode == 3 and "torch" in counts.stderr + counts.stdout
