"""Calls functions of a student's module with arguments of ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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


class AsksFunctions:
    """Calls functions of a student's module with arguments of ours."""

    def call(
        self,
        probe: str,
        module: str,
        function: str,
        arguments: list[list[Any]],
        parts: int,
        **more: list[type],
    ) -> tuple[list[Answer], dict[str, list]]:
        """The function's answers, one for each list of arguments, all in one worker.

        Args:
            parts: of how many arrays, numbers or the like an answer consists.
            more: what else the probe tells about each answer, and of what type.

        Returns:
            the answers, and what the probe sent.
        """
        fields = {"forms": [str], "answers": [list], **more}
        got = self.probe(probe, fields, function=function, arguments=arguments, parts=parts)
        counts = {len(got[name]) for name in fields} | {len(arguments)}
        fine = len(counts) == 1 and all(len(answer) == parts for answer in got["answers"])
        self.expect(fine, "answers are missing")
        told = zip(arguments, got["forms"], got["answers"], strict=True)
        return [Answer(module, function, *answer) for answer in told], got
