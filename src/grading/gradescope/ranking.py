"""The leaderboard, for editions that want one: accuracies on dev, numbers of parameters."""

from __future__ import annotations

import math
from typing import Any

from .. import answers, schema
from ..errors import GradingError
from ..runner import Bench, Run

VARIANTS = ("vanilla", "synthesizer", "rope")


def entries(run: Run) -> list[dict[str, Any]]:
    """Rows in Gradescope's format; what a submission lacks has no row, and costs nothing."""
    return [row for variant in VARIANTS for row in (*_accuracy(run, variant), *_size(run, variant))]


def _accuracy(run: Run, variant: str) -> list[dict[str, Any]]:
    places = run.data.places("dev")
    try:
        name = f"{variant}.pretrain.dev.predictions"
        predicted = answers.read_predictions(run.staged, name, len(places))
    except GradingError:
        return []
    share = answers.count_correct(predicted, places) / len(places)
    return [{"name": f"{variant}: right on dev (%)", "value": round(100 * share, 2)}]


def _size(run: Run, variant: str) -> list[dict[str, Any]]:
    name = f"{variant}.finetune.params"
    if run.staged.path(name) is None:
        return []
    spec = next(test for test in run.edition.tests if test.torch)  # for its limits
    try:
        read = Bench(run, spec).observe(
            "prediction.read_parameters", "submission", {"name": name}, run.seed
        )
        schema.check(read, answers.PARAMETERS)
        arrays = answers.parameters(read, name).values()
    except GradingError:
        return []
    count = sum(math.prod(array.shape) for array in arrays)
    return [{"name": f"{variant}: parameters", "value": count, "order": "asc"}]
