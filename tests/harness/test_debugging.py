"""`--in-process` imports a checkout's own files, so that breakpoints bind."""

import shutil

import pytest

from grading.verdicts import Outcome
from tests.harness.conftest import POOLS
from tests.interpreter import python
from tests.student.folder import students_copy

ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
IN_PROCESS = ("src/grader.py", "--in-process", ID)


@pytest.fixture
def checkout(tree, tmp_path):
    """A student's copy of the project, whose copying_query stops and then tells where it is."""
    copy = students_copy(tree, tmp_path / "Übung 5")
    text = "def copying_query(keys, j):\n    breakpoint(); raise ValueError(__file__)\n"
    path = copy / "src" / "submission" / "attention_exploration.py"
    path.write_text(text, encoding="utf-8")
    return copy


def test_a_breakpoint_stops_in_the_checkouts_own_file(checkout):
    """Commands for pdb on standard input: `w` shows the stack, `c` continues."""
    ran = python(checkout, *IN_PROCESS, stdin=None, input="w\nc\n" * 9)
    path = checkout / "src" / "submission" / "attention_exploration.py"
    assert f"> {path}(2)copying_query()" in ran.stdout, ran.stdout + ran.stderr
    assert f"submission/attention_exploration.py:2: ValueError: {path}" in ran.stdout


def test_of_anything_but_a_whole_checkout_a_copy_is_imported(checkout, tmp_path):
    ignored = shutil.ignore_patterns("model.py")  # the grader's own is added to the copy
    upload = shutil.copytree(checkout / "src", tmp_path / "upload", ignore=ignored)
    ran = python(checkout, *IN_PROCESS, "--submission", upload, stdin=None, input="c\n" * 9)
    assert "ValueError: " in ran.stdout, ran.stdout + ran.stderr
    assert str(upload) not in ran.stdout


def test_leaving_the_debugger_is_what_ended_the_test(checkout):
    ran = python(checkout, *IN_PROCESS, stdin=None, input="q\n")
    assert ran.returncode == 1
    says = "submission/attention_exploration.py:2: you left the debugger, so this test did not run"
    assert says in ran.stdout and "--in-process 3a" not in ran.stdout, ran.stdout


@pytest.mark.parametrize("way", POOLS)
def test_isolated_a_breakpoint_says_what_to_do(way, write_query, grade):
    """For breakpoint(), tests/snapshots/ has what it says."""
    body = "import pdb; pdb.set_trace()\nreturn 100.0 * keys[j]\n"
    results = grade(write_query(body), ID, HIDDEN, way=way)
    assert results[ID].outcome is Outcome.ERROR
    # Python reports the next line.
    assert results[ID].where == "submission/attention_exploration.py:5"
    assert f"--in-process {ID}" in results[ID].message
    assert "--in-process" not in results[HIDDEN].message
