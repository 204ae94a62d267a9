"""Which command grader.py runs: staff's beside the solutions, elsewhere a student's, or none."""

import os
import shutil
from pathlib import Path

import pytest

from autograder.description import load_assignment
from grading.edition import EDITION, to_json
from tests.interpreter import python
from tests.project import copy_of_the_grader, write_files


@pytest.fixture
def tree(tmp_path) -> Path:
    return copy_of_the_grader(tmp_path / "tree")


def test_staff_and_students_have_their_own_command_whatever_is_installed(tree, tmp_path):
    another = {"autograder/__init__.py": "raise SystemExit('another package')\n"}
    installed = write_files(tmp_path / "installed", another)
    environment = os.environ | {"PYTHONPATH": str(installed)}
    ran = python(tree, "src/grader.py", "--help", env=environment)
    assert (ran.returncode, ran.stderr) == (0, "") and "--staff-html" in ran.stdout

    described = load_assignment(tree)
    edition = described.for_students(described.default_edition, ())
    (tree / EDITION).write_bytes(to_json(edition))
    (tree / "assignment.toml").unlink()
    for name in ("solutions", "autograder"):
        shutil.rmtree(tree / name)
    ran = python(tree, "src/grader.py", "--help", env=environment)
    assert (ran.returncode, ran.stderr) == (0, "") and "--staff-html" not in ran.stdout


def test_nothing_is_graded_beside_solutions_without_a_whole_autograder(tree):
    damaged = tree / "autograder" / "isolation" / "pool.py"
    damaged.write_text("import a_missing_library\n", encoding="utf-8")
    ran = python(tree, "src/grader.py", "3a-0-basic")
    assert (ran.returncode, ran.stdout) == (3, "") and ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("grader.py: the grader failed: autograder/ can't be imported")
    shutil.rmtree(tree / "autograder")
    ran = python(tree, "src/grader.py", "3a-0-basic")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and "no autograder/" in ran.stderr
