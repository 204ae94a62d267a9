"""RoPE: angles, rotations with either pairing of coordinates, trained files."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from questions.rope import rotations
from questions.rope.tests import Rope
from questions.shared import models

from .evidence import expect_accuracy, expect_match
from .tolerances import FLOAT32, FLOAT64, expect_close, nearest, same_logits

# Angles reach 255. Where theta and its product with t are rounded to float32, by a few 2^-24 each,
# an angle is off by 255 * 4 * 6e-8 = 6e-5 at most. Mistakes move some entry by .1 or more.
ANGLES = 1e-3

Change = Callable[[np.ndarray], np.ndarray]


def rope_any_angles(case: Rope, sizes: list, got: dict) -> None:
    spec = models.outputs(len(sizes))
    wanted = case.reference("rope.angles", spec, sizes=sizes)["outputs"]
    sentence = "an angle's cosine or sine is wrong"
    expect_close(case, got["outputs"], wanted, ANGLES, sentence, id="angles.values-for-some")


def rope_single_precision(case: Rope, arguments: dict, got: dict) -> None:
    case.expect(
        all(form.startswith("float32[") for form in got["forms"]),
        "the rotation of a float32 x is not float32",
        id="rotation.not-float32",
        got=got["forms"],
    )
    _expect_turned(case, arguments, got, tolerance=FLOAT32)


def _expect_turned(case: Rope, arguments: dict, got: dict, tolerance: float) -> None:
    """Expect all outputs to come from one pairing of coordinates."""
    spec = models.outputs(len(arguments["inputs"]))

    def reference(change: Change) -> list[np.ndarray]:
        changed = arguments | {"inputs": [change(x) for x in arguments["inputs"]]}
        return case.reference("rope.turned", spec, **changed)["outputs"]

    wanted = _in_either_pairing(reference, got["outputs"])
    sentence = "the rotated x is wrong with either pairing"
    expect_close(case, got["outputs"], wanted, tolerance, sentence, id="rotation.values-for-some")


rope_values = partial(_expect_turned, tolerance=FLOAT64)
rope_shorter = rope_values


def rope_gradients(case: Rope, arguments: dict, got: dict) -> None:
    """Expect the gradient of a rotation to be the opposite rotation, in either pairing.

    `rope_values` checks on outputs that one pairing is used throughout.
    """

    def reference(change: Change) -> list[np.ndarray]:
        changed = arguments | {name: change(arguments[name]) for name in ("x", "upstream")}
        return case.reference("rope.gradient", models.outputs(1), **changed)["outputs"]

    wanted = _in_either_pairing(reference, got["outputs"])
    sentence = "the gradient with respect to x is wrong"
    expect_close(case, got["outputs"], wanted, FLOAT64, sentence, id="gradient.x")


def _in_either_pairing(
    reference: Callable[[Change], list[np.ndarray]], outputs: list
) -> list[np.ndarray]:
    """Return the right outputs in the pairing to which the given ones are nearest.

    Args:
        reference: returns the reference's outputs, after a change of what is rotated.
    """
    neighbours = reference(np.asarray)
    moved = reference(rotations.neighbours_of_halves)
    halves = [rotations.halves_of_neighbours(out) for out in moved]
    return nearest(outputs, [neighbours, halves])


def rope_whole_model(case: Rope, asked: dict, got: Any) -> None:
    n_head = asked["config"]["n_head"]
    same_logits(case, asked, got, lambda weights: rotations.halves_as_neighbours(weights, n_head))


rope_test_accuracy = expect_accuracy
rope_matches_checkpoint = expect_match
