"""`--in-process` imports a checkout's own files, so that breakpoints bind."""

import zipfile

import pytest

from autograder.judging import course_runner
from grading.pool import InProcessPool
from grading.runner import Observer, Options, own_package
from grading.staging import stage
from grading.verdicts import Outcome
from questions.course import Course
from questions.provided import PROVIDED
from tests import pinned
from tests.harness.conftest import POOLS
from tests.interpreter import python
from tests.student.folder import students_copy

ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
PLACE = "raise ValueError(__file__)\n"


@pytest.fixture
def checkout(tree, tmp_path):
    """A student's copy of the project, whose copying_query tells where it stands."""
    return students_copy(tree, tmp_path / "Übung 5")


def write(checkout, body):
    text = f"import numpy as np\n\ndef copying_query(keys, j):\n    {body}"
    path = checkout / "src" / "submission" / "attention_exploration.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_checkouts_own_files_are_imported(checkout):
    path = write(checkout, PLACE)
    ran = python(checkout, "src/grader.py", "--in-process", ID)
    assert f"submission/attention_exploration.py:4: ValueError: {path}" in ran.stdout, ran.stderr


def test_isolated_a_copy_is_imported(checkout):
    path = write(checkout, PLACE)
    ran = python(checkout, "src/grader.py", ID)
    assert "ValueError: " in ran.stdout and str(path) not in ran.stdout


def test_a_breakpoint_stops_there(checkout):
    """Commands for pdb on standard input: `w` shows the stack, `c` continues."""
    path = write(checkout, "breakpoint(); return 100.0 * keys[j]\n")
    ran = python(checkout, "src/grader.py", "--in-process", ID, stdin=None, input="w\nc\n" * 9)
    assert f"> {path}(4)copying_query()" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 0


@pytest.mark.parametrize("keys", ["q\n", ""])
def test_leaving_the_debugger_is_what_ended_the_test(checkout, keys):
    write(checkout, "breakpoint(); return 100.0 * keys[j]\n")
    ran = python(checkout, "src/grader.py", "--in-process", ID, stdin=None, input=keys)
    assert ran.returncode == 1
    said = "submission/attention_exploration.py:4: you left the debugger, so this test did not run"
    assert said in ran.stdout and "--in-process 3a" not in ran.stdout, ran.stdout


def test_trained_files_are_found_beside_a_checkout(checkout, tmp_path):
    (checkout / "vanilla.model.params").write_bytes(b"no parameters")
    ran = python(checkout, "src/grader.py", "--in-process", "1d")
    assert "vanilla.model.params" in ran.stdout and "Traceback" not in ran.stderr


def test_a_zip_stays_staged(checkout, tmp_path):
    path = write(checkout, PLACE)
    archive = tmp_path / "assignment5.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.write(path, "submission/attention_exploration.py")
    ran = python(checkout, "src/grader.py", "--in-process", "--submission", str(archive), ID)
    assert "ValueError: " in ran.stdout and str(path) not in ran.stdout, ran.stderr


@pytest.mark.parametrize("missing", [False, True])
def test_a_package_that_is_not_whole_is_copied(submission, tmp_path, missing):
    if missing:
        (submission / "submission" / "model.py").unlink()
    staged = stage(submission, tmp_path / "staged", PROVIDED)
    own = own_package(staged)
    assert own == (None if missing else submission)


def test_the_reference_is_never_imported_in_its_place(submission, monkeypatch):
    """A judge calls the reference in between: one's modules are removed before the other runs."""
    runner = course_runner(pinned.load(), Course())
    asked = Options(submission=submission, selection=("1g-5-hidden", ID), in_process=True)
    results = runner.run(asked, 7, Observer(), InProcessPool())
    assert {t.outcome for t in results.tests if t.is_selected} == {Outcome.PASSED}


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
