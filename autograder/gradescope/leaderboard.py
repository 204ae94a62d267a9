"""The leaderboard, for editions that want one: accuracies on dev, numbers of parameters.

A variant is ranked once its question's tests of accuracy have passed, and the test that its
parameters give the predicted answers: a file of predictions alone, or of one parameter, gets no
row. Some of these tests are hidden; if they were not run (a daily limit), there are no rows.
"""

from __future__ import annotations

from typing import Any

from grading.cases import Cases
from grading.edition import Assignment
from grading.errors import GradingError
from grading.results import Results, TestResult
from grading.verdicts import Outcome, TestEnd

DEMANDED = ("dev_accuracy", "test_accuracy", "matches_checkpoint")


def entries(assignment: Assignment, results: Results, case: Cases) -> list[dict[str, Any]]:
    """Return rows in Gradescope's format; files that are missing have no row, and cost no time.

    Args:
        results: of the whole run.
        case: returns the case of a test; those of DEMANDED have a `standing`.
    """
    rows: list[dict[str, Any]] = []
    for variant in assignment.variants.values():
        passed = {t.spec.name for t in results.tests if _passed(t, variant.topic)}
        if passed.issuperset(DEMANDED):
            rows += _rows(variant.name, case(variant.topic, "matches_checkpoint"))
    return rows


def _passed(test: TestResult, topic: str) -> bool:
    return test.spec.topic == topic and test.outcome is Outcome.PASSED


def _rows(variant: str, case: Any) -> list[dict[str, Any]]:
    """Return the accuracy on dev and the model's size, or nothing if they can't be computed."""
    try:
        share, parameters = case.standing(variant)
    except (TestEnd, GradingError):  # such as no time left: the grades remain valid
        return []
    return [
        {"name": f"{variant}: right on dev (%)", "value": round(100 * share, 2)},
        {"name": f"{variant}: parameters", "value": parameters, "order": "asc"},
    ]
