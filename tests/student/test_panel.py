"""pytest in a student's copy, as an editor's test panel runs it, and breakpoints."""

import json
import os
import re
import shutil

import pytest

from grading.edition import load_assignment
from tests.interpreter import python
from tests.project import ROOT
from tests.student.folder import students_copy

EXPLORATION = "src/questions/attention_exploration/tests.py"
CORRUPTION = "src/questions/span_corruption/tests.py"
REFERENCE = ROOT / "solutions" / "submission"
IN_PROCESS = "A debugger is attached. In-process: no isolation and no limits; "
TEST = "1c-2-hidden"  # it calls CausalSelfAttention
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


@pytest.fixture(scope="module")
def copy(tree, tmp_path_factory):
    """The starter, in a folder with a name that people use; tests leave it as it was."""
    return students_copy(tree, tmp_path_factory.mktemp("Übung") / "assignment5")


@pytest.fixture
def submission(copy):
    """The folder of the student's modules, restored after the test."""
    folder, kept = copy / "src" / "submission", copy.parent / "kept"
    shutil.copytree(folder, kept)
    yield folder
    shutil.rmtree(folder)
    kept.rename(folder)


@pytest.fixture
def run(copy):
    """run(WORD...): pytest's exit code and output, in lines."""

    def run(*words, **keywords):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CI"))}
        keywords = {"env": environment | {"COLUMNS": "200"}, **keywords}
        ran = python(keywords.pop("folder", copy), "-m", "pytest", *words, **keywords)
        assert "Traceback" not in ran.stdout + ran.stderr
        return ran.returncode, (ran.stdout + ran.stderr).splitlines()

    return run


def ids(lines):
    return [line for line in lines if "::" in line]


def counts(lines):
    """How many tests ended how: {"passed": 2, "skipped": 2}."""
    return {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", lines[-1])}


def write(submission, name, before, after):
    text = (submission / name).read_text(encoding="utf-8")
    assert before in text
    (submission / name).write_text(text.replace(before, after), encoding="utf-8")


# ---------------------------------------------------------------- collecting


def test_every_test_is_an_item_in_the_editions_order(run, tree, copy):
    code, lines = run("--co", "-q")
    tests = load_assignment(tree).edition("xcs224n").tests
    assert code == 0 and len(tests) > 50
    assert [node.partition("::")[2] for node in ids(lines)] == [test.test_id for test in tests]
    assert run("--co", "-q", folder=copy / "src")[1][:-1] == lines[:-1]  # but not the time


def test_an_editor_gets_files_lines_and_ids_that_it_can_run(run, copy, tmp_path):
    (tmp_path / "adapter.py").write_text(ADAPTER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code, lines = run("-p", "adapter", f"--rootdir={copy}", "--co", "-q", env=environment)
    assert code == 0
    assert "loaded" in lines  # and none of those
    items = json.loads(next(line for line in lines if line.startswith("[{")))
    settled = {item["id"] for item in items}
    assert len(settled) == len(items) > 50
    for item in items:
        assert item["inside"] and item["id"] == f"{item['file']}::{item['name']}"
        with open(item["file"], encoding="utf-8") as file:
            line = file.read().splitlines()[item["line"] - 1]
        assert line.strip().startswith(("@graded", "class ")), item
    # Run one, and several at once, as the adapter passes them back.
    some = [item["id"] for item in items if item["name"] in ("3a-0-basic", "1e-0-basic")]
    assert counts(run(*some, "-q")[1]) == {"failed": 1, "passed": 1}
    assert counts(run(f"{CORRUPTION}::1e-0-basic", "-q")[1]) == {"passed": 1}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["9z"], "ERROR: no test or question '9z'; questions with tests are "),
        (["--co", "3a-0-basci"], "ERROR: no test or question '3a-0-basci'; did you mean '3a-0-ba"),
        (["-n", "2"], "ERROR: -n can't be used: all tests share one worker"),
    ],
)
@pytest.mark.sampled(3)
def test_what_makes_no_sense_is_refused_in_one_line(run, words, line):
    code, lines = run(*words)
    (said,) = filter(None, lines)
    assert code == 4 and said.startswith(line)


def test_next_to_the_solutions_pytest_grades_nothing(run):
    settings = ("-c", os.devnull, "-o", "pythonpath=src", "-p", "grading.pytest_plugin")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    code, lines = run(*settings, folder=ROOT, env=environment)
    assert code == 4 and "ERROR: tests of submissions run in pytest only in a student's" in lines[0]


