"""The harness's exceptions: a student's failure and the grader's failure are different things.

    GradingError
    |- UsageError          bad input to the command: one line, exit code 2
    |  |- SubmissionError  the submission can't be graded at all
    |  `- DataError        no readable data set: a test that needs one is not run
    |- Verdict             a test's end other than a pass: the outcome and a message
    |  |- NotGraded        a hidden test without `solutions/`: it ran, but was not judged
    |  `- Doubtful         an exception that involves no line of the student's
    |- ReferenceFailed     the reference raised an exception
    `- WireError           bytes that are not a valid frame
Anything else that escapes while a test is judged, including a ReferenceFailed and a Doubtful, is
the student's fault if the reference in the submission's place succeeds, and otherwise the grader's
(`runner.Run`): outcome `grader error`, exit code 3.
"""

from __future__ import annotations

from fractions import Fraction

from . import causes, printable
from .outcomes import Outcome

MALFORMED = "the submission's process answered something malformed"


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


class ReferenceFailed(GradingError):
    """The reference raised an exception; its inputs may contain a student's data."""


class Verdict(GradingError):
    """A test ended without passing.

    Args:
        outcome: how it ended.
        message: what the student may read: one sentence or a few lines.
        detail: what only staff may also read (got, expected, traceback); students never see it
            for hidden tests.
        credit: the share of the test's points that is still earned, 0 to 1.
        place: the kind and function of a crash, which identify tests with the same crash.
        id: the name of this way of failing among those of the same outcome (`causes.py`), for
            staff; by default, that of the message. Nothing in it may come from a student.
        where: the student's line of a crash (`submission/dataset.py:57`), for staff.
        is_unwritten: whether the part that is tested is not written yet.
        missing_file: the name of a file that is missing and can be produced or renamed.
        hint: what was handed in instead of it, or "".
    """

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        detail: str = "",
        credit: Fraction = Fraction(0),
        place: str = "",
        id: str = "",
        where: str = "",
        is_unwritten: bool = False,
        missing_file: str = "",
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.message = message
        self.detail = detail
        self.credit = credit
        self.place = place
        self.id = id
        self.where = where
        self.is_unwritten = is_unwritten
        self.missing_file = missing_file
        self.hint = hint

    @property
    def cause(self) -> str:
        """The id of this way of failing; "" for a pass."""
        is_worded = self.outcome is Outcome.FAILED and not self.id
        way = causes.way_of(self.message.partition("\n")[0]) if is_worded else self.id
        return causes.cause_of(self.outcome, way)


class NotGraded(Verdict):
    """A hidden test ran, but can't be judged here."""

    def __init__(self, message: str) -> None:
        super().__init__(Outcome.RAN_NOT_GRADED, message)


class Doubtful(Verdict):
    """The submission's process raised an exception that may come from our own probe."""


def malformed(detail: str = "") -> Verdict:
    """Return the verdict for an answer that no probe gives; `detail` is for staff."""
    return Verdict(Outcome.ERROR, MALFORMED, detail, id="malformed")
