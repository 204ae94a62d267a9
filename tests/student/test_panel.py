"""pytest in a student's copy, as an editor's test panel runs it, and breakpoints."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from grading.edition import load_assignment
from tests.interpreter import python
from tests.project import ROOT, edit
from tests.student.folder import students_copy

EXPLORATION = "src/questions/attention_exploration/tests.py"
REFERENCE = ROOT / "solutions" / "submission"
IN_PROCESS = "A debugger is attached. In-process: no isolation and no limits; "
# What VS Code's adapter (vscode_pytest) reads of each item, and the id with which it runs one.
ADAPTER = """
import json, sys
def pytest_collection_finish(session):
    print(json.dumps([
        {
            "name": item.name,
            "id": "::".join([str(item.path), *item.nodeid.split("::")[1:]]),
            "line": item.location[1] + 1,
            "file": str(item.parent.path),
            "inside": item.path.is_relative_to(session.path),
        }
        for item in session.items
    ]))
    loaded = {name.partition(".")[0] for name in sys.modules}
    print("loaded", *loaded & {"torch", "submission", "pretraining"})
"""


@pytest.fixture
def copy(tree, tmp_path):
    """The starter, in a folder with a name that people use."""
    return students_copy(tree, tmp_path / "Übung" / "assignment5")


@pytest.fixture
def submission(copy):
    return copy / "src" / "submission"


@pytest.fixture
def run(copy):
    """run(WORD...): pytest's exit code and output, in lines."""

    def run(*words, folder=copy, **keywords):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CI"))}
        keywords = {"env": environment | {"COLUMNS": "200"}, **keywords}
        ran = python(folder, "-m", "pytest", *words, **keywords)
        assert "Traceback" not in ran.stdout + ran.stderr
        return ran.returncode, (ran.stdout + ran.stderr).splitlines()

    return run


def counts(lines):
    """How many tests ended how: {"passed": 2, "skipped": 2}."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", lines[-1])}


# ---------------------------------------------------------------- collecting


def test_an_editor_gets_every_test_with_files_lines_and_ids_that_it_can_run(
    run, tree, copy, tmp_path
):
    (tmp_path / "adapter.py").write_text(ADAPTER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code, lines = run("-p", "adapter", f"--rootdir={copy}", "--co", "-q", env=environment)
    assert code == 0
    assert "loaded" in lines  # and none of those
    items = json.loads(next(line for line in lines if line.startswith("[{")))
    tests = load_assignment(tree).edition("xcs224n").tests
    assert [item["name"] for item in items] == [test.test_id for test in tests]
    for item in items:
        assert item["inside"] and item["id"] == f"{item['file']}::{item['name']}"
        line = Path(item["file"]).read_text(encoding="utf-8").splitlines()[item["line"] - 1]
        assert line.strip().startswith(("@graded", "class ")), item
    # Run two at once, as the adapter passes them back.
    some = [item["id"] for item in items if item["name"] in ("3a-0-basic", "3a-2-basic")]
    assert counts(run(*some, "-q")[1]) == {"failed": 2}


def test_a_test_that_does_not_exist_is_one_line(run):
    code, lines = run("--co", "3a-0-basci")
    (said,) = filter(None, lines)
    assert code == 4
    assert said.startswith("ERROR: no test or question '3a-0-basci'; did you mean '3a-0-ba")


def test_next_to_the_solutions_pytest_grades_nothing(run):
    settings = ("-c", os.devnull, "-o", "pythonpath=src", "-p", "grading.pytest_plugin")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    code, lines = run(*settings, folder=ROOT, env=environment)
    assert code == 4 and "ERROR: tests of submissions run in pytest only in a student's" in lines[0]


# ---------------------------------------------------------------- running


def test_outcomes_and_messages_are_the_graders(run, submission):
    shutil.copy(REFERENCE / "attention_exploration.py", submission)
    (submission / "london_baseline.py").write_text("x = = 1\n", encoding="utf-8")
    edit(submission / "attention_exploration.py", "def copying_keys(", "def copying_kies(")
    code, lines = run("3a", "3b", "1d-2-basic", "-rs")
    text = "\n".join(lines)
    assert code == 1
    assert "\nsubmission/london_baseline.py:1: not valid Python: invalid syntax: x = = 1\n" in text
    assert re.search(r"\n_+ 3a-2-basic: copying_keys puts all weight .*_\n.*copying_keys", text)
    # Right code: basic tests pass, hidden ones are graded later.
    assert counts(lines) == {"passed": 2, "skipped": 2, "failed": 3}
    assert re.search(r"SKIPPED \[2\].*: ran without crashing; it is graded when you submit", text)
    assert re.search(r"\nbasic 0 of 1; without points 2 of 3; release .*\nFiles: ", text)
    assert re.search(r"\nseed \d+\n", text)


def test_a_grader_error_is_not_the_students(run, copy):
    edit(copy / EXPLORATION, '"attention_exploration.call"', '"no_such_topic.call"')
    code, lines = run("3a-0-basic", "-q", folder=copy / "src")
    assert code == 3 and any("the grader itself failed here" in line for line in lines)


# ---------------------------------------------------------------- breakpoints

GRADER = ("src/grader.py", "--in-process", "3a-0-basic")


@pytest.fixture
def stopping(submission):
    """A file whose copying_query stops, and then tells where it is."""
    text = "def copying_query(keys, j):\n    breakpoint(); raise ValueError(__file__)\n"
    path = submission / "attention_exploration.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_in_process_a_breakpoint_stops_in_the_checkouts_own_file_and_leaving_ends_the_test(
    copy, stopping
):
    ran = python(copy, *GRADER, stdin=None, input="q\n")
    assert f"> {stopping}(2)copying_query()" in ran.stdout, ran.stdout + ran.stderr
    assert ran.returncode == 1
    says = "submission/attention_exploration.py:2: you left the debugger, so this test did not run"
    assert says in ran.stdout and "--in-process 3a" not in ran.stdout, ran.stdout


# Editors' debuggers, debugpy and pydevd, are recognised by their modules.
DEBUGGED = """
import runpy, sys
sys.modules["debugpy"] = sys
sys.argv[0] = "pytest"
runpy.run_module("pytest", run_name="__main__")
"""


def test_under_a_debugger_pytest_runs_tests_in_process_and_stops_in_the_checkouts_own_file(
    copy, stopping
):
    ran = python(copy, "-c", DEBUGGED, "-s", "3a-0-basic", stdin=None, input="c\n" * 9)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 1 and printed.count(IN_PROCESS) == 1, printed
    assert f"> {stopping}(2)copying_query()" in printed
