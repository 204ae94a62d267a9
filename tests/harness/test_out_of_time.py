"""A timeout names the student's line; on a student's computer, two timeouts end a question."""

import re

import pytest

from grading.pool import Ending, Finished
from grading.staging import Staged
from grading.verdicts import Outcome, of_ending
from grading.worker import Limits
from tests.harness.conftest import POOLS

ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
FILE = "submission/attention_exploration.py"
LOOPS = {
    "a loop": "while True: pass",
    "one that catches everything": """
        while True:
            try:
                while True: pass
            except BaseException: pass
    """,
    "one in a library": "import re; re.match('(a+)+b', 'a' * 99)",
    "one in a function that was called": "return spin(keys)",
}
SPIN = "def spin(keys):\n    while True:\n        keys = keys\n\n"


@pytest.fixture
def grade(grade_hastily):
    """All code here never ends: it is given half a second."""
    return grade_hastily


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sampled(3)
def test_a_time_out_names_the_innermost_line_of_the_students(name, way, write_query, grade):
    upload = write_query(LOOPS[name], before=SPIN)
    result = grade(upload, ID, way=way)[ID]
    assert result.cause == "timed-out.cpu", result
    place = re.fullmatch(rf"{FILE}:(\d+)", result.where)
    assert place and result.message.endswith(result.where), result
    within = (2, 3) if "spin(" in LOOPS[name] else range(8, 20)  # `def copying_query` is line 7
    assert int(place[1]) in within


def test_of_a_hidden_test_staff_alone_read_the_line(write_query, grade):
    result = grade(write_query("while True: pass"), HIDDEN)[HIDDEN]
    assert result.outcome is Outcome.TIMED_OUT and "submission/" not in result.message
    assert result.where == f"{FILE}:4" and result.where in result.detail
    assert result.place.endswith(f" {FILE}, in copying_query")


@pytest.mark.parametrize("way", POOLS)
def test_code_that_waits_names_its_line_too(way, write_query, grade, monkeypatch):
    monkeypatch.setattr("grading.worker.WALL_FACTOR", 1.2)
    result = grade(write_query("import time\ntime.sleep(600)\n"), ID, way=way)[ID]
    assert (result.cause, result.where) == ("timed-out.wall", f"{FILE}:5")


def test_the_kernels_own_limit_is_a_time_out_and_names_the_line(write_query, grade):
    """Its count may be ahead of the guardian's, which then finds less time used than allowed."""
    upload = write_query("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)\nreturn 0")
    result = grade(upload, ID)[ID]
    assert (result.outcome, result.where) == (Outcome.TIMED_OUT, f"{FILE}:5")


STACK = """\
Current thread 0x00007f (most recent call first):
  File "C:\\Python\\re\\__init__.py", line 166 in match
  File "C:\\grading-x\\staged\\submission\\mine.py", line 99 in f
  File "C:\\grading-x\\staged\\submission\\mine.py", line 2 in g
"""


def test_only_a_line_that_exists_is_repeated_with_slashes(tmp_path, runner):
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "mine.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    (spec,) = (t for t in runner.assignment.edition(None).tests if t.test_id == ID)
    ended = Finished(Ending(reason="cpu"), True, None, "", stack=STACK)
    verdict = of_ending(ended, Limits.for_test(1.0), spec, Staged(tmp_path))
    assert verdict.where == "submission/mine.py:2"


# Two are enough -----------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [False, True])
def test_a_question_is_left_after_two_time_outs_unless_the_run_counts(
    counts, grade, run, write_query, monkeypatch
):
    monkeypatch.setattr("grading.runner.require_data", lambda data: None)
    endless = write_query("while True: pass")
    results = run(endless, "3a", "1e-1-basic", patience=2, counts=counts)
    other, *results = results.selected_tests
    ends = [test.outcome for test in results]
    assert ends[:2] == [Outcome.TIMED_OUT] * 2 and len(ends) > 2
    left = [test for test in results if test.outcome is Outcome.NOT_RUN]
    assert left == ([] if counts else results[2:])
    assert {test.cause for test in left} <= {"not-run.left-out"}
    assert other.outcome is Outcome.PASSED  # other questions go on
