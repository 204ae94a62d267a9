"""Calls the functions of the building blocks, and checks the form of their answers."""

from __future__ import annotations

from typing import Any

import numpy as np

from grading.cases import Answer, AsksFunctions
from grading.schema import AnyOf, Array, Maybe, table

PART = Maybe(AnyOf((*(Array(dtype, None) for dtype in ("float64", "int64", "bool")), [str])))
PARTS = {"span_corruption": 2, "bert_mask": 2}  # all others return one value
# Correct code differs by 1e-12 in float64. Frequencies computed in float32 have a relative error of
# 3e-7, which puts angles of 300 off by 9e-5, and rotated vectors of length 6 by 6e-4. Mistakes move
# results by .01 or more.
CLOSE = 2e-3
KINDS = {"f": "numbers", "i": "integers", "b": "booleans"}


class AsksBlocks(AsksFunctions):
    """Calls the functions of the building blocks, and checks the form of their answers.

    Attributes:
        module, asks: the file with the topic's functions, and the probe that calls them.
    """

    part = PART
    module, asks = "building_blocks.py", "building_blocks.call"

    def ask(self, function: str, arguments: list[list[Any]]) -> list[Answer]:
        """Return the function's answers, one for each list of arguments, from one worker."""
        answers, got = self.call(
            self.asks,
            self.module,
            function,
            arguments,
            PARTS.get(function, 1),
            changed=bool,
        )
        for answer, changed in zip(answers, got["changed"], strict=True):
            self.expect(
                not changed,
                f"{function} modifies its arguments, which the caller still needs",
                id=f"{answer.subject}.modified-arguments",
                cause="an in-place operation, such as x += y, masked_fill_ or x[i] = y",
                look_at=answer.look_at,
            )
        return answers

    def right_answers(self, answers: list[Answer]) -> list[list[Any]]:
        """Return the reference's answers for the same arguments; only for staff's judges."""
        function = answers[0].function
        asked = {"function": function, "arguments": [a.arguments for a in answers]}
        spec = table({"forms": str, "answers": [PART], "changed": bool}, rows=len(answers))
        parts = PARTS.get(function, 1)
        return self.reference(self.asks, spec, **asked, parts=parts)["answers"]

    def array(
        self, answer: Answer, shape: tuple[int, ...], kind: str = "f", part: int = 0
    ) -> np.ndarray:
        """Return a part of an answer; fail unless it is a finite array of this shape.

        Args:
            kind: "f", "i" or "b"; integers are accepted for "f", and 8.0 for a single "i".
        """
        got = answer.parts[part]
        fits = isinstance(got, np.ndarray) and got.shape == shape
        exact = kind == "b" or (kind == "i" and shape)
        fits = fits and got.dtype.kind in (kind if exact else "fi")
        self.expect(
            fits,
            f"{answer.function} returns something of the wrong shape or kind",
            id=f"{answer.subject}.shape",
            got=answer.form,
            expected=_wanted_form(answer, shape, kind),
            look_at=answer.look_at,
        )
        self.expect(
            bool(np.isfinite(got).all()),
            f"{answer.function} returns nan or infinity",
            id=f"{answer.subject}.not-finite",
            got=answer.form,
            cause="a division by zero, a softmax of only -inf, or an overflow",
            look_at=answer.look_at,
        )
        return got

    def expect_close(
        self,
        answer: Answer,
        wanted: Any,
        sentence: str,
        *,
        id: str,
        cause: str = "",
    ) -> None:
        """Fail unless an answer is an array of these values, exact if boolean or integer."""
        wanted = np.asarray(wanted)
        kind = wanted.dtype.kind
        got = self.array(answer, wanted.shape, "f" if kind == "i" and wanted.shape else kind)
        if kind in "bi":
            wrong = got != wanted
        else:
            wrong = np.abs(got - wanted) > CLOSE * np.maximum(1, np.abs(wanted))
        first = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.any() else ()
        detail = {"cause": cause} if cause else {}
        self.expect(
            not wrong.any(),
            sentence,
            id=id,
            got=f"{_shown(got[first], kind)}{_at(first)}" if wrong.any() else "",
            expected=_shown(wanted[first], kind) if wrong.any() else "",
            **detail,
            look_at=answer.look_at,
        )

    def words(self, answer: Answer, part: int) -> list[str]:
        """Return a part of an answer; fail unless it is a list of words."""
        got = answer.parts[part]
        fits = isinstance(got, list) and all(type(word) is str for word in got)
        self.expect(
            fits,
            f"{answer.function} should return two lists of words, the input and the target",
            id=f"{answer.subject}.not-two-lists",
            got=answer.form,
            look_at=answer.look_at,
        )
        return got


class AsksPositions(AsksBlocks):
    """Calls the functions of building_blocks_positions.py."""

    module, asks = "building_blocks_positions.py", "building_blocks.call_positions"


class AsksPretraining(AsksBlocks):
    """Calls the functions of building_blocks_pretraining.py."""

    module, asks = "building_blocks_pretraining.py", "building_blocks.call_pretraining"


def _wanted_form(answer: Answer, shape: tuple[int, ...], kind: str) -> str:
    if not shape:
        return "an integer" if kind == "i" else "a single number"
    if PARTS.get(answer.function, 1) > 1:
        return f"two tensors of shape {shape}, of {KINDS[kind]}: inputs and targets"
    if (len(shape), kind) == (1, "i"):
        return f"a list of {shape[0]} integers"
    return f"a tensor of shape {shape}, of {KINDS[kind]}"


def _shown(number: Any, kind: str) -> str:
    """Format a number of an answer, in full for integers: powers may be off by 1."""
    if isinstance(number, np.bool_ | np.integer):
        return str(number)
    return repr(float(number)) if kind == "i" else f"{number:.6g}"


def _at(place: tuple[int, ...]) -> str:
    return f" at {list(place)}" if place else ""
