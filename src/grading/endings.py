"""Turns a worker's ending or exception into a verdict that a student understands.

For a hidden test, a student reads a fixed sentence and, for a crash, also the type of the built-in
exception and the function of the assignment from which it came: no message, value or line number,
with which code could reveal hidden inputs. Basic tests show the exact line.
"""

from __future__ import annotations

import builtins
import re
import signal
from pathlib import Path
from typing import Any

from . import paths, schema
from .assignment import TestSpec
from .errors import Doubtful, Verdict, WireError, malformed
from .frames import Finished
from .importing import IMPORTED
from .limits import Limits
from .outcomes import Outcome
from .staging import Staged
from .worker import LEFT_DEBUGGER, NO_DEBUGGER, NO_FILES, NO_PROCESSES

ERROR_SPEC = {"outcome": str, "type": str, "where": str, "message": str, "traceback": str}
PLACE = re.compile(r"(submission/[^/:]+\.py):(0|[1-9][0-9]{0,5})")
# A line of a stack. No part can match at many places, or 64 KB from a student would take too long.
FRAME = re.compile(
    r'^  File "[^"\n]*?(submission[/\\][^/\\"\n]+\.py)", line ([0-9]{1,6}) in', re.MULTILINE
)
DEFINED = re.compile(r"(?:async )?def ([A-Za-z_][A-Za-z0-9_]*)")
REPORTED = (
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.OUT_OF_MEMORY,
    Outcome.EXITED,
    Outcome.SYNTAX_ERROR,
    Outcome.IMPORT_ERROR,
    Outcome.MISSING_FILE,
)  # what a worker can know about itself
OF_IMPORTS = (Outcome.SYNTAX_ERROR, Outcome.IMPORT_ERROR, Outcome.MISSING_FILE)
# What random.randint, range and the like say about 28.5 and, from Python 3.12 on, about 28.0.
OF_A_FLOAT = re.compile(r"non-integer .* for randrange\(\)|'float' object cannot be interpreted as")
RELATIVE = re.compile(r"No such file or directory: '(?![/\\\\]|[A-Za-z]:)")
NO_INPUT = "nobody can type here: is an input() left over?"
# What Python says of a module, or of a name in one, that isn't there.
NO_MODULE = re.compile(
    r"No module named '(?:submission\.)?(?P<file>\w+)'"
    r"|cannot import name '(?P<file2>\w+)' from 'submission' \("
)
NO_NAME = re.compile(
    r"module 'submission\.(?P<file>\w+)' has no attribute '(?P<name>\w+)'"
    r"|cannot import name '(?P<name2>\w+)' from 'submission\.(?P<file2>\w+)' \("
)
HIDE = "; its text is not shown for hidden tests"
HINTS = {  # for hidden tests, by the exception's type alone
    "BlockingIOError": f"; {NO_PROCESSES}",
    "EOFError": f"; {NO_INPUT}",
    "PermissionError": f"; {NO_FILES}; {NO_PROCESSES}",
}

BY_REASON = {
    "cpu": (Outcome.TIMED_OUT, "took longer than {cpu_s:g} seconds of CPU time"),
    "wall": (Outcome.TIMED_OUT, "did not finish within {wall_s:g} seconds (is it waiting?)"),
    "import": (Outcome.TIMED_OUT, "took longer than {import_s:g} seconds of CPU time" + IMPORTED),
    "import-wall": (
        Outcome.TIMED_OUT,
        "did not finish within {import_wall_s:g} seconds (is it waiting?)" + IMPORTED,
    ),
    "memory": (
        Outcome.OUT_OF_MEMORY,
        "used more memory than a test may have (2 GiB, less in a small container)",
    ),
    "processes": (Outcome.KILLED, "started more than {processes} processes"),
    "threads": (Outcome.KILLED, "started more than {threads} threads"),
    "files": (
        Outcome.KILLED,
        "wrote more than {files} files, or {megabytes} MiB, or locked a folder",
    ),
    "abandoned": (Outcome.KILLED, "was stopped with the grader"),
    "unknown": (Outcome.KILLED, "ended in a way that could not be observed"),
}
SIGNALS: dict[int, str] = {
    signal.SIGSEGV: "crashed with a segmentation fault (endless recursion in a library?)",
    signal.SIGABRT: "was aborted by a library",
    signal.SIGXFSZ: "wrote a file that is too large",
    signal.SIGKILL: "was killed",
}


