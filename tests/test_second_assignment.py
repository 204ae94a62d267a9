"""The harness, unchanged, grades another assignment: tests/second_assignment."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grading import paths

HERE = Path(__file__).resolve().parent
RIGHT = "def double(number):\n    return number + number\n"
WRONG = "def double(number):\n    return number ** 2 if number > 5 else 2 * number\n"
UNFINISHED = "def double(number):\n    raise NotImplementedError\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the second assignment with the harness, and nothing else from this project."""
    source = tmp_path / "autograder" / "source"
    shutil.copytree(HERE / "second_assignment", source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(paths.SRC / "grading", source / "src" / "grading", ignore=ignored)
    (source / "solutions" / "data").mkdir()
    (source / "solutions" / "data" / "grading_secret").write_text("secret\n", encoding="ascii")
    return source


def hand_in(folder: Path, code: str) -> Path:
    (folder / "submission").mkdir(parents=True)
    (folder / "submission" / "__init__.py").touch()
    (folder / "submission" / "doubling.py").write_text(code, encoding="utf-8")
    return folder


def grade(tree: Path, *words: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "src/grader.py", *words]
    return subprocess.run(command, cwd=tree, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize(
    ("code", "score", "code_of_exit"), [(RIGHT, "6 / 6", 0), (WRONG, "2 / 6", 1), ("", "0 / 6", 1)]
)
def test_the_command_grades_it(tree, tmp_path, code, score, code_of_exit):
    ran = grade(tree, "--submission", str(hand_in(tmp_path / "upload", code or UNFINISHED)))
    assert ran.returncode == code_of_exit, ran.stdout + ran.stderr
    assert f"{score}     points in all" in ran.stdout
    assert ran.stderr == ""


def test_it_lists_its_tests_and_says_where_they_are(tree):
    assert "1a-1-hidden" in grade(tree, "--list").stdout
    places = grade(tree, "--where", "1a-1-hidden").stdout
    for place in (
        "src/questions/doubling/tests.py:19",
        "src/questions/doubling/probe.py:8",
        "solutions/hidden/doubling.py:8",
    ):
        assert place in places


def test_run_autograder_grades_it(tree, tmp_path):
    """Run Gradescope's script in a plain folder."""
    root = tree.parent
    script = (HERE.parent / "tools" / "gradescope" / "run_autograder").read_text(encoding="utf-8")
    (root / "run_autograder").write_text(script.replace("@EDITION@", "only"), encoding="utf-8")
    (root / "results").mkdir()
    hand_in(root / "submission", WRONG)
    home = tmp_path / "home"
    home.mkdir()
    (home / "venv").symlink_to(sys.prefix)
    ran = subprocess.run(
        ["sh", str(root / "run_autograder"), "--preview"],
        env=os.environ | {"PROBLEM_SET_HOME": str(home)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    assert [(test["score"], test["max_score"]) for test in results["tests"]] == [(2, 2), (0, 4)]
