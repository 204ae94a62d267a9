"""Induction scores: answers are compared with the reference's."""

from functools import partial

import numpy as np

from questions.induction_scores.tests import INDUCTION, PREVIOUS, InductionScores

from .tolerances import expect_close

# Means of at most eight numbers below 1, perhaps in single precision. Weights are continuous random
# numbers: that another row, column or set of positions gives the same to 1e-6 for all heads of all
# inputs (18 of them for one function, 54 for the other) has a probability far below 1e-6.
TOLERANCE = 1e-6


def _same(case: InductionScores, inputs: list, got: list[np.ndarray], function: str) -> None:
    right = [answer.parts[0] for answer in case.ask(function, inputs, case.reference)]
    sentence = f"{function} is wrong for some weights"
    expect_close(case, got, right, TOLERANCE, sentence, id=f"induction.{function}.values")


induction_scores_previous = partial(_same, function=PREVIOUS)
induction_scores_induction = partial(_same, function=INDUCTION)
