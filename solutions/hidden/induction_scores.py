"""Induction scores: answers are compared with the reference's."""

from __future__ import annotations

from typing import Any

from questions.induction_scores.tests import INDUCTION, PREVIOUS, InductionScores, spec

from .tolerances import expect_close

# Means of at most eight numbers below 1, perhaps in single precision. Weights are continuous random
# numbers: that another row, column or set of positions gives the same to 1e-6 for all heads of all
# inputs (18 of them for one function, 54 for the other) has a probability far below 1e-6.
TOLERANCE = 1e-6


def induction_scores_previous(case: InductionScores, inputs: list, got: dict) -> None:
    """Compare with the reference."""
    _compare(case, PREVIOUS, inputs, got)


def induction_scores_induction(case: InductionScores, inputs: list, got: dict) -> None:
    """Compare with the reference."""
    _compare(case, INDUCTION, inputs, got)


def _compare(case: InductionScores, function: str, inputs: list, got: dict[str, Any]) -> None:
    wanted = case.reference(
        "induction_scores.scores", spec(len(inputs)), function=function, inputs=inputs
    )
    for out, right in zip(got["answers"], wanted["answers"], strict=True):
        expect_close(
            case,
            out,
            right,
            TOLERANCE,
            f"{function} is wrong for some weights",
            id=f"induction.{function}.values",
        )