def explain_ending(finished: Finished, limits: Limits) -> Verdict | None:
    """Return the verdict of a worker that did not answer, or None if there is a frame to read.

    A frame counts only if its process ended by itself: one that hit a limit after answering has
    still broken a limit.
    """
    ending = finished.ending
    # It contains no times, so that a repeated run says the same.
    ended = f"exit status {ending.code}, signal {ending.signal}, limit {ending.reason or 'none'}"
    detail = f"{ended}\noutput:\n{finished.output[-2000:]}"
    if ending.reason:
        outcome, sentence = BY_REASON[ending.reason]
        message = "your code " + sentence.format(**_numbers(limits))
        return Verdict(outcome, message, detail, id=ending.reason)
    if ending.signal:
        said = SIGNALS.get(ending.signal, f"was ended by signal {ending.signal}")
        return Verdict(Outcome.KILLED, "your code " + said, detail, id=f"signal-{ending.signal}")
    if finished.frame is None:
        return Verdict(
            Outcome.EXITED, "your code ended the process (exit, quit or os._exit?)", detail
        )
    return None


def at_place(verdict: Verdict, stack: str, spec: TestSpec, staged: Path) -> Verdict:
    """Return a time-out's verdict with the student's innermost line, if the stack has one.

    Args:
        stack: what faulthandler wrote, innermost first. The student's code may have written it.
    """
    lines = [f"{file.replace(chr(92), '/')}:{number}" for file, number in FRAME.findall(stack)]
    place = next(filter(None, (_place(line, staged) for line in lines)), "")
    if not place:
        return verdict
    message = verdict.message if spec.is_hidden else f"{verdict.message}; it was at {place}"
    where = f"out of time {_function_of(place, staged) or place}"
    detail = f"{verdict.detail}\nat: {place}"
    return Verdict(verdict.outcome, message, detail, place=where, id=verdict.id, where=place)


def _numbers(limits: Limits) -> dict[str, float]:
    return {
        "cpu_s": limits.cpu_s,
        "wall_s": limits.wall_s,
        "import_s": limits.import_s,
        "import_wall_s": limits.import_wall_s,
        "processes": limits.processes,
        "threads": limits.threads,
        "files": limits.scratch_files,
        "megabytes": limits.scratch_bytes >> 20,
    }


def explain_error(error: Any, spec: TestSpec, submission: Staged, edition: str) -> Verdict:
    """Return the verdict of an exception that a worker reported (see `worker.describe`).

    The report comes from the student's process, so each field is checked before it is repeated,
    the place against the files that are staged.

    Args:
        edition: the name of the edition, for messages.

    Returns:
        The verdict; a Doubtful one if no line of the student's is involved, or a module could not
        be imported: the fault may be in our own probe, or in a given module (with the reference,
        one can tell: it then fails there, too).
    """
    try:
        schema.check(error, ERROR_SPEC)
        outcome = Outcome(error["outcome"])
    except (WireError, ValueError):
        return malformed()
    if outcome not in REPORTED:
        outcome = Outcome.ERROR
    staged, text = submission.root, error["message"]
    lacking = _lacking(text, submission, edition)
    missing = _missing_module(text, submission)
    hint = submission.hint(missing) if missing else ""
    if missing:
        outcome = Outcome.MISSING_FILE
    where = _place(error["where"], staged)
    kind = error["type"] if _is_builtin(error["type"]) else "Exception"
    shown = _function_of(where, staged) if spec.is_hidden else where
    at = f"{shown}: " if shown else ""
    if lacking:
        message = lacking
    elif text == NO_DEBUGGER and not spec.is_hidden:
        message = f"{at}{NO_DEBUGGER}: python src/grader.py --in-process {spec.test_id}"
    elif error["message"] == LEFT_DEBUGGER and not spec.is_hidden:
        message = f"{at}{LEFT_DEBUGGER}"
    elif not spec.is_hidden:
        message = _basic_message(outcome, kind, at, text)
    elif kind == "NotImplementedError":
        message = f"{at}this part is not written yet"
    else:
        message = f"{at}{kind}{HIDE}{HINTS.get(kind, '')}"
    # There is nothing more to say about a part that is not written yet.
    detail = "" if kind == "NotImplementedError" else error["traceback"]
    doubtful = outcome in OF_IMPORTS or (outcome is Outcome.ERROR and not where)
    place = f"{kind} {_function_of(where, staged) or where}" if where else ""
    kind_of_verdict = Doubtful if doubtful else Verdict
    return kind_of_verdict(
        outcome,
        message,
        detail,
        place=place,
        id=kind,
        where=where,
        is_unwritten=kind == "NotImplementedError",
        missing_file=missing if hint else "",  # students write modules: no command does
        hint=hint,
    )


def _missing_module(text: str, submission: Staged) -> str:
    """Return which of the assignment's modules could not be imported as it is not there, or ""."""
    lost = NO_MODULE.match(text)
    file = f"{lost['file'] or lost['file2']}.py" if lost else ""
    name = f"submission/{file}"
    return name if file in submission.modules and name not in submission.taken else ""


