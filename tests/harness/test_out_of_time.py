"""A timeout names the student's line; on a student's computer, two timeouts end a question."""

import re
import time
from dataclasses import replace

import pytest

from grading.pool import Ending, Finished
from grading.runner import Observer, Options
from grading.staging import Staged
from grading.verdicts import Outcome, of_ending
from grading.worker import Limits
from tests.harness.conftest import POOLS

ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
FILE = "submission/attention_exploration.py"
LOOPS = {
    "a loop": "while True: pass",
    "a loop in C": "sum(iter(int, 1))",
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
def runner(hasty_runner):
    """All code here never ends: it is given half a second."""
    return hasty_runner


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


@pytest.mark.parametrize(
    "body",
    [
        "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)\nwhile True: pass",
        "import faulthandler, signal; faulthandler.unregister(signal.SIGUSR1)\nwhile True: pass",
        "import os; os.closerange(3, 99)\nwhile True: pass",
    ],
)
@pytest.mark.sampled(3)
def test_code_that_hides_its_line_is_timed_out_all_the_same(body, write_query, grade):
    assert grade(write_query(body), ID)[ID].cause == "timed-out.cpu"


STACK = """\
Current thread 0x00007f (most recent call first):
  File "/usr/lib/python3.12/re/__init__.py", line 166 in match
  File "/tmp/grading-x/staged/{file}", line {line} in f
  File "/tmp/grading-x/staged/submission/other.py", line 1 in g
"""


@pytest.fixture
def of_stack(tmp_path, runner):
    """Return a function that returns the verdicts, basic and hidden, of a time-out's stack."""
    (tmp_path / "submission").mkdir()
    for name in ("mine.py", "other.py"):
        (tmp_path / "submission" / name).write_text("x = 1\ny = 2\n", encoding="utf-8")
    (spec,) = (t for t in runner.assignment.edition(None).tests if t.test_id == ID)

    def verdicts(stack):
        ended = Finished(Ending(0, 0, "cpu", 1.0, 1.0, 1), True, None, "", stack=stack)
        specs = (spec, replace(spec, kind="hidden"))
        return [of_ending(ended, Limits.for_test(1.0), s, Staged(tmp_path)) for s in specs]

    return verdicts


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("submission/mine.py", 2, "submission/mine.py:2"),
        ("submission\\mine.py", 2, "submission/mine.py:2"),
        ("submission/mine.py", 99, "submission/other.py:1"),
        ("submission/secret.py", 1, "submission/other.py:1"),
        ("submission/mine.py", 10**9, "submission/other.py:1"),
    ],
)
def test_only_lines_that_exist_are_repeated(of_stack, file, line, place):
    basic, hidden = of_stack(STACK.format(file=file, line=line))
    assert basic.message == f"{hidden.message}; it was at {place}" and basic.where == place
    assert "submission" not in hidden.message


def test_a_stack_that_code_made_up_is_read_in_no_time(of_stack):
    """64 KB once took 2.5 s, which each test of a run could cost."""
    lines = ('  File "', '\n  File "submission/', '  File "submission/a.py", line 1111111111 ')
    for line in (*lines, '\n  File "submission/a.py', "submission/", ".py"):
        stack = ('  File "' * 5000 + "submission/" + line * 65536)[:65536]
        started = time.process_time()
        of_stack(stack)
        assert time.process_time() - started < 0.6  # two times some milliseconds


# Two are enough -----------------------------------------------------------------------------------


@pytest.fixture
def outcomes(runner, pools, write_query):
    """Return a function that grades code which never ends, and returns the selected results."""

    def run(*wanted, **options):
        asked = Options(submission=write_query("while True: pass"), selection=wanted, **options)
        return runner.run(asked, 7, Observer(), pools["zygote"]).selected_tests

    return run


def test_a_question_is_left_after_two_time_outs_and_other_questions_go_on(outcomes):
    other, *results = outcomes("3a", "1e-1-basic", patience=2)
    ended = [test.outcome for test in results]
    assert ended == [Outcome.TIMED_OUT] * 2 + [Outcome.NOT_RUN] * (len(ended) - 2)
    assert len(ended) > 2 and results[-1].cause == "not-run.left-out"
    assert other.outcome is Outcome.PASSED


@pytest.mark.parametrize("options", [{}, {"patience": 2, "counts": True}])
@pytest.mark.sampled(2)
def test_without_patience_or_where_it_counts_nothing_is_left_out(outcomes, monkeypatch, options):
    monkeypatch.setattr("grading.runner.require_data", lambda data: None)
    assert Outcome.NOT_RUN not in {test.outcome for test in outcomes("3a", **options)}
