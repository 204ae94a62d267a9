"""`--in-process` imports a checkout's own files, so that breakpoints bind."""

import shutil
import zipfile

import pytest

from autograder.judging import course_runner
from grading.pool import InProcessPool
from grading.runner import Observer, Options
from grading.verdicts import Outcome
from questions.course import Course
from tests import pinned
from tests.harness.conftest import POOLS
from tests.interpreter import python
from tests.student.folder import students_copy

ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
PLACE = "raise ValueError(__file__)\n"
STOPS = "breakpoint(); return 100.0 * keys[j]\n"
IN_PROCESS = ("src/grader.py", "--in-process", ID)


@pytest.fixture
def checkout(tree, tmp_path):
    """A student's copy of the project, whose copying_query tells where it stands."""
    return students_copy(tree, tmp_path / "Übung 5")


def write(checkout, body):
    text = f"import numpy as np\n\ndef copying_query(keys, j):\n    {body}"
    path = checkout / "src" / "submission" / "attention_exploration.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_checkouts_own_files_are_imported_and_otherwise_a_copy(checkout, tmp_path):
    path = write(checkout, PLACE)
    archive = tmp_path / "assignment5.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.write(path, "submission/attention_exploration.py")
    ran = python(checkout, *IN_PROCESS)
    assert f"submission/attention_exploration.py:4: ValueError: {path}" in ran.stdout, ran.stderr
    ignored = shutil.ignore_patterns("model.py")  # the grader's own is added to the copy
    upload = shutil.copytree(checkout / "src", tmp_path / "upload", ignore=ignored)
    copied = [python(checkout, "src/grader.py", ID)]
    copied += [python(checkout, *IN_PROCESS, "--submission", each) for each in (archive, upload)]
    for ran in copied:
        assert "ValueError: " in ran.stdout, ran.stdout + ran.stderr
        assert str(path) not in ran.stdout and str(upload) not in ran.stdout


def test_a_breakpoint_stops_there(checkout):
    """Commands for pdb on standard input: `w` shows the stack, `c` continues."""
    path = write(checkout, STOPS)
    ran = python(checkout, *IN_PROCESS, stdin=None, input="w\nc\n" * 9)
    assert f"> {path}(4)copying_query()" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 0


@pytest.mark.parametrize("keys", ["q\n", ""])
def test_leaving_the_debugger_is_what_ended_the_test(checkout, keys):
    write(checkout, STOPS)
    ran = python(checkout, *IN_PROCESS, stdin=None, input=keys)
    assert ran.returncode == 1
    told = "submission/attention_exploration.py:4: you left the debugger, so this test did not run"
    assert told in ran.stdout and "--in-process 3a" not in ran.stdout, ran.stdout


def test_the_reference_is_never_imported_in_its_place(submission):
    """A judge calls the reference in between: one's modules are removed before the other runs."""
    runner = course_runner(pinned.load(), Course())
    options = Options(submission=submission, selection=("1g-5-hidden", ID), in_process=True)
    results = runner.run(options, 7, Observer(), InProcessPool())
    assert {*results.outcomes} == {Outcome.PASSED}


WAYS = ["breakpoint()", "import pdb; pdb.set_trace()", "import bdb; raise bdb.BdbQuit"]


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("call", WAYS)
def test_isolated_a_breakpoint_says_what_to_do(call, way, write_query, grade):
    results = grade(write_query(f"{call}\nreturn 100.0 * keys[j]\n"), ID, HIDDEN, way=way)
    assert results[ID].outcome is Outcome.ERROR
    # For pdb.set_trace(), Python reports the next line.
    line = 5 if "set_trace" in call else 4
    assert results[ID].where == f"submission/attention_exploration.py:{line}"
    assert f"--in-process {ID}" in results[ID].message
    assert "--in-process" not in results[HIDDEN].message
