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

ID, HIDDEN, QUESTION = "3a-0-basic", "3a-1-hidden", "3a"
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
}


@pytest.fixture
def runner(hasty_runner):
    """All code here never ends: it is given half a second."""
    return hasty_runner


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.sampled(3)
def test_a_time_out_names_the_innermost_line_of_the_students(name, way, write_query, grade):
    upload = write_query(LOOPS[name])
    found = grade(upload, ID, way=way)[ID]
    assert found.outcome is Outcome.TIMED_OUT, found
    place = re.fullmatch(r"submission/attention_exploration\.py:(\d+)", found.where)
    assert place and found.message.endswith(found.where), found
    text = (upload / "submission" / "attention_exploration.py").read_text(encoding="utf-8")
    assert int(place[1]) in range(4, text.count("\n") + 2)  # below `def copying_query`


def test_of_a_hidden_test_staff_alone_read_the_line(write_query, grade):
    found = grade(write_query("while True: pass"), HIDDEN)[HIDDEN]
    assert found.outcome is Outcome.TIMED_OUT and "submission/" not in found.message
    assert found.where == f"{FILE}:4" and found.where in found.detail
    assert found.place.endswith(f" {FILE}, in copying_query")


def test_the_innermost_line_is_that_of_a_function_that_was_called(write_query, grade):
    body = """
        return spin(keys)
    """
    upload = write_query(body, before="def spin(keys):\n    while True:\n        keys = keys\n\n")
    assert grade(upload, ID)[ID].where in (f"{FILE}:2", f"{FILE}:3")


@pytest.mark.parametrize("way", POOLS)
def test_code_that_waits_names_its_line_too(way, write_query, grade, monkeypatch):
    monkeypatch.setattr("grading.worker.WALL_FACTOR", 1.2)
    upload = write_query("import time\ntime.sleep(600)\n")
    found = grade(upload, ID, way=way)[ID]
    assert (found.cause, found.where) == ("timed-out.wall", f"{FILE}:5")


def test_the_kernels_own_limit_is_a_time_out_and_names_the_line(write_query, grade):
    """Its count may be ahead of the guardian's, which then finds less time used than allowed."""
    upload = write_query("import os, signal\nos.kill(os.getpid(), signal.SIGXCPU)\nreturn 0")
    found = grade(upload, ID)[ID]
    assert found.outcome is Outcome.TIMED_OUT, found.message
    assert found.where == f"{FILE}:5"


@pytest.mark.long
def test_a_module_that_never_ends_names_its_line(write_query, grade):
    found = grade(write_query("return 0", before="x = 1\nwhile True: pass\n"), ID)[ID]
    assert (found.cause, found.where) == ("timed-out.import", f"{FILE}:2")


@pytest.mark.parametrize(
    "body",
    [
        "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)\nwhile True: pass",
        "import faulthandler, signal; faulthandler.unregister(signal.SIGUSR1)\nwhile True: pass",
        "import os; os.closerange(3, 99)\nwhile True: pass",
    ],
)
def test_code_that_hides_its_line_is_timed_out_all_the_same(body, write_query, grade):
    found = grade(write_query(body), ID)[ID]
    assert found.cause == "timed-out.cpu"


STACK = """\
Current thread 0x00007f (most recent call first):
  File "/usr/lib/python3.12/re/__init__.py", line 166 in match
  File "/tmp/grading-x/staged/{file}", line {line} in f
  File "/tmp/grading-x/staged/submission/other.py", line 1 in g
"""


def timed_out(stack):
    return Finished(Ending(0, 0, "cpu", 1.0, 1.0, 1), True, None, "", stack=stack)


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
def test_only_lines_that_exist_are_repeated(tmp_path, runner, file, line, place):
    (tmp_path / "submission").mkdir()
    for name in ("mine.py", "other.py"):
        (tmp_path / "submission" / name).write_text("x = 1\ny = 2\n", encoding="utf-8")
    (spec,) = (t for t in runner.assignment.edition(None).tests if t.test_id == ID)
    ended = timed_out(STACK.format(file=file, line=line))
    verdict = of_ending(ended, Limits.for_test(1.0), spec, Staged(tmp_path))
    told = "your code took longer than 1 seconds of CPU time"
    assert verdict.message == f"{told}; it was at {place}" and verdict.where == place
    hidden = replace(spec, kind="hidden")
    assert of_ending(ended, Limits.for_test(1.0), hidden, Staged(tmp_path)).message == told


@pytest.mark.parametrize(
    "line",
    [
        '  File "',
        '\n  File "submission/',
        '  File "submission/a.py", line 1111111111 ',
        '\n  File "submission/a.py',
        "submission/",
        ".py",
    ],
)
def test_a_stack_that_code_made_up_is_read_in_no_time(tmp_path, runner, line):
    """64 KB once took 2.5 s, which each test of a run could cost."""
    (tmp_path / "submission").mkdir()
    (spec,) = (t for t in runner.assignment.edition(None).tests if t.test_id == ID)
    stack = ('  File "' * 5000 + "submission/" + line * 65536)[:65536]
    started = time.process_time()
    of_ending(timed_out(stack), Limits.for_test(1.0), spec, Staged(tmp_path))
    assert time.process_time() - started < 0.3  # it takes some milliseconds


# ---------------------------------------------------------------- two are enough


@pytest.fixture
def outcomes(runner, pools, write_query, tmp_path):
    """A function that grades code which never ends, and gives outcomes by test."""

    def run(*wanted, **options):
        upload = write_query("while True: pass")
        asked = Options(submission=upload, selection=wanted, **options)
        results = runner.run(asked, 7, Observer(), pools["zygote"])
        return {t.spec.test_id: t for t in results.tests if t.is_selected}

    return run


def test_a_question_is_left_after_two_time_outs(outcomes):
    found = outcomes("3a", patience=2)
    ended = [test.outcome for test in found.values()]
    assert ended == [Outcome.TIMED_OUT] * 2 + [Outcome.NOT_RUN] * (len(ended) - 2)
    assert len(ended) > 2
    last = list(found.values())[-1]
    assert last.cause == "not-run.left-out"


def test_other_questions_go_on(outcomes):
    found = outcomes("3a", "1e-1-basic", patience=2)
    assert found["1e-1-basic"].outcome is Outcome.PASSED


def test_without_patience_all_run(outcomes):
    assert Outcome.NOT_RUN not in {test.outcome for test in outcomes("3a").values()}


def test_a_run_that_counts_leaves_nothing_out(outcomes, monkeypatch):
    monkeypatch.setattr("grading.runner.require_data", lambda data: None)
    found = outcomes("3a", patience=2, counts=True)
    assert Outcome.NOT_RUN not in {test.outcome for test in found.values()}
