"""Files of predictions and parameters: reads and checks them, trusting nothing."""

import math
from collections import Counter
from typing import Any

import numpy as np

from grading.edition import Assignment, DataSet
from grading.errors import safe_line
from grading.staging import Staged
from grading.verdicts import Outcome, TestEnd, Verdict, failure

MAX_PREDICTION_BYTES = 4 << 20
OTHER_PARAMETERS = "the model's parameters are not those of the given GPT"


def read_predictions(staged: Staged, name: str, expected_lines: int) -> list[str]:
    """Return the lines of a prediction file, one place each.

    A byte-order mark, Windows line endings, a missing final newline, and blank lines after the last
    answer are accepted.

    Raises:
        TestEnd: the file is missing, is not UTF-8 text, or has the wrong number of lines.
    """
    path = staged.path(name)
    if path is None:
        written_by = (
            f"it is written by the command in the handout that ends in `--outputs_path {name}`"
        )
        raise TestEnd(missing(staged, name, written_by, "predictions"))
    if path.stat().st_size > MAX_PREDICTION_BYTES:
        raise failure(
            f"{name} is far too long for {expected_lines} places", id="predictions.too-long"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise failure(
            f"{name}, line {line}: not UTF-8 text (saved again by an editor or a spreadsheet?); "
            "write it with run.py evaluate",
            id="predictions.not-utf-8",
        ) from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if not text.strip():
        raise failure(
            f"{name} is blank, expected {expected_lines} lines; write it with run.py evaluate",
            id="predictions.blank",
        )
    if not any(line.strip() for line in lines[expected_lines:]):
        del lines[expected_lines:]
    if len(lines) != expected_lines:
        got = f"{len(lines)} line" + ("" if len(lines) == 1 else "s")
        raise failure(
            f"{name} has {got}, expected {expected_lines}, one for each question: "
            + _why_so_many(lines, expected_lines),
            id="predictions.lines",
        )
    return lines


def missing(staged: Staged, name: str, written_by: str, id: str) -> Verdict:
    """Return the verdict of a missing file: what was handed in instead, or what writes it."""
    hint = staged.hint(name)
    message = f"{name} is missing; {hint or staged.foreign or written_by}"
    return Verdict(Outcome.MISSING_FILE, message, id=id, missing_file=name, hint=hint)


def _why_so_many(lines: list[str], expected: int) -> str:
    if len(lines) == 1:
        return "are all answers on a single line?"
    if len(lines) < expected:
        return "was it cut off, or written for a different data set?"
    blank = [number for number, line in enumerate(lines, start=1) if not line.strip()]
    if len(blank) == len(lines) - expected:
        return f"line {blank[0]} is blank: delete it"
    return "was it written for a different file of questions, or are two files joined in it?"


def in_another_order(predicted: list[str], places: list[str]) -> bool:
    """Return whether nearly all places are there, but in a different order.

    Nearly all means as many as in a file in which nine of ten answers are right.
    """
    anywhere = sum((Counter(p.strip() for p in predicted) & Counter(places)).values())
    return anywhere >= 0.9 * len(places) > 2 * count_correct(predicted, places)


def count_correct(predicted: list[str], places: list[str]) -> int:
    """Count the predictions that are right, over the answers' lines."""
    return sum(got.strip() == place for got, place in zip(predicted, places, strict=True))


def model_configs(
    assignment: Assignment, dataset: DataSet, variant: str
) -> dict[str, dict[str, Any]]:
    """Return a variant's fields of GPTConfig in each recipe; the data set's recipe first."""
    names = sorted(assignment.recipes, key=lambda name: (name != dataset.recipe, name))
    return {name: assignment.settings(name, "model", variant) for name in names}


def parameters(read: dict[str, Any], name: str) -> dict[str, np.ndarray]:
    """Check the answer of the probe `read_parameters`, and return its arrays.

    Raises:
        TestEnd: the file can't be read, or contains something other than finite numbers.
    """
    if read["problem"]:
        raise failure(read["problem"], id="parameters.unreadable")
    weights = dict(zip(read["names"], read["arrays"], strict=True))
    for key, array in weights.items():
        if not np.isfinite(array).all():
            raise failure(
                f"{name}: {safe_line(key, 80)} contains numbers that are not finite; train again",
                id="parameters.not-finite",
            )
    return weights


def refuse_large(shapes: list[list[int]]) -> None:
    """Refuse shapes, reported by a submission, for which no numbers should be drawn.

    A test's model has a few thousand parameters, in some dozen arrays of one or two dimensions.

    Raises:
        TestEnd: there are more than a million numbers, or a model has no such shape.
    """
    fine = all(1 <= len(shape) <= 4 and all(n > 0 for n in shape) for shape in shapes)
    if not fine or len(shapes) > 1000 or sum(map(math.prod, shapes)) > 1_000_000:
        raise failure(OTHER_PARAMETERS, id="model.parameters")


def misfit(weights: dict[str, np.ndarray], shapes: dict[str, list[int]]) -> str:
    """Name the first parameter that differs from a model's, in words; "" if all fit."""
    for key, shape in shapes.items():
        if key not in weights:
            return f"{key} is missing"
        if list(weights[key].shape) != shape:
            return f"{key} has the shape {list(weights[key].shape)}, but in the model it is {shape}"
    extra = sorted(set(weights) - set(shapes))
    return f"{safe_line(extra[0], 80)} is not in the model" if extra else ""


def widen_columns(
    weights: dict[str, np.ndarray], shapes: dict[str, list[int]]
) -> dict[str, np.ndarray]:
    """Add a column to w2 and b2 of earlier years, which have block_size - 1 columns.

    Such models were never called with a sequence long enough to use that column.
    """
    widened = {}
    for key, array in weights.items():
        wanted = shapes.get(key, [])
        fewer = array.ndim > 0 and wanted[-1:] == [array.shape[-1] + 1]
        if key.endswith((".w2", ".b2")) and fewer:
            array = np.concatenate([array, np.zeros((*array.shape[:-1], 1), array.dtype)], axis=-1)
        widened[key] = array
    return widened
