"""What students and staff read about a test: all about basic ones, little about hidden ones."""

import json
from fractions import Fraction

import pytest

from autograder import replay
from grading.results import Results, TestResult
from grading.staging import Staged
from grading.verdicts import REPORT, Outcome, of_report
from tests import pinned

EDITION = pinned.load().edition(None)
ID = "3a-0-basic"
HIDDEN = "3a-1-hidden"
RIGHT = "return 100.0 * keys[j]\n"


def test_prints_are_shown_with_basic_tests_and_capped(write_query, grade):
    result = grade(write_query("print('look here')\nprint('x' * 10**6)\n" + RIGHT), ID)[ID]
    assert result.outcome is Outcome.PASSED
    assert "look here" in result.output
    assert len(result.output) < 100_000


def test_hidden_tests_show_no_message_of_the_students_code(write_query, grade):
    body = "raise ValueError(f'secret {keys.tolist()}')\n"
    result = grade(write_query(body), HIDDEN)[HIDDEN]
    assert result.outcome is Outcome.ERROR
    assert "secret" not in result.message
    assert "ValueError" in result.message
    assert result.message.startswith("submission/attention_exploration.py, in copying_query: ")
    assert ":4" not in result.message
    assert "secret" in result.detail and "line 4" in result.detail
    assert "output" not in result.as_dict(staff=False)
    assert "detail" not in result.as_dict(staff=False)


@pytest.mark.parametrize("test_id", [ID, HIDDEN])
def test_staff_are_told_where_a_failed_test_advises_to_look(test_id, write_query, grade):
    result = grade(write_query("return keys\n"), test_id)[test_id]
    place = "copying_query in submission/attention_exploration.py"
    assert (result.outcome, result.look_at) == (Outcome.FAILED, place)
    assert "look_at" not in result.as_dict(staff=False)


NAMED = "submission/attention_exploration.py, in copying_query: ValueError"
UNNAMED = "submission/attention_exploration.py: ValueError"
CRASHES = {
    "a function within": ("def secret_17(): raise ValueError\nsecret_17()\n", "", NAMED),
    "a function within, on one line": ("if True:\n  [int('x') for _ in keys]\n", "", NAMED),
    "a function of their own": (
        "secret_17()\n",
        "def secret_17():\n    raise ValueError\n",
        UNNAMED,
    ),
    "at import": (RIGHT, "raise ValueError\n", UNNAMED),
    "in compiled text": (
        "exec(compile('\\n' * 700 + 'raise ValueError', __file__, 'exec'))\n",
        "",
        "",
    ),
}


@pytest.mark.parametrize("name", CRASHES)
def test_hidden_tests_name_functions_of_the_assignment_only(name, write_query, grade):
    body, before, words = CRASHES[name]
    message = grade(write_query(body, before), HIDDEN)[HIDDEN].message
    assert message.startswith(words) and "ValueError" in message
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
    result = grade(submission, HIDDEN)[HIDDEN]
    assert result.message.startswith("ValueError; ") and name in result.detail
    basic = grade(submission, ID)[ID]
    assert basic.message.startswith(f"submission/{name}.py:2: ValueError")


@pytest.mark.parametrize("name", ["p*.py", "*.py", "[a-p]*.py", "?*.py", "**.py"])
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


STAFFS = {"detail", "cause", "where", "look_at", "credit", "measured", "cpu_s", "peak_bytes"}


def test_a_crash_has_its_type_and_for_staff_its_line(tmp_path):
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "dataset.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    hidden = next(spec for spec in EDITION.tests if spec.is_hidden)
    report = dict.fromkeys(REPORT, "") | {"type": "KeyError", "message": "secret"}
    report |= {"where": "submission/dataset.py:2"}
    verdict = of_report(report, hidden, Staged(tmp_path), "xcs224n")
    assert (verdict.cause, verdict.where) == ("error.KeyError", "submission/dataset.py:2")
    assert ":2" not in verdict.message
    # A type or a place that the code made up is ignored.
    report |= {"type": "Carries42", "where": "submission/other.py:42"}
    verdict = of_report(report, hidden, Staged(tmp_path), "xcs224n")
    assert (verdict.cause, verdict.where) == ("error.Exception", "")


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
    assert staffs["credit"] == "1/3" and staffs["cpu_s"] == 1.235
    assert staffs["measured"] == {"accuracy": 0.25}
    results = Results(EDITION, 5, [result])
    (recorded,) = json.loads(replay.line(results).removeprefix(replay.RECORD))["tests"]
    assert recorded["cause"] == "failed.x" and recorded["credit"] == "1/3"
