"""How a test can end, and how a run's end becomes an exit code (design: Grading, Outcomes)."""

from __future__ import annotations

from enum import Enum, IntEnum


class Outcome(Enum):
    """A test's end; the value is the word that people read."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    KILLED = "killed"
    EXITED = "exited"
    SYNTAX_ERROR = "syntax error"
    IMPORT_ERROR = "import error"
    MISSING_FILE = "missing file"
    RAN_NOT_GRADED = "ran, not graded"
    NOT_RUN = "not run"
    GRADER_ERROR = "grader error"


class ExitCode(IntEnum):
    """What `python grader.py` returns to the shell."""

    OK = 0  # all selected tests passed
    FAILED = 1  # some did not pass or were not run (no data set, no time left)
    USAGE = 2  # bad usage or bad input
    GRADER_ERROR = 3  # the grader failed: no score counts
    INTERRUPTED = 130  # Ctrl-C


def exit_code(outcomes: list[Outcome]) -> ExitCode:
    """Return the exit code of a run whose tests ended like this.

    A test that ran but could not be judged (a student's copy has no answers) is not a failure.
    """
    if Outcome.GRADER_ERROR in outcomes:
        return ExitCode.GRADER_ERROR
    harmless = {Outcome.PASSED, Outcome.RAN_NOT_GRADED}
    return ExitCode.OK if all(o in harmless for o in outcomes) else ExitCode.FAILED
