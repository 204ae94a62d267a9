"""Code that hangs, on import or later, is named, costs one test its limit, and files no points."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grading.pool import Ending, Finished
from grading.verdicts import Outcome, Stuck, find_stuck
from grading.wire import Notes, read_notes
from grading.worker import Limits
from tests.harness.conftest import POOLS

FILE = "submission/attention_exploration.py"
LOOP = "\n\nfrom . import mine\nwhile True:\n    pass\n"  # what it imports has ended
# The pool, and what is imported.
ENDLESS = [("local", LOOP), ("zygote", "\nimport time\ntime.sleep(600)\n")]
SOON_S = 1.5  # of code that never ends; torch is imported before
ASKED = ("3a-0-basic", "3a-1-hidden", "3b-0-basic", "3b-1-hidden")


def append(submission: Path, text: str) -> Path:
    with open(submission / FILE, "a", encoding="utf-8") as writer:
        writer.write(text)
    (submission / "submission" / "mine.py").touch()
    return submission


# In staff's pool, tests/redteam/attacks/hangs_while_it_is_imported.py is timed out like LOOP.
@pytest.mark.parametrize(("way", "code"), ENDLESS)
def test_an_endless_import_is_run_once_and_named(way, code, submission, grade_hastily, monkeypatch):
    monkeypatch.setattr("grading.worker.IMPORT_S", SOON_S)
    other = ["1g-2-basic"] if code == LOOP else []  # it imports other modules
    if not other:
        monkeypatch.setattr("grading.worker.WALL_FACTOR", 5)  # of the limit of CPU time
    results = grade_hastily(append(submission, code), *ASKED, *other, way=way)
    first, *others = (results[test_id] for test_id in ASKED)
    assert first.outcome is Outcome.TIMED_OUT
    assert first.cause == "timed-out.import" and FILE in first.message
    for result in others:
        assert result.outcome is Outcome.TIMED_OUT and "in an earlier test" in result.message
        assert (FILE in result.message) is not result.spec.is_hidden
        assert FILE in result.detail
    assert all(results[test_id].outcome is Outcome.PASSED for test_id in other)


def test_what_a_hidden_test_found_is_never_named_to_students(
    submission, grade_hastily, monkeypatch
):
    """A submission could choose the file that hangs by what it sees in a hidden test."""
    monkeypatch.setattr("grading.worker.IMPORT_S", SOON_S)
    results = grade_hastily(append(submission, LOOP), "3a-1-hidden", "3b-0-basic")
    for test_id in ("3a-1-hidden", "3b-0-basic"):
        assert "import" in results[test_id].message
        assert FILE not in results[test_id].message
    assert FILE in results["3a-1-hidden"].detail


LONG = "\nimport os, time\nwhile time.process_time() < 1.5: pass\n"
QUERY = "def copying_query(keys, j):\n    "
AFTER_A_LONG_IMPORT = {  # the tests have half a CPU second each
    "": "passed",
    f"{QUERY}while True: pass\n": "timed-out.cpu",
    f"{QUERY}os.kill(os.getpid(), 9)\n": "killed.signal-9",
}


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("code", AFTER_A_LONG_IMPORT)
@pytest.mark.sampled(3)
def test_the_limit_of_a_test_begins_after_its_imports(code, way, submission, grade_hastily):
    result = grade_hastily(append(submission, LONG + code), ASKED[0], way=way)[ASKED[0]]
    assert (result.cause or "passed") == AFTER_A_LONG_IMPORT[code], result


# What counts as stuck: otherwise, each of the other tests has to try ------------------------------

WHOLE = Limits.for_test(20.0)
SHORTENED = Limits.for_test(20.0, left_s=15.0)  # by the run's deadline


def stuck(reason: str = "import", limits: Limits = WHOLE, **notes: object) -> Stuck | None:
    """Return what is stuck in a worker that ended after 40 s, in an import unless notes differ."""
    noted = replace(Notes(0, "submission.helper", 0.2, ""), **notes)
    finished = Finished(Ending(reason=reason, cpu_s=20.0, wall_s=40.0), True, None, "", noted)
    return find_stuck(finished, limits, ["submission/helper.py"], named=True)


def test_only_a_whole_limit_spent_in_an_import_is_stuck():
    assert stuck() == stuck("import-wall") == Stuck("submission/helper.py", named=True)
    for reason in ("cpu", "wall", "memory", "abandoned", ""):
        assert stuck(reason) is None
    assert stuck("import-wall", SHORTENED) is None
    assert stuck(began_s=30.0) is None  # most of the time was spent before
    for other in ("", "submission.nothing", "os"):
        assert stuck(importing=other) is None


def test_of_imports_within_imports_the_last_that_has_not_ended_is_noted():
    assert read_notes(b"I a 0\nI a.b 1\n").importing == "a.b"
    assert read_notes(b"I a 0\nI a.b 1\nE\ngrd1").importing == "a"
    assert read_notes(b"I a 0\nI a.b 1\nE\nE\n").importing == ""
    for forged in (b"E\nI a 0\n", b"I a nan\n", b"I a -1\n", b"I a \xc2\xb2\n", b"I a 0"):
        assert read_notes(forged).importing == ""


# Code that never ends: it is given half a second -----------------------------------------------

ID, HIDDEN = ASKED[:2]
LOOPS = {
    "a loop": "while True: pass",
    "one that catches everything": """
        while True:
            try:
                while True: pass
            except BaseException: pass
    """,
    "one in a library": "import re; re.match('(a+)+b', 'a' * 99)",
}


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sampled(3)
def test_a_time_out_names_the_innermost_line_of_the_students(name, way, write_query, grade_hastily):
    results = grade_hastily(write_query(LOOPS[name]), ID, HIDDEN, way=way)
    result, hidden = results[ID], results[HIDDEN]
    assert result.cause == hidden.cause == "timed-out.cpu", results
    place = re.fullmatch(rf"{FILE}:(\d+)", result.where)
    assert place and result.message.endswith(result.where), result
    assert int(place[1]) in range(4, 10)  # `def copying_query` is line 3
    # Of a hidden test, staff alone read the line.
    assert hidden.where.startswith(FILE) and hidden.where in hidden.detail
    assert "submission/" not in hidden.message
    assert hidden.place.endswith(f" {FILE}, in copying_query")


@pytest.mark.parametrize("way", POOLS)
def test_code_that_waits_names_its_line_too(way, write_query, grade_hastily, monkeypatch):
    monkeypatch.setattr("grading.worker.WALL_FACTOR", 1.2)
    result = grade_hastily(write_query("import time\ntime.sleep(600)\n"), ID, way=way)[ID]
    assert (result.cause, result.where) == ("timed-out.wall", f"{FILE}:5")


def test_the_kernels_own_limit_is_a_time_out_and_names_the_line(write_query, grade_hastily):
    """Its count may be ahead of the guardian's, which then finds less time used than allowed."""
    upload = write_query("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)\nreturn 0")
    result = grade_hastily(upload, ID)[ID]
    assert (result.outcome, result.where) == (Outcome.TIMED_OUT, f"{FILE}:5")


def test_no_test_of_a_run_that_counts_is_left_out(grade_hastily, run, write_query, monkeypatch):
    """What is left out elsewhere is in tests/snapshots/stored/endings_not_run.txt."""
    monkeypatch.setattr("grading.runner.require_data", lambda data: None)
    results = run(write_query("while True: pass"), "3a", patience=2, counts=True)
    ends = results.outcomes
    assert ends[:2] == [Outcome.TIMED_OUT] * 2 and len(ends) > 2 and Outcome.NOT_RUN not in ends
