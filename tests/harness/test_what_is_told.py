"""What students and staff read about a test: all about basic ones, little about hidden ones."""

import json
import sys
from fractions import Fraction

import pytest

from autograder import replay
from grading import worker
from grading.runner import Observer, Options
from grading.staging import Staged
from grading.verdicts import REPORT, Outcome, Results, TestResult, float_ranges, of_report
from tests import pinned
from tests.harness.conftest import POOLS

EDITION = pinned.load().edition(None)
ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
FILE = "submission/attention_exploration.py"
RIGHT = "return 100.0 * keys[j]\n"


def test_prints_are_shown_with_basic_tests_and_capped(write_query, grade):
    result = grade(write_query("print('look here')\nprint('x' * 10**6)\n" + RIGHT), ID)[ID]
    assert result.outcome is Outcome.PASSED
    assert "look here" in result.output and len(result.output) < 100_000


def test_hidden_tests_show_no_message_of_the_students_code(write_query, grade):
    body = "raise ValueError(f'secret {keys.tolist()}')\n"
    result = grade(write_query(body), HIDDEN)[HIDDEN]
    assert result.outcome is Outcome.ERROR
    assert result.message.startswith(f"{FILE}, in copying_query: ValueError")
    assert "secret" in result.detail and "line 4" in result.detail
    shown = json.dumps(result.as_dict(staff=False))
    assert "secret" not in shown and ":4" not in shown and "output" not in shown


@pytest.mark.parametrize("test_id", [ID, HIDDEN])
def test_staff_are_told_where_a_failed_test_advises_to_look(test_id, write_query, grade):
    result = grade(write_query("return keys\n"), test_id)[test_id]
    assert (result.outcome, result.look_at) == (Outcome.FAILED, f"copying_query in {FILE}")
    assert "look_at" not in result.as_dict(staff=False)


# body, what is before the function, and the beginning of a hidden test's message
CRASHES = {
    "a function within": ("def secret_17(): raise ValueError\nsecret_17()\n", "", ", in copying"),
    "a function within, on one line": (
        "if True:\n  [int('x') for _ in keys]\n",
        "",
        ", in copying",
    ),
    "a function of their own": ("secret_17()\n", "def secret_17():\n    raise ValueError\n", ": "),
    "at import": (RIGHT, "raise ValueError\n", ": "),
    "in compiled text": (
        "exec(compile('\\n' * 700 + 'raise ValueError', __file__, 'exec'))\n",
        "",
        None,
    ),
}


@pytest.mark.parametrize("name", CRASHES)
def test_hidden_tests_name_functions_of_the_assignment_only(name, write_query, grade):
    body, before, words = CRASHES[name]
    message = grade(write_query(body, before), HIDDEN)[HIDDEN].message
    assert message.startswith("" if words is None else f"{FILE}{words}") and "ValueError" in message
    assert "secret_17" not in message and not any(c.isdigit() for c in message)


@pytest.mark.parametrize(
    ("name", "function"), [("secret_17", "crash"), ("wire", "encode"), ("feedback", "fenced")]
)
@pytest.mark.sampled(3)
def test_hidden_tests_name_no_file_of_a_students_own(
    name, function, submission, write_query, grade
):
    """Not even a file and a function that share the names of the grader's."""
    write_query(f"from .{name} import {function}\n{function}()\n")
    own = submission / "submission" / f"{name}.py"
    own.write_text(f"def {function}():\n    raise ValueError\n", encoding="utf-8")
    results = grade(submission, ID, HIDDEN)
    assert results[HIDDEN].message.startswith("ValueError; ") and name in results[HIDDEN].detail
    assert results[ID].message.startswith(f"submission/{name}.py:2: ValueError")


@pytest.mark.parametrize("name", ["p*.py", "[a-p]*.py", "?*.py"])
def test_hidden_tests_take_no_name_for_a_pattern(name, submission, write_query, grade):
    """With thousands of such files, a submission could choose one of them as a message."""
    body = """
        from importlib.machinery import SourceFileLoader
        SourceFileLoader("own", os.path.join(os.path.dirname(__file__), PATTERN)).load_module()
    """.replace("PATTERN", repr(name))
    write_query(body, "import os\n")
    own = submission / "submission" / name
    own.write_text("def main():\n    raise ValueError\nmain()\n", encoding="utf-8")
    message = grade(submission, HIDDEN)[HIDDEN].message
    assert message.startswith("ValueError; ") and name not in message


def test_of_what_a_worker_reports_only_what_is_true_is_repeated(tmp_path):
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "dataset.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    hidden = next(spec for spec in EDITION.tests if spec.is_hidden)
    report = dict.fromkeys(REPORT, "") | {"type": "KeyError", "message": "secret"}
    report |= {"where": "submission/dataset.py:2"}
    verdict = of_report(report, hidden, Staged(tmp_path), "xcs224n")
    assert (verdict.cause, verdict.where) == ("error.KeyError", "submission/dataset.py:2")
    assert ":2" not in verdict.message
    report |= {"type": "Carries42", "where": "submission/other.py:42"}
    verdict = of_report(report, hidden, Staged(tmp_path), "xcs224n")
    assert (verdict.cause, verdict.where) == ("error.Exception", "")
    for claimed in (None, "x", [], [5], ["submission/nowhere.py:1"], ["a", "b"], [{"a": 1}]):
        assert float_ranges({"float_ranges": claimed}, tmp_path) == ""


STAFFS = {"detail", "cause", "where", "look_at", "credit", "measured", "cpu_s", "peak_bytes"}


def test_what_is_for_staff_is_told_to_nobody_else():
    spec = next(spec for spec in EDITION.tests if not spec.is_hidden)
    result = TestResult(
        spec=spec,
        description="a test",
        outcome=Outcome.FAILED,
        id="x",
        where="submission/dataset.py:2",
        credit=Fraction(1, 3),
        measured={"accuracy": 0.25},
        cpu_s=1.23456,
        peak_bytes=7,
    )
    shown, staffs = result.as_dict(staff=False), result.as_dict(staff=True)
    assert staffs.keys() - shown.keys() == STAFFS
    expected = {"credit": "1/3", "cpu_s": 1.235, "measured": {"accuracy": 0.25}}
    assert expected.items() <= staffs.items()
    line = replay.line(Results(EDITION, 5, [result]))
    (recorded,) = json.loads(line.removeprefix(replay.RECORD))["tests"]
    assert recorded["cause"] == "failed.x" and recorded["credit"] == "1/3"


@pytest.mark.parametrize("way", POOLS)
def test_randint_with_a_float_is_named_once_before_gradescope_refuses_it(
    submission, runner, pools, way
):
    """It works up to Python 3.11."""
    path = submission / "submission" / "dataset.py"
    text = path.read_text(encoding="utf-8")
    options = Options(submission=submission, selection=("1e-1-basic", "1e-2-basic"))
    assert "warnings" not in runner.run(options, 7, Observer(), pools[way]).facts
    changed = text.replace("random.randint(", "random.randint(1.0 * ")
    path.write_text(changed, encoding="utf-8")
    number = next(i for i, row in enumerate(changed.splitlines(), 1) if "1.0 * " in row)
    results = runner.run(options, 7, Observer(), pools[way])
    if sys.version_info < worker.SINCE:
        assert {*results.outcomes} == {Outcome.PASSED}
        (warning,) = results.facts["warnings"]
        assert warning.startswith(f"submission/dataset.py:{number}: ")
        assert f"Gradescope runs Python {runner.assignment.gradescope_python}" in warning
    else:
        assert {*results.outcomes} == {Outcome.ERROR} and "warnings" not in results.facts
