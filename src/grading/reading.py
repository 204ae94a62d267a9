"""Turns a worker's ending or exception into a verdict that a student understands.

With a hidden test a student reads a fixed sentence, for a crash also the built-in exception's type
and the line of their own file: never a message or a value, which could carry hidden inputs out.
"""

from __future__ import annotations

import builtins
import re
import signal
from pathlib import Path
from typing import Any

from . import schema
from .assignment import TestSpec
from .errors import Doubtful, Verdict, WireError
from .exchange import Finished
from .limits import Limits
from .outcomes import Outcome

ERROR_SPEC = {"outcome": str, "type": str, "where": str, "message": str, "traceback": str}
PLACE = re.compile(r"(submission/[^/:]+\.py):(0|[1-9][0-9]{0,5})")
REPORTED = (
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.OUT_OF_MEMORY,
    Outcome.EXITED,
    Outcome.SYNTAX_ERROR,
    Outcome.IMPORT_ERROR,
    Outcome.MISSING_FILE,
)  # what a worker can know of itself
HIDE = "; its text is not shown with hidden tests"

BY_REASON = {
    "cpu": (Outcome.TIMED_OUT, "took longer than {cpu_s:g} seconds of CPU time"),
    "wall": (Outcome.TIMED_OUT, "did not finish within {wall_s:g} seconds (is it waiting?)"),
    "memory": (
        Outcome.OUT_OF_MEMORY,
        "used more memory than a test may have (2 GiB, less in a small container)",
    ),
    "processes": (Outcome.KILLED, "started more than {processes} processes"),
    "abandoned": (Outcome.KILLED, "was stopped with the grader"),
    "unknown": (Outcome.KILLED, "ended in a way that could not be watched"),
}
SIGNALS = {
    signal.SIGSEGV: "crashed with a segmentation fault (endless recursion in a library?)",
    signal.SIGABRT: "was aborted by a library",
    signal.SIGXFSZ: "wrote a file that is too large",
    signal.SIGKILL: "was killed",
}


def explain_ending(finished: Finished, limits: Limits) -> Verdict | None:
    """The verdict of a worker that did not answer; None when there is a frame to read.

    A frame counts only when its process ended by itself: one that hit a limit after answering has
    broken a limit all the same.
    """
    ending = finished.ending
    # No times in it: the same run repeated says the same.
    ended = f"exit status {ending.code}, signal {ending.signal}, limit {ending.reason or 'none'}"
    detail = f"{ended}\noutput:\n{finished.output[-2000:]}"
    if ending.reason:
        outcome, sentence = BY_REASON[ending.reason]
        return Verdict(outcome, "your code " + sentence.format(**_numbers(limits)), detail)
    if ending.signal:
        said = SIGNALS.get(ending.signal, f"was ended by signal {ending.signal}")
        return Verdict(Outcome.KILLED, "your code " + said, detail)
    if finished.frame is None:
        return Verdict(
            Outcome.EXITED, "your code ended the process (exit, quit or os._exit?)", detail
        )
    return None


def _numbers(limits: Limits) -> dict[str, float]:
    return {
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "processes": limits.processes,
    }


def explain_error(error: Any, spec: TestSpec, staged: Path) -> Verdict:
    """The verdict of an exception, as `worker.describe` reported it.

    The report comes out of the student's process: each field is checked before it is repeated,
    the place against the files in `staged`.

    Returns:
        The verdict; a Doubtful one if no line of the student's took part, so that the fault may
        be in our own probe (whoever has the reference can tell: it then fails there, too).
    """
    try:
        schema.check(error, ERROR_SPEC)
        outcome = Outcome(error["outcome"])
    except (WireError, ValueError):
        return Verdict(Outcome.ERROR, "the submission's process answered something malformed")
    if outcome not in REPORTED:
        outcome = Outcome.ERROR
    where = _place(error["where"], staged)
    kind = error["type"] if _is_builtin(error["type"]) else "Exception"
    at = f"{where}: " if where else ""
    if not spec.is_hidden:
        message = _basic_message(outcome, kind, at, error["message"])
    elif kind == "NotImplementedError":
        message = f"{at}this part is not written yet"
    else:
        message = f"{at}{kind}{HIDE}"
    # Of a part that nobody has written yet there is no more to know.
    detail = "" if kind == "NotImplementedError" else error["traceback"]
    kind_of_verdict = Verdict if where or outcome is not Outcome.ERROR else Doubtful
    return kind_of_verdict(outcome, message, detail)


def _place(claimed: str, staged: Path) -> str:
    """`claimed` if such a line exists in a staged file, else "": names and numbers that a student
    makes up could carry hidden inputs out."""
    match = PLACE.fullmatch(claimed)
    package = staged / "submission"
    try:
        if match is None or match[1] not in {f"submission/{p.name}" for p in package.glob("*.py")}:
            return ""
        lines = (staged / match[1]).read_bytes().count(b"\n") + 1
    except OSError:  # a test that runs as the files' owner may have locked them
        return ""
    return claimed if int(match[2]) <= lines else ""


def _is_builtin(claimed: str) -> bool:
    """Whether this is the name of one of Python's own exceptions."""
    kind = getattr(builtins, claimed, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _basic_message(outcome: Outcome, kind: str, at: str, text: str) -> str:
    text = " ".join(text.split())[:500]
    if kind == "NotImplementedError":
        return f"{at}not written yet: {text}" if text else f"{at}not written yet"
    if outcome is Outcome.SYNTAX_ERROR:
        return f"{at}this is no Python: {text}"
    if outcome is Outcome.MISSING_FILE:
        return f"a file of the submission is missing: {text}"
    if outcome is Outcome.IMPORT_ERROR:
        return f"{at}import failed: {text}"
    if outcome is Outcome.EXITED:
        return f"{at}your code ended the process ({kind}: {text})"
    return f"{at}{kind}: {text}"
