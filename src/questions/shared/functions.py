"""Tests that call functions of a student's module, each with its own arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grading.cases import GradedTestCase
from grading.wire import AnyOf, Array, Maybe, Where, table

# A part of an answer: numbers, words, or neither.
PART = Maybe(AnyOf((*(Array(dtype, None) for dtype in ("float64", "int64", "bool")), [str])))


@dataclass(frozen=True)
class Answer:
    """A function's answer to its arguments. Nothing about `parts` has been checked yet."""

    case: GradedTestCase
    module: str  # "building_blocks.py"
    function: str
    arguments: list[Any]
    form: str  # "float64[8]", for messages
    parts: list[Any]
    changed: bool  # whether the function modified its arguments, where the probe looks

    @property
    def subject(self) -> str:
        """The function's name in the id of a failure."""
        return self.function.replace("_", "-")

    @property
    def look_at(self) -> str:
        return f"{self.function} in submission/{self.module}"

    def expect(self, condition: bool, sentence: str, *, id: str, **detail: Any) -> None:
        """Fail with `sentence`, and where to look, unless `condition` holds."""
        self.case.expect(condition, sentence, id=id, look_at=self.look_at, **detail)


class FunctionCase(GradedTestCase):
    """Calls functions of a student's module with a test's arguments.

    Attributes:
        module: the module's file.
        asks: the probe that calls its functions.
        parts: the number of arrays, numbers or the like in a function's answer, if not one.
        columns: the types of further values that the probe sends for each answer.
    """

    module: str
    asks: str
    parts: dict[str, int] = {}
    columns: dict[str, type] = {}

    def ask(
        self, function: str, arguments: list[list[Any]], of: Callable[..., Any] | None = None
    ) -> list[Answer]:
        """Return the function's answers, one for each list of arguments, from one worker.

        Args:
            of: self.probe, the default, or self.reference.
        """
        parts, rows = self.parts.get(function, 1), len(arguments)
        consists = Where([PART], lambda answer: len(answer) == parts, f"{parts} parts")
        spec = table({"forms": str, "answers": consists} | self.columns, rows=rows)
        asked = {"module": self.module, "function": function, "arguments": arguments}
        got = (of or self.probe)(self.asks, spec, **asked, parts=parts)
        changed = got.get("changed", [False] * rows)
        answers = zip(arguments, got["forms"], got["answers"], changed, strict=True)
        return [Answer(self, self.module, function, *answer) for answer in answers]