def _lacking(text: str, submission: Staged, edition: str) -> str:
    """Return a sentence on what the submission lacks, a module or a function; "" if nothing.

    Only the assignment's own names are repeated, and only if they really are not there: with names
    of their own, students could reveal hidden inputs.
    """
    if name := _missing_module(text, submission):
        hint = submission.hint(name)
        return f"{name} is missing; {hint}" if hint else f"{name} is missing"
    lost = NO_NAME.match(text)
    if lost is None:
        return ""
    file, name = f"submission/{lost['file'] or lost['file2']}.py", lost["name"] or lost["name2"]
    path = submission.path(file)
    own = _given_functions(file, submission.root)
    if path is None or own is None or (name not in own and paths.SOLUTIONS.exists()):
        return ""
    if re.search(rf"\b{name}\b", path.read_text(encoding="utf-8", errors="replace")):
        return ""
    return (
        f"{file} has no {name}, which the edition {edition} asks for: was it deleted, or is this "
        "the code of another edition or year?"
    )


def float_ranges(envelope: dict[str, Any], staged: Path) -> str:
    """Return the place that a worker reported (see float_ranges.py); "" if none or made up."""
    match envelope.get("float_ranges"):
        case [str(claimed)]:
            return _place(claimed, staged)
    return ""


def _place(claimed: str, staged: Path) -> str:
    """Return `claimed` if such a line exists in a staged file, otherwise "".

    Made-up names and numbers could reveal hidden inputs.
    """
    match = PLACE.fullmatch(claimed)
    package = staged / "submission"
    try:
        if match is None or match[1] not in {f"submission/{p.name}" for p in package.glob("*.py")}:
            return ""
        lines = (staged / match[1]).read_bytes().count(b"\n") + 1
    except OSError:  # a test that runs as the files' owner may have locked them
        return ""
    return claimed if int(match[2]) <= lines else ""


def _function_of(place: str, staged: Path) -> str:
    """Turn a checked place into "submission/dataset.py, in __getitem__", or "".

    Only functions of the assignment are named: a student could also reveal hidden inputs by
    choosing which of a thousand functions of their own crashes. For one of these, the enclosing
    function of the assignment is named.
    """
    match = PLACE.fullmatch(place)
    given = _given_functions(match[1], staged) if match else None
    if match is None or given is None:
        return ""
    lines = (staged / match[1]).read_text(encoding="utf-8", errors="replace").split("\n")
    above = lines[: int(match[2])]
    inner = _indentation(above[-1]) if above else 0
    for line in filter(str.strip, reversed(above)):
        if _indentation(line) < inner:
            inner = _indentation(line)
            found = DEFINED.match(line.strip())
            if found and (found[1] in given or not paths.SOLUTIONS.exists()):
                return f"{match[1]}, in {found[1]}"
    return match[1]


def _given_functions(file: str, staged: Path) -> set[str] | None:
    """Return the functions in the assignment's own file of that name; None if there is none.

    If there are no solutions, and so no hidden inputs to protect, any file will do.
    """
    if not paths.SOLUTIONS.exists():
        return set()
    # Earlier uploads have in `submission` what is now in a package next to it. No other file will
    # do: each has names among which a student could choose.
    name = file.removeprefix("submission/")
    ours = [path / name for path in staged.iterdir() if path.is_dir() and path.name != "submission"]
    places = (paths.SOLUTIONS / file, paths.SRC / file, *sorted(ours))
    own = next((place for place in places if place.is_file()), None)
    if own is None:
        return None
    lines = own.read_text(encoding="utf-8").splitlines()
    return {found[1] for line in lines if (found := DEFINED.match(line.strip()))}


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_builtin(claimed: str) -> bool:
    """Return whether this is the name of one of Python's own exceptions."""
    kind = getattr(builtins, claimed, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)


def _basic_message(outcome: Outcome, kind: str, at: str, text: str) -> str:
    text = " ".join(text.split())[:500]
    if kind == "NotImplementedError":
        return f"{at}not written yet: {text}" if text else f"{at}not written yet"
    if outcome is Outcome.SYNTAX_ERROR:
        return f"{at}not valid Python: {text}"
    if outcome is Outcome.MISSING_FILE:
        return f"a file of the submission is missing: {text}"
    if outcome is Outcome.IMPORT_ERROR:
        return f"{at}import failed: {text}"
    if outcome is Outcome.EXITED:
        return f"{at}your code ended the process ({kind}: {text})"
    return f"{at}{kind}: {text}{_hint(kind, text)}"


def _hint(kind: str, text: str) -> str:
    """Return the likely cause of an exception in parentheses, or nothing."""
    if OF_A_FLOAT.search(text):
        return " (an integer is expected: wrap the number in int())"
    if kind == "EOFError":
        return f" ({NO_INPUT})"
    if kind == "FileNotFoundError" and RELATIVE.search(text):
        return " (tests run in an empty folder: open the path that the function is given)"
    if kind == "UnicodeDecodeError":
        return ' (is encoding="utf-8" missing where the file is opened?)'
    return ""
