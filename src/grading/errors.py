"""The harness's exceptions: a student's failure and the grader's failure are different things.

    GradingError
    |- UsageError          bad input to the command: one line, exit code 2
    |  |- SubmissionError  what was handed in can't be graded at all
    |  `- DataError        there is no data set that can be read: a test that needs one is not run
    |- Verdict             a test's end that is not a pass; carries the outcome and what to say
    |  |- NotGraded        a hidden test without `solutions/`: it ran, nobody judged it
    |  `- Doubtful         an exception in which no line of the student's took part
    |- ReferenceFailed     the reference raised an exception on what it was asked
    `- WireError           bytes that are no frame of ours
Anything else that escapes while a test is judged, a ReferenceFailed and a Doubtful included, is
the student's when the reference in the submission's place comes through, and the grader's own fault
when it doesn't (`runner.Run`): outcome `grader error`, exit code 3.
"""

from __future__ import annotations

from fractions import Fraction

from . import causes, printable
from .outcomes import Outcome

MALFORMED = "the submission's process answered something malformed"


class GradingError(Exception):
    """Base of all that the harness raises on purpose."""


class UsageError(GradingError):
    """The command was asked for something that it can't do; `str()` is the one line to print."""

    def __init__(self, message: str) -> None:
        super().__init__(printable.line(message))  # it may hold names that a student chose


class SubmissionError(UsageError):
    """There is no submission to grade, or not one that can be taken."""


class DataError(UsageError):
    """The installed data set, or one of its files, is missing or can't be read."""


class WireError(GradingError):
    """A frame is malformed, too large, or holds a type that may not cross."""


class ReferenceFailed(GradingError):
    """The reference raised an exception; what it was asked may hold a student's data."""


class Verdict(GradingError):
    """A test ended without passing.

    Args:
        outcome: how it ended.
        message: what the student may read: one sentence or a few lines.
        detail: what staff may read besides (got, expected, traceback); never shown to students
            with hidden tests.
        credit: the share of the test's points that is earned all the same, 0 to 1.
        place: of a crash, its kind and function, by which tests are told to have crashed alike.
        way: names this way to fail among those of the same outcome (`causes.py`), for staff; by
            default, that of the message. Nothing in it may come from a student.
        where: of a crash, the student's line (`submission/dataset.py:57`), for staff.
    """

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        detail: str = "",
        credit: Fraction = Fraction(0),
        place: str = "",
        way: str = "",
        where: str = "",
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        self.detail = detail
        self.credit = credit
        self.place = place
        self.way = way
        self.where = where

    @property
    def cause(self) -> str:
        """The id of this way to fail; "" for a pass."""
        is_worded = self.outcome is Outcome.FAILED and not self.way
        way = causes.way_of(self.message.partition("\n")[0]) if is_worded else self.way
        return causes.cause_of(self.outcome, way)


class NotGraded(Verdict):
    """A hidden test ran, and nobody is here to judge what was observed."""

    def __init__(self, message: str) -> None:
        super().__init__(Outcome.RAN_NOT_GRADED, message)


class Doubtful(Verdict):
    """The submission's process raised an exception that may be our own probe's."""


def malformed(detail: str = "") -> Verdict:
    """Return the verdict of an answer that our probes never give; `detail` is for staff."""
    return Verdict(Outcome.ERROR, MALFORMED, detail, way="malformed")
