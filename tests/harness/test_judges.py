"""Judges and tests are bound when the assignment loads; a missing one is reported in one line."""

import shutil

import pytest

from tests.interpreter import python
from tests.project import copy_of_the_grader, edit


@pytest.fixture
def tree(tmp_path):
    return copy_of_the_grader(tmp_path)


JUDGE = "def span_corruption_every_length("
TESTS = "src/questions/span_corruption/tests.py"
HIDDEN = "solutions/hidden/span_corruption.py"
MISTAKES = [
    # (file, a text in it, what replaces it, words of the output)
    (HIDDEN, JUDGE, "def every_length(", "every_length is a hidden test, but solutions/hidden/"),
    (HIDDEN, JUDGE, f"def span_corruption_x(): 5\n{JUDGE}", f"{HIDDEN}: span_corruption_x judges"),
    (HIDDEN, '"""', 'x y\n"""', "solutions/hidden/: span_corruption.py:1: SyntaxError: "),
    (TESTS, '"""', 'x y\n"""', f"{TESTS} can't be imported: tests.py:1: SyntaxError"),
]


@pytest.mark.parametrize(("file", "old", "new", "words"), MISTAKES)
def test_a_mistake_of_staff_is_one_line(tree, file, old, new, words):
    edit(tree / file, old, new)
    ran = python(tree, "src/grader.py", "--list")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and words in ran.stderr


LACKING = [
    # (what is missing, arguments, exit code, words of the output)
    ("solutions/hidden", ("--authoritative", "3a-1-hidden"), 3, "solutions/hidden/"),
    ("solutions/hidden/__init__.py", ("--list",), 2, "__init__.py"),
    ("solutions/submission", ("3a-1-hidden",), 3, "solutions/submission/"),
    ("src/submission/model.py", ("--submission", "upload", "1g-1-basic"), 3, "grader error"),
]


@pytest.mark.parametrize(("name", "arguments", "code", "words"), LACKING)
def test_nothing_is_graded_where_something_of_ours_is_missing(tree, name, arguments, code, words):
    shutil.copytree(tree / "solutions/submission", tree / "upload")
    path = tree / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    ran = python(tree, "src/grader.py", *arguments)
    assert ran.returncode == code and words in ran.stdout + ran.stderr