# ---------------------------------------------------------------- running


def test_outcomes_and_messages_are_the_graders(run, submission):
    shutil.copy(REFERENCE / "attention_exploration.py", submission)
    (submission / "london_baseline.py").write_text("x = = 1\n", encoding="utf-8")
    (submission / "dataset.py").unlink()
    write(submission, "attention_exploration.py", "def copying_keys(", "def copying_kies(")
    code, lines = run("3a", "3b", "1e-1-basic", "1e-5-hidden", "1d-2-basic", "-rs")
    text = "\n".join(lines)
    assert code == 1
    assert text.count("submission/dataset.py is missing\n") == 2
    assert "\nsubmission/london_baseline.py:1: not valid Python: invalid syntax: x = = 1\n" in text
    assert re.search(r"\n_+ 3a-2-basic: copying_keys puts all weight .*_\n.*copying_keys", text)
    # Right code: basic tests pass, hidden ones are graded later.
    assert counts(lines) == {"passed": 2, "skipped": 2, "failed": 5}
    assert re.search(r"SKIPPED \[2\].*: ran without crashing; it is graded when you submit", text)
    headline = r"\nbasic 0 of 2; 1 hidden test is graded.*; without points 2 of 3; release .*\n"
    headline += r"(Since .*\n)?Files: "
    assert re.search(headline, text)
    assert re.search(r"\nseed \d+\n", text)


def test_a_grader_error_is_not_the_students(run, copy):
    tests = copy / EXPLORATION
    text = tests.read_text(encoding="utf-8")
    try:
        broken = text.replace('"attention_exploration.', '"no_such_topic.')
        assert broken != text
        tests.write_text(broken, encoding="utf-8")
        code, lines = run("3a-0-basic", "-q")
    finally:
        tests.write_text(text, encoding="utf-8")
    assert code == 3 and any("the grader itself failed here" in line for line in lines)


# ---------------------------------------------------------------- breakpoints


# Python's own debugger: it stops at a line of a file, and goes on. Editors' debuggers, debugpy and
# pydevd, work alike, and are recognised by their modules.
DEBUGGER = """
import bdb, runpy, sys, threading
sys.modules["debugpy"] = sys
path, line, note, *sys.argv = sys.argv[1:]
class Debugger(bdb.Bdb):
    def user_line(self, frame):
        if self.break_here(frame):
            with open(note, "a") as file:
                print(frame.f_locals["x"].shape, type(frame.f_locals["self"]), file=file)
            self.clear_all_breaks()
        self.set_continue()
sys.path.insert(0, "src")
debugger = Debugger()
assert debugger.set_break(path, int(line)) is None
threading.settrace(debugger.trace_dispatch)
start = "runpy.run_path(sys.argv[0], run_name='__main__')"
if sys.argv[0] == "pytest":
    start = "runpy.run_module('pytest', run_name='__main__')"
debugger.run(start, {"runpy": runpy, "sys": sys})
"""


@pytest.mark.parametrize("command", ["pytest", "src/grader.py"])
@pytest.mark.sampled(2)
def test_a_breakpoint_in_a_students_file_stops(copy, submission, tmp_path, command):
    for name in ("attention.py", "helper.py"):
        shutil.copy(REFERENCE / name, submission)
    path = submission / "attention.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "B, T, C = x.size()" in text)
    note = tmp_path / "stopped"
    ran = python(copy, "-c", DEBUGGER, path, str(line), note, command, TEST)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 0 and printed.count(IN_PROCESS) == 1, printed
    assert re.fullmatch(r"torch.Size\(.*CausalSelfAttention'>\n", note.read_text("utf-8"))


def test_a_run_under_a_debugger_writes_no_result(copy):
    script = (
        "import runpy, sys; sys.modules['debugpy'] = sys; sys.path.insert(0, '.'); "
        "sys.argv = ['grader.py', '--json', 'r.json']; "
        "runpy.run_path('grader.py', run_name='__main__')"
    )
    ran = python(copy / "src", "-c", script)
    assert ran.returncode == 2 and not (copy / "src" / "r.json").exists()
    assert ran.stderr.startswith("grader.py: --json can't be used under a debugger"), ran.stderr
