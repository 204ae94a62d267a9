"""The harness's exceptions, by whose mistake it is; a test's end is a value (`verdicts.py`).

    GradingError           ours: a broken installation, a reference that fails; exit code 3
    |- UsageError          the user's: bad input to the command; one line, exit code 2
    |  |- SubmissionError  the submission can't be graded at all
    |  `- DataError        no readable data set: a test that needs one is not run
    `- WireError           bytes that are not a valid frame, whoever sent them
Anything else that escapes while a test is judged is the student's fault if the reference in the
submission's place succeeds, and otherwise the grader's (`runner.judge`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from . import printable


class GradingError(Exception):
    """Base of all exceptions that the harness raises on purpose."""


class UsageError(GradingError):
    """The command can't do what was asked; `str()` is the one line to print."""

    def __init__(self, message: str) -> None:
        super().__init__(printable.line(message))  # it may contain names that a student chose


class SubmissionError(UsageError):
    """There is no submission to grade, or it can't be accepted."""


class DataError(UsageError):
    """The installed data set, or one of its files, is missing or can't be read."""


class WireError(GradingError):
    """A frame is malformed, too large, or contains a type that may not cross."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, or all."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1, 0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(known)}" if known else "; there are none"
