"""Comparisons with the reference, which several judges share."""

from typing import Any

import numpy as np

from grading.cases import GradedTestCase
from questions.shared import models, trained_files

# float64 results of correct code differ by 1e-14, or by 4e-6 where it takes its softmax in
# single precision; a mistake moves them by 0.05 or more (measured: tests/test_tolerances.py).
FLOAT64 = 1e-4
# float32 has a relative rounding error of 6e-8; a sum of 32 terms of order 1, through scores of
# order 5, stays below 1e-5 (largest measured: see tests/test_tolerances.py).
FLOAT32 = 1e-4


def expect_close(
    case: GradedTestCase,
    outputs: list,
    right: list[np.ndarray],
    tolerance: float,
    sentence: str,
    *,
    id: str,
) -> None:
    """Expect each output to be an array that is close to the right one in its place."""
    for got, wanted in zip(outputs, right, strict=True):
        case.expect(
            isinstance(got, np.ndarray) and got.shape == wanted.shape,
            "a result has the wrong shape",
            id="result.shape",
            got=getattr(got, "shape", type(got)),
            expected=wanted.shape,
        )
        difference = np.abs(got - wanted)  # NaN fails the comparison below
        worst = np.unravel_index(np.argmax(np.nan_to_num(difference, nan=np.inf)), wanted.shape)
        case.expect(
            bool((difference <= tolerance).all()),
            sentence,
            id=id,
            worst_at=[int(i) for i in worst],
            got=float(got[worst]),
            expected=float(wanted[worst]),
            tolerance=tolerance,
        )


def nearest(outputs: list, candidates: list[list[np.ndarray]]) -> list[np.ndarray]:
    """Return the candidate whose arrays are nearest; outputs of another shape fit none."""

    def distance(candidate: list[np.ndarray]) -> float:
        both = list(zip(outputs, candidate, strict=True))
        if not all(isinstance(o, np.ndarray) and o.shape == c.shape for o, c in both):
            return np.inf
        return max(float(np.nan_to_num(np.abs(o - c), nan=np.inf).max()) for o, c in both)

    return min(candidates, key=distance)


def same_logits(case: GradedTestCase, asked: dict, got: Any, other_reading: Any = None) -> None:
    """Expect the model's logits to equal those of the reference model with the same parameters.

    Args:
        other_reading: a function that turns parameters into another form of them with which the
            reference may agree instead, or None.
    """
    of_model = {"variant": asked["variant"], "config": asked["config"]}
    reference = case.reference("shared.model_variant", models.VARIANT, **of_model)
    shapes = dict(zip(reference["names"], reference["shapes"], strict=True))
    weights = trained_files.widen_columns(asked["weights"], shapes)
    problem = trained_files.misfit(weights, shapes)
    case.expect(not problem, trained_files.OTHER_PARAMETERS, id="model.parameters", problem=problem)
    readings = [weights] if other_reading is None else [weights, other_reading(weights)]
    given = [asked | {"weights": reading} for reading in readings]
    right = [case.reference("shared.model_logits", models.LOGITS, **each) for each in given]
    outputs = [got["logits"]]
    wanted = nearest(outputs, [[each["logits"]] for each in right])
    sentence = "the model's logits are not those of the given GPT"
    expect_close(case, outputs, wanted, FLOAT64, sentence, id="model.logits")
