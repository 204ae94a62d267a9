"""Judges and tests are bound when the assignment loads; a missing one is reported in one line."""

import shutil

import pytest

from tests.interpreter import python
from tests.project import copy_of_the_grader


@pytest.fixture
def tree(tmp_path):
    return copy_of_the_grader(tmp_path)


JUDGE = "def span_corruption_every_length("
TESTS = "src/questions/span_corruption/tests.py"
HIDDEN = "solutions/hidden/span_corruption.py"
MISTAKES = {
    "a judge that is missing": (
        HIDDEN,
        lambda text: text.replace(JUDGE, "def every_length("),
        "every_length is a hidden test, but solutions/hidden/ has no judge span_corruption_every_",
    ),
    "a judge of no test": (
        HIDDEN,
        lambda text: text + "\n\ndef span_corruption_everything(case):\n    pass\n",
        "solutions/hidden/span_corruption.py: span_corruption_everything judges no hidden test",
    ),
    "a judge's module that is not valid Python": (
        HIDDEN,
        lambda text: "x y\n" + text,
        "solutions/hidden/: span_corruption.py:1: SyntaxError: ",
    ),
    "a test's module that is not valid Python": (
        TESTS,
        lambda text: "x y\n" + text,
        "src/questions/span_corruption/tests.py can't be imported: tests.py:1: SyntaxError",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_staff_is_one_line(name, tree):
    file, change, words = MISTAKES[name]
    text = (tree / file).read_text(encoding="utf-8")
    assert change(text) != text
    (tree / file).write_text(change(text), encoding="utf-8")
    ran = python(tree, "src/grader.py", "--list")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and words in ran.stderr


LACKING = [
    # (what is missing, arguments, exit code, words of the output)
    ("solutions/hidden", ("--authoritative", "3a-1-hidden"), 3, "solutions/hidden/"),
    ("solutions/hidden/__init__.py", ("--list",), 2, "__init__.py"),
    ("solutions/submission", ("3a-1-hidden",), 3, "solutions/submission/"),
    ("src/submission/model.py", ("--submission", "upload", "1g-1-basic"), 3, "grader error"),
    ("src/pretraining/__init__.py", ("--submission", "upload", "1e-2-basic"), 3, "grader error"),
]


@pytest.mark.parametrize(("name", "arguments", "code", "words"), LACKING)
def test_nothing_is_graded_where_something_of_ours_is_missing(tree, name, arguments, code, words):
    shutil.copytree(tree / "solutions/submission", tree / "upload")
    path = tree / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    ran = python(tree, "src/grader.py", *arguments)
    assert ran.returncode == code and words in ran.stdout + ran.stderr
