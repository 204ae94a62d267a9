"""Finds the lines of a submission that an example shows."""

from __future__ import annotations

import ast
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from grading.errors import SubmissionError
from questions.provided import PROVIDED

from ..submissions import Submission
from .failures import Failure

AROUND = 4  # lines shown before and after a line
MOST_LINES = 40
PLACE = re.compile(r"(submission/\w+\.py):(\d+)")


@dataclass(frozen=True)
class Quoted:
    """Lines of a file with their numbers; `meant` is the number of the line meant, or 0."""

    file: str
    lines: tuple[tuple[int, str], ...]
    meant: int = 0

    @property
    def numbered(self) -> str:
        """The lines with their numbers; `>` marks the line meant."""
        width = len(str(self.lines[-1][0]))
        return "\n".join(
            f"{'>' if number == self.meant else ' '} {number:>{width}}  {line}"
            for number, line in self.lines
        )


def quote(submission: Submission | None, failure: Failure) -> Quoted | None:
    """Return the lines around an exception, or else the function that tests point to.

    Returns None if neither is known, or the files are no longer there.
    """
    if submission is None:
        return None
    match = PLACE.fullmatch(failure.where)
    function, _, file = failure.look_at.rpartition(" in ")
    text = _text(submission, match[1] if match else file)
    if text is None:
        return None
    if match:
        return _around(match[1], text, int(match[2]))
    return _function(file, text, function) if function else None


def _text(submission: Submission, file: str) -> str | None:
    """Return a file of a submission, as it was graded."""
    if not file:
        return None
    with tempfile.TemporaryDirectory(prefix="quoted-") as place:
        try:
            staged = submission.upload.stage(Path(place) / "staged", PROVIDED)
        except SubmissionError:
            return None
        if file not in staged.taken:
            return None
        return (staged.root / file).read_text(encoding="utf-8", errors="replace")


def _around(file: str, text: str, line: int) -> Quoted:
    lines = list(enumerate(text.split("\n"), 1))
    return Quoted(file, tuple(lines[max(0, line - 1 - AROUND) : line + AROUND]), line)


def _function(file: str, text: str, name: str) -> Quoted | None:
    """Return a function, `name` or `Class.name`, without its docstring, cut to MOST_LINES."""
    try:
        nodes: list[ast.AST] = [ast.parse(text)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for part in name.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        inner = [n for node in nodes for n in ast.iter_child_nodes(node) if isinstance(n, kinds)]
        nodes = [node for node in inner if node.name == part]
    if not nodes:
        return None
    found = nodes[-1]  # the last definition is the one that counts
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    shown = range(found.lineno, (found.end_lineno or found.lineno) + 1)
    described = found.body[0] if ast.get_docstring(found, clean=False) is not None else None
    hidden = range(described.lineno, (described.end_lineno or 0) + 1) if described else range(0)
    lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if n in shown]
    return Quoted(file, tuple([pair for pair in lines if pair[0] not in hidden][:MOST_LINES]))
