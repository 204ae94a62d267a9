"""randint with a float works up to Python 3.11: the grader warns, once, and names the place."""

import sys

import pytest

from autograder import console
from grading import verdicts, worker
from grading.runner import Observer
from grading.verdicts import Outcome
from tests.harness.conftest import POOLS

OLD = sys.version_info < worker.SINCE


@pytest.fixture
def with_floats(submission):
    """The reference's corruption, whose longest length is a float."""
    path = submission / "submission" / "dataset.py"
    text = path.read_text(encoding="utf-8")
    changed = text.replace("random.randint(", "random.randint(1.0 * ")
    assert changed != text
    path.write_text(changed, encoding="utf-8")
    number = next(i for i, row in enumerate(changed.splitlines(), 1) if "1.0 * " in row)
    return submission, f"submission/dataset.py:{number}"


@pytest.mark.parametrize("way", POOLS)
def test_the_grader_warns_once_and_names_both_versions(with_floats, runner, pools, capsys, way):
    from grading.runner import Options

    upload, place = with_floats
    asked = Options(submission=upload, selection=("1e-1-basic", "1e-2-basic"))
    results = runner.run(asked, 7, Observer(), pools[way])
    console.show_summary(results)
    shown = capsys.readouterr().out
    ends = {t.outcome for t in results.tests if t.is_selected}
    if OLD:
        assert ends == {Outcome.PASSED}
        assert shown.count("Warning: ") == 1
        assert place in shown
        assert f"Gradescope runs Python {runner.assignment.gradescope_python}" in shown
    else:
        assert ends == {Outcome.ERROR} and "Warning" not in shown


def test_the_reference_gets_no_warning(submission, runner, pools, capsys):
    from grading.runner import Options

    asked = Options(submission=submission, selection=("1e-1-basic",))
    results = runner.run(asked, 7, Observer(), pools["zygote"])
    assert "warnings" not in results.facts


@pytest.mark.parametrize(
    "claimed", [None, "x", [], [5], ["submission/nowhere.py:1"], ["a", "b"], [{"a": 1}]]
)
def test_a_forged_place_is_not_repeated(submission, claimed):
    assert verdicts.float_ranges({"float_ranges": claimed}, submission) == ""
