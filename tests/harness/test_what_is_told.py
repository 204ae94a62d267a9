"""What students and staff read about a test: all about basic ones, little about hidden ones.

What is told to staff alone is in tests/snapshots/stored/json.txt, and attacks named exfiltrates_by
try to get more out of a hidden test.
"""

import sys

import pytest

from grading import worker
from grading.verdicts import Outcome, float_ranges
from tests.project import edit

ID, HIDDEN = "3a-0-basic", "3a-1-hidden"
FILE = "submission/attention_exploration.py"
RIGHT = "return 100.0 * keys[j]\n"


def test_staff_are_told_where_a_failed_test_advises_to_look(write_query, grade):
    results = grade(write_query("return keys\n"), ID, HIDDEN)
    for result in (results[ID], results[HIDDEN]):
        assert (result.outcome, result.look_at) == (Outcome.FAILED, f"copying_query in {FILE}")
        assert "look_at" not in result.as_dict(staff=False)


HELPERS = "import submission.helper as h; raise AttributeError(name='secret_17', obj=h)\n"
# body, what is before the function, and what a hidden test says after the file's name
CRASHES = {
    "a function within": (
        *("def secret_17(): raise ValueError\nsecret_17()\n", ""),
        ", in copying_query: ValueError; ",
    ),
    "a function of their own": (
        *("secret_17()\n", "def secret_17():\n    raise ValueError\n"),
        ": ValueError; ",
    ),
    "at import": (RIGHT, "raise ValueError\n", ": ValueError; "),
    "a function that is missing": (RIGHT, HELPERS, ": AttributeError; "),
}


@pytest.mark.parametrize("name", CRASHES)
def test_hidden_tests_name_functions_of_the_assignment_only(name, write_query, grade):
    body, before, words = CRASHES[name]
    message = grade(write_query(body, before), HIDDEN)[HIDDEN].message
    assert message.startswith(f"{FILE}{words}")
    assert "secret_17" not in message and not any(c.isdigit() for c in message)


@pytest.mark.parametrize("name", ["secret_17.py", "wire.py", "p*.py"])
def test_hidden_tests_name_no_file_of_a_students_own(name, submission, write_query, grade):
    """Not even one named as the grader's own; and no name is taken for a pattern.

    With thousands of such files, a submission could choose one of them as a message.
    """
    body = """
        from importlib.machinery import SourceFileLoader
        SourceFileLoader("own", os.path.join(os.path.dirname(__file__), NAME)).load_module()
    """.replace("NAME", repr(name))
    write_query(body, "import os\n")
    own = submission / "submission" / name
    own.write_text("def encode():\n    raise ValueError\nencode()\n", encoding="utf-8")
    result = grade(submission, HIDDEN)[HIDDEN]
    assert result.message.startswith("ValueError; ") and name in result.detail


def test_a_place_that_a_worker_made_up_is_not_repeated(tmp_path):
    """It would be shown as a warning, also of a hidden test."""
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "dataset.py").write_text("x = 1\n", encoding="utf-8")
    there = "submission/dataset.py:1"
    assert float_ranges({"float_ranges": [there]}, tmp_path) == there
    for claimed in (None, "x", [], [5], [there, there], ["submission/dataset.py:99"], ["secret"]):
        assert float_ranges({"float_ranges": claimed}, tmp_path) == ""


def test_randint_with_a_float_is_named_once_before_gradescope_refuses_it(submission, runner, run):
    """It works up to Python 3.11."""
    path = submission / "submission" / "dataset.py"
    edit(path, "random.randint(", "random.randint(1.0 * ")
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(i for i, row in enumerate(lines, 1) if "1.0 * " in row)
    results = run(submission, "1e-1-basic", "1e-2-basic", way="local")
    if sys.version_info < worker.SINCE:
        assert {*results.outcomes} == {Outcome.PASSED}
        (warning,) = results.facts["warnings"]
        assert warning.startswith(f"submission/dataset.py:{number}: ")
        assert f"Gradescope runs Python {runner.assignment.gradescope_python}" in warning
    else:
        assert {*results.outcomes} == {Outcome.ERROR} and "warnings" not in results.facts
