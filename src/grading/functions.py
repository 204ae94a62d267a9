"""Calls functions of a student's module with arguments of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .cases import GradedTestCase
from .schema import Where, table


@dataclass(frozen=True)
class Answer:
    """What a function answered to its arguments. Nothing about `parts` was checked yet."""

    module: str  # "building_blocks.py"
    function: str
    arguments: list[Any]
    form: str  # "float64[8]", for messages
    parts: list[Any]

    @property
    def look_at(self) -> str:
        return f"{self.function} in submission/{self.module}"


class AsksFunctions(GradedTestCase):
    """Calls functions of a student's module with arguments of ours.

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
            parts: of how many arrays, numbers or the like an answer consists.
            more: what else the probe tells about each answer, and of what type.

        Returns:
            the answers, and what the probe sent.
        """
        consists = Where([self.part], lambda answer: len(answer) == parts, f"{parts} parts")
        columns = {"forms": str, "answers": consists, **more}
        asked = {"function": function, "arguments": arguments, "parts": parts}
        got = self.probe(probe, table(columns, rows=len(arguments)), **asked)
        told = zip(arguments, got["forms"], got["answers"], strict=True)
        return [Answer(module, function, *answer) for answer in told], got
