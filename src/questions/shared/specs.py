"""Specs of the answers of several topics' probes, which `schema.check` compares them with."""

from __future__ import annotations

from grading.recipes import FIELDS
from grading.schema import AnyOf, Array, Maybe, Where, table

ANY_REAL = Maybe(Array("float64", None))  # None: not a tensor of real numbers, or far too large
PARAMETERS = table({"names": str, "arrays": Array("float32", None)}, problem=str)
SHAPES = table({"names": str, "shapes": [int]})
SIMPLE = Maybe(AnyOf((bool, int, float, str)))
PLAIN = AnyOf((SIMPLE, [SIMPLE]))
DESCRIBED = {
    "returned": str,
    "fields": {name: PLAIN for name in FIELDS},
    "dataset": str,
    "examples": int,
    "same_vocabulary": bool,
    "trains_given_model": bool,
    "same_config": bool,
    "changed": Maybe(str),
}
GRADIENTS = table({"names": str, "arrays": ANY_REAL})
VARIANT = table({"names": str, "shapes": [int]}, attentions=[str])
WRONG_RETURN = {"wrong_return": str}  # what a function returned, in words
LOGITS = {"form": str, "logits": ANY_REAL}


def outputs(count: int) -> Where:
    """Return the spec for probes that call attention, or parts of it, `count` times."""
    return table({"forms": str, "outputs": ANY_REAL}, rows=count)


def places(count: int) -> Where:
    """Return the spec of a model's answers to `count` questions."""
    return table({"places": str}, rows=count)
