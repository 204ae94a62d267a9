"""randint with a float works up to Python 3.11: the grader warns, once, and names the place."""

import sys

import pytest

from grading import worker
from grading.runner import Observer, Options
from grading.verdicts import Outcome
from tests.harness.conftest import POOLS


@pytest.mark.parametrize("way", POOLS)
def test_the_grader_warns_once_and_names_both_versions(submission, runner, pools, way):
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
