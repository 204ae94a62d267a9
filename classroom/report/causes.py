"""Groups failures by cause, with an example of each, and the lines of its code that it is about."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from grading.errors import SubmissionError
from grading.verdicts import Outcome, cause_of

from ..submissions import Submission, points, question_of
from .numbers import Handed

NO_FAILURES = (Outcome.PASSED.value, Outcome.RAN_NOT_GRADED.value, Outcome.DROPPED.value)
AROUND = 4  # lines shown before and after a line
MOST_LINES = 40
MOST_BYTES = 100_000  # of a file that is shown; parsing takes a thousand times as much memory
PLACE = re.compile(r"(submission/\w+\.py):(\d+)")


@dataclass
class Cause:
    """A way to fail in a question."""

    question: str
    id: str
    is_practice: bool  # whether the question is worth nothing
    example: Handed  # the submission that is shown, if possible one with a known line
    shown: dict[str, Any]  # what the autograder said of the example's test
    tests: Counter[str] = field(default_factory=Counter)  # how often each failed in this way
    handed: list[Handed] = field(default_factory=list)  # the submissions, each once
    lost: Decimal = Decimal(0)  # how many points the class lost because of it
    look_at: str = ""  # where tests of the question advise to look (`Verdict.look_at`), or ""

    @property
    def where(self) -> str:
        """The line in the example, such as `submission/dataset.py:57`, or ""."""
        return str(self.shown.get("where", ""))


def causes_of(results: Iterable[tuple[Handed, list[dict[str, Any]]]]) -> list[Cause]:
    """Return all ways to fail: first what cost most points, then what most submissions have.

    Args:
        results: submissions, each with its tests as the autograder described them.
    """
    causes: dict[tuple[str, str], Cause] = {}
    advice: dict[str, Counter[str]] = defaultdict(Counter)  # where to look, by question
    for one, tests in results:
        worth = {question_of(test["test_id"]) for test in tests if test["max_score"]}
        for test in tests:
            if test["outcome"] in NO_FAILURES:
                continue
            question = question_of(test["test_id"])
            key = test.get("cause") or cause_of(Outcome(test["outcome"]), "")
            new = Cause(question, key, question not in worth, one, test)
            cause = causes.setdefault((question, key), new)
            if new.where and not cause.where:
                cause.example, cause.shown = one, test
            if one not in cause.handed[-1:]:
                cause.handed.append(one)
            cause.tests[test["test_id"]] += 1
            cause.lost += Decimal(points(test["max_score"])) - Decimal(points(test["score"]))
            cause.look_at = cause.look_at or test.get("look_at", "")
            advice[question].update(filter(None, [test.get("look_at")]))
    for cause in causes.values():
        if not cause.look_at and advice[cause.question]:
            cause.look_at = advice[cause.question].most_common(1)[0][0]
    return sorted(causes.values(), key=lambda c: (-c.lost, -len(c.handed), c.question, c.id))


# Code ---------------------------------------------------------------------------------------------


def quote(submission: Submission | None, where: str, look_at: str) -> str:
    """Return the numbered lines around an exception, or else the function that tests point to.

    Returns "" if neither is known, or the files are no longer there.
    """
    match = PLACE.fullmatch(where)
    function, _, file = look_at.rpartition(" in ")
    file = match[1] if match else file
    if submission is None or not file or not (match or function):
        return ""
    text, meant = _text(submission, file), int(match[2]) if match else 0
    around = set(range(meant - AROUND, meant + AROUND + 1))
    numbers = around if match else _function(text, function)
    lines = [line for line in enumerate(text.split("\n"), 1) if line[0] in numbers][:MOST_LINES]
    return "\n".join(f"{'>' if n == meant else ' '} {n:>4}  {line}" for n, line in lines if text)


def _text(submission: Submission, file: str) -> str:
    """Return the file of a submission with this name, such as `submission/dataset.py`, or ""."""
    with suppress(SubmissionError, OSError), submission.upload.tree() as top:
        for folder, names in top.walk():
            for name in names:
                if "/".join((*folder.parts, name)).endswith(file):
                    with folder.file(name) as reader:
                        data = reader.read(MOST_BYTES + 1)
                    if len(data) <= MOST_BYTES:
                        return data.decode("utf-8", "replace")
    return ""


def _function(text: str, name: str) -> set[int]:
    """Return the lines of a function, `name` or `Class.name`, without those of its docstring."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    try:
        node: Any = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    for part in name.split("."):
        inner = ast.iter_child_nodes(node)
        named = [each for each in inner if isinstance(each, kinds) and each.name == part]
        if not named:
            return set()
        node = named[-1]  # the one that counts
    lines = set(range(node.lineno, node.end_lineno + 1))
    if ast.get_docstring(node, clean=False) is not None:
        lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines
