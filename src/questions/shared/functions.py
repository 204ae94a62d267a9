"""Tests that call functions of a student's module, each with its own arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grading.cases import GradedTestCase
from grading.wire import Where, table


@dataclass(frozen=True)
class Answer:
    """A function's answer to its arguments. Nothing about `parts` has been checked yet."""

    module: str  # "building_blocks.py"
    function: str
    arguments: list[Any]
    form: str  # "float64[8]", for messages
    parts: list[Any]

    @property
    def subject(self) -> str:
        """The function's name in the id of a failure."""
        return self.function.replace("_", "-")

    @property
    def look_at(self) -> str:
        return f"{self.function} in submission/{self.module}"


class FunctionCase(GradedTestCase):
    """Calls functions of a student's module with a test's arguments.

    Attributes:
        part: the spec of a part of an answer.
    """

    part: Any

    def call(
        self,
        probe: str,
        module: str,
        function: str,
        arguments: list[list[Any]],
        parts: int,
        **more: type,
    ) -> tuple[list[Answer], dict[str, list]]:
        """Return the function's answers, one for each list of arguments, from one worker.

        Args:
            parts: the number of arrays, numbers or the like in an answer.
            more: the types of further values that the probe sends for each answer.

        Returns:
            the answers, and everything that the probe sent.
        """
        consists = Where([self.part], lambda answer: len(answer) == parts, f"{parts} parts")
        columns = {"forms": str, "answers": consists, **more}
        spec = table(columns, rows=len(arguments))
        got = self.probe(probe, spec, function=function, arguments=arguments, parts=parts)
        answers = zip(arguments, got["forms"], got["answers"], strict=True)
        return [Answer(module, function, *answer) for answer in answers], got
