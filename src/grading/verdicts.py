"""How tests end: verdicts are values, a worker's ending becomes words, and a run has results.

A message on a hidden test has no text, value or line number with which a student's code could
reveal hidden inputs (see `grading`). Basic tests show the exact line.
"""

from __future__ import annotations

import builtins
import datetime
import importlib.util
import json
import os
import platform
import re
import tempfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum, IntEnum
from importlib import metadata
from pathlib import Path, PureWindowsPath
from typing import Any

from . import wire
from .edition import Edition, TestSpec
from .errors import UsageError, WireError, safe_lines
from .pool import Finished
from .staging import Staged
from .worker import PACKAGE, Limits


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
    DROPPED = "dropped"
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
    harmless = {Outcome.PASSED, Outcome.RAN_NOT_GRADED, Outcome.DROPPED}
    return ExitCode.OK if all(o in harmless for o in outcomes) else ExitCode.FAILED


@dataclass(frozen=True)
class Verdict:
    """How a test ended."""

    outcome: Outcome
    message: str  # what the student may read: one sentence or a few lines
    detail: str = ""  # what only staff may also read: got, expected, traceback
    credit: int = 0  # the share of the test's points that is earned: 0 or 1
    # The name of this way of ending among those of the same outcome, for staff, who count and
    # compare a class's failures. Nothing in it may come from a student.
    id: str = ""
    where: str = ""  # for staff: the student's line of a crash, submission/dataset.py:57
    look_at: str = ""  # for staff: the test's advice, `dim in submission/helper.py` or a file
    place: str = ""  # the kind and function of a crash, which identify tests with the same crash
    # The fault may be ours: it counts only if the reference, in the submission's place, does better
    # (`runner.judge`).
    is_doubtful: bool = False
    is_unwritten: bool = False  # the part that is tested is not written yet
    missing_file: str = ""  # the name of a file that is missing and can be produced or renamed
    hint: str = ""  # what was handed in instead of it, or ""

    @property
    def cause(self) -> str:
        """The id with the outcome (`failed.shape`, `error.KeyError`); "" for a pass."""
        return cause_of(self.outcome, self.id)


class TestEnd(Exception):
    """Ends a test early with a verdict; control flow, and not one of the harness's errors."""

    __test__ = False

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def failure(message: str, id: str) -> TestEnd:
    return TestEnd(Verdict(Outcome.FAILED, message, id=id))


def cause_of(outcome: Outcome, id: str = "") -> str:
    """Return the id of a way of ending, such as `failed.shape`; "" for a test that passed."""
    if outcome is Outcome.PASSED:
        return ""
    kind = outcome.value.replace(",", "").replace(" ", "-")
    return f"{kind}.{id}" if id else kind


MALFORMED = "the submission's process answered something malformed"


def malformed(detail: str, is_doubtful: bool = False) -> Verdict:
    """Return the verdict for an answer that no probe gives; `detail` is for staff."""
    return Verdict(Outcome.ERROR, MALFORMED, detail, id="malformed", is_doubtful=is_doubtful)


# A worker that did not answer ---------------------------------------------------------------------

ADVICE = 'does it train on import? Such code belongs below `if __name__ == "__main__":`'
OF_AN_IMPORT = "import"  # the id of all tests that a hanging import costs
BY_REASON = {
    "cpu": (Outcome.TIMED_OUT, "took longer than {limits.cpu_s:g} seconds of CPU time"),
    "wall": (Outcome.TIMED_OUT, "did not finish within {limits.wall_s:g} seconds (is it waiting?)"),
    "import": (Outcome.TIMED_OUT, "took longer than {limits.import_s:g} seconds of CPU time"),
    "import-wall": (
        Outcome.TIMED_OUT,
        "did not finish within {limits.import_wall_s:g} seconds (is it waiting?)",
    ),
    "memory": (
        Outcome.OUT_OF_MEMORY,
        "used more memory than a test may have (2 GiB, less in a small container)",
    ),
    "processes": (Outcome.KILLED, "started more than {limits.processes} processes"),
    "threads": (Outcome.KILLED, "started more than {limits.threads} threads"),
    "files": (
        Outcome.KILLED,
        "wrote more than {limits.scratch_files} files, or {megabytes} MiB, or locked a folder",
    ),
    "abandoned": (Outcome.KILLED, "was stopped with the grader"),
    "unknown": (Outcome.KILLED, "ended in a way that could not be observed"),
}
SIGNALS = {  # by number, because Python on Windows knows only some names
    11: "crashed with a segmentation fault (endless recursion in a library?)",  # SIGSEGV
    6: "was aborted by a library",  # SIGABRT
    25: "wrote a file that is too large",  # SIGXFSZ
    9: "was killed",  # SIGKILL
}
# A line of a stack. No part can match at many places, or 64 KB from a student would take too long.
FRAME = re.compile(
    r'^  File "[^"\n]*?(submission[/\\][^/\\"\n]+\.py)", line ([0-9]{1,6}) in', re.MULTILINE
)


@dataclass(frozen=True)
class Stuck:
    """A module whose import took the whole limit of imports."""

    file: str  # its name in the submission
    # Whether messages may name it: not if a hidden test found it, whose inputs the choice of a file
    # could reveal.
    named: bool


def find_stuck(
    finished: Finished, limits: Limits, files: Container[str], named: bool
) -> Stuck | None:
    """Return the module in whose import a worker got stuck, or None.

    The whole limit of imports must have been used (a run's deadline shortens some), at least half
    of the time in this import, and the module must be one of the staged files: if code hits a limit
    elsewhere, every test tries again.
    """
    notes, reason = finished.notes, finished.ending.reason
    whole = reason == "import" or (
        reason == "import-wall"
        and limits.import_wall_s >= Limits.for_test(limits.cpu_s).import_wall_s
    )
    module = notes.importing.replace(".", "/")
    file = f"{module}/__init__.py" if module == PACKAGE else f"{module}.py"
    if not whole or file not in files or notes.began_s > finished.ending.wall_s / 2:
        return None
    return Stuck(file, named)


def of_ending(
    finished: Finished,
    limits: Limits,
    spec: TestSpec,
    submission: Staged,
    stuck: Stuck | None = None,
) -> Verdict | None:
    """Return the verdict of a worker that did not answer, or None if there is a frame to read.

    A frame counts only if its process ended by itself: one that hit a limit after answering has
    still broken a limit. Messages name the test's `limits`, and the module that is `stuck`.
    """
    ending = finished.ending
    # It contains no times, so that a repeated run says the same.
    ended = f"exit status {ending.code}, signal {ending.signal}, limit {ending.reason or 'none'}"
    detail = f"{ended}\noutput:\n{finished.output[-2000:]}"
    if ending.reason:
        outcome, sentence = BY_REASON[ending.reason]
        sentence = sentence.format(limits=limits, megabytes=limits.scratch_bytes >> 20)
        id = ending.reason
        if stuck is not None:
            id, detail = OF_AN_IMPORT, f"{detail}\nstuck: {stuck.file}"
        if stuck is not None and not spec.is_hidden:
            sentence += f" while {stuck.file} was imported; {ADVICE}"
        elif ending.reason.startswith("import"):
            sentence += " while it was imported"
        where = _line_in(finished.stack, submission) if outcome is Outcome.TIMED_OUT else ""
        if where:
            detail += f"\nat: {where}"
            sentence += "" if spec.is_hidden else f"; it was at {where}"
        place = f"out of time {_function_of(where, submission) or where}" if where else ""
        return Verdict(outcome, f"your code {sentence}", detail, id=id, where=where, place=place)
    if ending.signal:
        sentence = SIGNALS.get(ending.signal, f"was ended by signal {ending.signal}")
        id = f"signal-{ending.signal}"
        return Verdict(Outcome.KILLED, f"your code {sentence}", detail, id=id)
    if finished.frame is None:
        message = "your code ended the process (exit, quit or os._exit?)"
        return Verdict(Outcome.EXITED, message, detail)
    return None


def _line_in(stack: str, submission: Staged) -> str:
    """Return the student's innermost line in a stack, or "".

    faulthandler wrote it, innermost first, unless the student's code did.
    """
    lines = (f"{file.replace(chr(92), '/')}:{number}" for file, number in FRAME.findall(stack))
    return next(filter(None, (_existing_line(line, submission.root) for line in lines)), "")


def of_stuck(stuck: Stuck, is_hidden: bool) -> Verdict:
    """Return the verdict of a test that would have imported a hanging module again."""
    name = stuck.file if stuck.named and not is_hidden else "your code"
    message = f"not run: importing {name} took too long in an earlier test"
    message += "" if is_hidden else f"; {ADVICE}"
    return Verdict(Outcome.TIMED_OUT, message, f"stuck: {stuck.file}", id=OF_AN_IMPORT)


# A worker that reported an exception --------------------------------------------------------------

# See `worker.describe`. The report comes from the student's process: nothing in it need be true.
FIELDS = "type where message traceback module name file refused debugger"
REPORT = dict.fromkeys(FIELDS.split(), str)
OUTCOMES: tuple[tuple[type[BaseException], Outcome], ...] = (
    (SyntaxError, Outcome.SYNTAX_ERROR),
    (ImportError, Outcome.IMPORT_ERROR),
    (MemoryError, Outcome.OUT_OF_MEMORY),
    (SystemExit, Outcome.EXITED),
    (NotImplementedError, Outcome.FAILED),
)
IN_WORDS = {Outcome.SYNTAX_ERROR: "not valid Python", Outcome.IMPORT_ERROR: "import failed"}
OF_IMPORTS = (*IN_WORDS, Outcome.MISSING_FILE)
NO_MEMORY = "can't allocate memory"  # in torch's RuntimeError, which has nothing else to tell it
# For a hint alone: what random.randint, range and the like say about 28.5 and, from Python 3.12 on,
# about 28.0.
OF_A_FLOAT = re.compile(r"non-integer .* for randrange\(\)|'float' object cannot be interpreted as")
NO_INPUT = "nobody can type here: is an input() left over?"
NO_PROCESSES = (
    "processes can't be started here (do you use a DataLoader with num_workers > 0, "
    "multiprocessing, subprocess or os.fork?)"
)
NO_FILES = (
    "code that is graded can write only to the current folder, which is a temporary one, and read "
    "only its own files (does it open a log or a cache next to it?)"
)
REFUSED = {"processes": f"{NO_PROCESSES}: ", "files": f"{NO_FILES}: "}
NO_DEBUGGER = "a debugger can't stop here, because nobody can type; to use one, run"
LEFT_DEBUGGER = "you left the debugger, so this test did not run to its end"
HIDE = "; its text is not shown for hidden tests"
HINTS = {  # for hidden tests, by the exception's type alone
    "BlockingIOError": f"; {NO_PROCESSES}",
    "EOFError": f"; {NO_INPUT}",
    "PermissionError": f"; {NO_FILES}; {NO_PROCESSES}",
}
PLACE = re.compile(r"(submission/[^/:]+\.py):(0|[1-9][0-9]{0,5})")
DEFINED = re.compile(r"(?:async )?def ([A-Za-z_][A-Za-z0-9_]*)")


def of_report(report: Any, spec: TestSpec, submission: Staged, edition: str) -> Verdict:
    """Return the verdict of an exception that a worker reported, in an edition of this name.

    Each field is checked before it is repeated, the place against the files that are staged.

    Returns:
        The verdict; it is doubtful if no line of the student's is involved, or a module could not
        be imported: the fault may be in our own probe, or in a given module (with the reference,
        one can tell: it then fails there, too).
    """
    try:
        wire.check(report, REPORT)
    except WireError:
        return malformed("")
    missing = _missing_module(report, submission)
    hint = submission.hint(missing) if missing else ""
    outcome = Outcome.MISSING_FILE if missing else outcome_of(report)
    where = _existing_line(report["where"], submission.root)
    kind, function = _exception(report).__name__, _function_of(where, submission)
    is_unwritten = kind == "NotImplementedError"
    shown = function if spec.is_hidden else where
    at = f"{shown}: " if shown else ""
    if missing:
        message = "; ".join(filter(None, (f"{missing} is missing", hint or submission.foreign)))
    elif lacking := _missing_function(report, submission, edition):
        message = lacking
    elif outcome is Outcome.MISSING_FILE and not spec.is_hidden:
        message = f"a file of the submission is missing: {_one_line(report['message'])}"
    elif not spec.is_hidden:
        message = at + _basic_message(outcome, kind, report, spec)
    elif is_unwritten:
        message = f"{at}this part is not written yet"
    else:
        message = f"{at}{kind}{HIDE}{HINTS.get(kind, '')}"
    return Verdict(
        outcome,
        message,
        # There is nothing more to say about a part that is not written yet.
        detail="" if is_unwritten else report["traceback"],
        id=kind,
        where=where,
        place=f"{kind} {function or where}" if where else "",
        is_doubtful=outcome in OF_IMPORTS or (outcome is Outcome.ERROR and not where),
        is_unwritten=is_unwritten,
        missing_file=missing if hint else "",  # students write modules: no command does
        hint=hint,
    )


def outcome_of(report: dict[str, str]) -> Outcome:
    """Return the outcome of an exception."""
    kind = _exception(report)
    if kind is ModuleNotFoundError and report["module"].startswith("submission"):
        return Outcome.MISSING_FILE
    if issubclass(kind, RuntimeError) and NO_MEMORY in report["message"]:
        return Outcome.OUT_OF_MEMORY
    return next((o for exception, o in OUTCOMES if issubclass(kind, exception)), Outcome.ERROR)


def _exception(report: dict[str, str]) -> type[BaseException]:
    """Return Python's own exception of the reported name, or Exception."""
    kind = getattr(builtins, report["type"], None)
    return kind if isinstance(kind, type) and issubclass(kind, BaseException) else Exception


def _missing_module(report: dict[str, str], submission: Staged) -> str:
    """Return which of the assignment's modules could not be imported as it is not there, or ""."""
    module = report["module"]
    if not issubclass(_exception(report), ImportError):
        return ""
    stem = report["name"] if module == "submission" else module.removeprefix("submission.")
    name = f"submission/{stem}.py"
    return name if f"{stem}.py" in submission.modules and name not in submission.taken else ""


def _missing_function(report: dict[str, str], submission: Staged, edition: str) -> str:
    """Return a sentence on a function that one of the assignment's modules lacks; "" if none does.

    Only the assignment's own names are repeated, and only if they really are not there: with names
    of their own, students could reveal hidden inputs.
    """
    package, _, module = report["module"].partition(".")
    file, name = f"submission/{module}.py", report["name"]
    path = submission.path(file) if package == "submission" else None
    if path is None or not name.isidentifier():
        return ""
    own = _own_functions(file, submission)
    if own is None or (submission.reference is not None and name not in own):
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    if any(_may_bind(line, name) for line in text.splitlines()):
        return ""
    why = submission.foreign or "was it deleted, or is this the code of another edition or year?"
    return f"{file} has no {name}, which the edition {edition} asks for: {why}"


def _may_bind(line: str, name: str) -> bool:
    """Return whether a line may define, assign or import a name, and not merely use it."""
    code = line.partition("#")[0].strip() if name in line else ""
    if not re.search(rf"\b{name}\b", code):
        return False
    starts = (name, "def ", "async def ", "class ", "from ", "import ")
    return code.startswith(starts) or f" as {name}" in code


def float_ranges(envelope: dict[str, Any], staged: Path) -> str:
    """Return the place that a worker reported; "" if there is none, or if it is made up."""
    match envelope.get("float_ranges"):
        case [str(claimed)]:
            return _existing_line(claimed, staged)
    return ""


def _existing_line(claimed: str, staged: Path) -> str:
    """Return a place if a staged file has such a line: made-up ones could reveal hidden inputs."""
    match = PLACE.fullmatch(claimed)
    package = staged / "submission"
    try:
        if match is None or match[1] not in {f"submission/{p.name}" for p in package.glob("*.py")}:
            return ""
        lines = (staged / match[1]).read_bytes().count(b"\n") + 1
    except OSError:  # a test that runs as the files' owner may have locked them
        return ""
    return claimed if int(match[2]) <= lines else ""


def _function_of(place: str, submission: Staged) -> str:
    """Turn a checked place into "submission/dataset.py, in __getitem__", or "".

    Only functions of the assignment are named: a student could also reveal hidden inputs by
    choosing which of a thousand functions of their own crashes. For one of these, the enclosing
    function of the assignment is named.
    """
    match = PLACE.fullmatch(place)
    own = _own_functions(match[1], submission) if match else None
    if match is None or own is None:
        return ""
    lines = (submission.root / match[1]).read_text(encoding="utf-8", errors="replace").split("\n")
    above = lines[: int(match[2])]
    inner = _indentation(above[-1]) if above else 0
    for line in filter(str.strip, reversed(above)):
        if _indentation(line) < inner:
            inner = _indentation(line)
            function = DEFINED.match(line.strip())
            if function and function[1] in own:
                return f"{match[1]}, in {function[1]}"
    return match[1]


def _own_functions(file: str, submission: Staged) -> set[str] | None:
    """Return the functions in the assignment's own file of that name; None if there is none.

    Without a reference, there are no hidden inputs to protect: the student's own file will do.
    """
    reference, name = submission.reference, file.removeprefix("submission/")
    places = [submission.root / file]
    if reference is not None:
        # Earlier uploads have in `submission` what is now in a package next to it. No other file
        # will do: each has names among which a student could choose. (They also choose `name`.)
        packages = sorted(folder for folder in reference.iterdir() if folder.is_dir())
        places = [reference / file, *(package / name for package in packages)]
    own = next((place for place in places if place.is_file()), None)
    if own is None:
        return None
    lines = own.read_text(encoding="utf-8", errors="replace").splitlines()
    return {function[1] for line in lines if (function := DEFINED.match(line.strip()))}


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _basic_message(outcome: Outcome, kind: str, report: dict[str, str], spec: TestSpec) -> str:
    """Return a basic test's message after the place."""
    if report["debugger"] == "none":
        return f"{NO_DEBUGGER}: python src/grader.py --in-process {spec.test_id}"
    if report["debugger"] == "left":
        return LEFT_DEBUGGER
    text = _one_line(REFUSED.get(report["refused"], "") + report["message"])
    if kind == "NotImplementedError":
        return f"not written yet: {text}".removesuffix(": ")
    if outcome is Outcome.EXITED:
        return f"your code ended the process ({kind}: {text})"
    if outcome in IN_WORDS:
        return f"{IN_WORDS[outcome]}: {text}"
    return f"{kind}: {text}{_hint(kind, report)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]


def _hint(kind: str, report: dict[str, str]) -> str:
    """Return the likely cause of an exception in parentheses, or nothing."""
    if OF_A_FLOAT.search(report["message"]):
        return " (an integer is expected: wrap the number in int())"
    if kind == "EOFError":
        return f" ({NO_INPUT})"
    # On no platform does a path with an anchor (/x, C:x) depend on the current folder.
    path = PureWindowsPath(report["file"] if kind == "FileNotFoundError" else "/")
    if path.name and not path.anchor:
        return " (tests run in an empty folder: open the path that the function is given)"
    if kind == "UnicodeDecodeError":
        return ' (is encoding="utf-8" missing where the file is opened?)'
    return ""


# A run's results ----------------------------------------------------------------------------------
# Every test of the edition is in them from the beginning, and the file is rewritten after each one,
# so that it is valid and complete however the run ends.

MAX_CHARACTERS = {"message": 4_000, "detail": 20_000, "output": 70_000}
PACKAGES = ("torch", "numpy")
MOST_WORDS = 6  # of a command line, to be shown


class State(Enum):
    """What a test's end means to its readers."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_BEGUN = "not begun"  # the part that it tests is not written yet
    FILE_MISSING = "file missing"
    GRADED_LATER = "graded later"  # it ran here, and is graded when it is submitted: no loss
    DROPPED = "dropped"  # it turned out to be wrong: everybody gets its points
    NOT_RUN = "not run"  # its message says why
    NOT_REACHED = "not reached"  # the run was interrupted before it
    GRADER_FAILED = "grader failed"


STATES = {
    Outcome.PASSED: State.PASSED,
    Outcome.RAN_NOT_GRADED: State.GRADED_LATER,
    Outcome.DROPPED: State.DROPPED,
    Outcome.MISSING_FILE: State.FILE_MISSING,
    Outcome.GRADER_ERROR: State.GRADER_FAILED,
}
FINE = (State.PASSED, State.GRADED_LATER, State.DROPPED)


@dataclass(frozen=True, kw_only=True)
class TestResult(Verdict):
    """A test's verdict with its points, or that it has not run.

    `message`, `detail` and `output` may contain text from the student's code, so every result makes
    them safe to show when it is created, also by `dataclasses.replace`.
    """

    __test__ = False

    spec: TestSpec
    description: str
    outcome: Outcome = Outcome.NOT_RUN
    message: str = "not run"
    score: Decimal = Decimal("0.00")
    output: str = ""  # what student code printed; shown only for basic tests
    wall_s: float = 0.0
    is_selected: bool = True  # False if the command line named other tests
    measured: Mapping[str, float] = field(default_factory=dict)  # numbers that the test saw
    cpu_s: float = 0.0  # of the submission's processes; 0 where it can't be measured
    peak_bytes: int = 0  # the same

    def __post_init__(self) -> None:
        for name, most in MAX_CHARACTERS.items():
            object.__setattr__(self, name, safe_lines(getattr(self, name), most))

    @property
    def cause(self) -> str:
        """As of any verdict; "" also for a test that was not reached."""
        return "" if self.state is State.NOT_REACHED else super().cause

    @property
    def state(self) -> State:
        if self.outcome is Outcome.NOT_RUN:
            return State.NOT_RUN if self.id else State.NOT_REACHED
        return State.NOT_BEGUN if self.is_unwritten else STATES.get(self.outcome, State.FAILED)

    @property
    def is_fine(self) -> bool:
        """Whether nothing is lost by the test: it passed, is graded later, or was dropped."""
        return self.state in FINE

    def for_student(self) -> TestResult:
        """Return the result without what a student may not read."""
        return replace(self, detail="", output="" if self.spec.is_hidden else self.output)

    def as_dict(self, staff: bool) -> dict[str, Any]:
        """Return plain data for the results file."""
        shown: dict[str, Any] = {
            "test_id": self.spec.test_id,
            "name": self.description,
            "topic": self.spec.topic,
            "test": self.spec.name,
            "kind": self.spec.kind,
            "outcome": self.outcome.value,
            "score": float(self.score),
            "max_score": float(self.spec.max_score),
            "is_extra_credit": self.spec.is_extra_credit,
            "message": self.message,
            # To the millisecond, it would reveal how far a hidden test got.
            "wall_s": round(self.wall_s, 3 if staff or not self.spec.is_hidden else 0),
        }
        if staff:
            shown |= {
                "detail": self.detail,
                "cause": self.cause,
                "where": self.where,
                "look_at": self.look_at,
                "credit": str(self.credit),
                "measured": dict(self.measured),
                "cpu_s": round(self.cpu_s, 3),
                "peak_bytes": self.peak_bytes,
            }
        if staff or not self.spec.is_hidden:
            shown["output"] = self.output
        return shown


@dataclass
class Results:
    """All tests of an edition, in its order."""

    edition: Edition
    seed: int
    tests: list[TestResult]
    facts: dict[str, Any] = field(default_factory=dict)  # what was graded, and how
    selection: tuple[str, ...] = ()  # the words that named tests or questions; empty: all

    @property
    def selected_tests(self) -> list[TestResult]:
        return [t for t in self.tests if t.is_selected]

    @property
    def only(self) -> str:
        """The selected tests, unless all are: " (1e only)"."""
        if not self.selection:
            return ""
        words = ", ".join(self.selection)
        if len(self.selection) > MOST_WORDS:
            words = f"{len(self.selected_tests)} of {len(self.tests)} tests"
        return f" ({words} only)"

    @property
    def score(self) -> Decimal:
        return sum((t.score for t in self.selected_tests), Decimal("0.00"))

    @property
    def max_score(self) -> Decimal:
        """The maximum of the selected tests; extra credit comes on top."""
        specs = [t.spec for t in self.selected_tests]
        return sum((spec.max_score for spec in specs if not spec.is_extra_credit), Decimal())

    @property
    def outcomes(self) -> list[Outcome]:
        return [t.outcome for t in self.selected_tests]

    def as_dict(self, staff: bool) -> dict[str, Any]:
        return {
            "edition": self.edition.name,
            "seed": str(self.seed),  # as text: JSON readers round large numbers
            "score": float(self.score),
            "max_score": float(self.max_score),
            "asked": list(self.selection),  # empty: everything
            "tests": [t.as_dict(staff) for t in self.tests],
            "facts": self.facts,
        }

    def write(self, path: Path, staff: bool) -> None:
        """Write the results as JSON, completely or not at all."""
        text = json.dumps(self.as_dict(staff), indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(path, text + "\n")


def versions() -> dict[str, str]:
    """Return the versions of the interpreter, the system and the libraries that compute."""
    numbers = {"python": platform.python_version(), "system": platform.platform()}
    for name in PACKAGES:
        try:
            numbers[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            numbers[name] = "not installed"
    return numbers


def has_torch() -> bool:
    """Return whether this Python has torch; without it, only tests that need none can run."""
    return importlib.util.find_spec("torch") is not None


def now() -> str:
    """Return the current time for a result: `2027-01-30 18:02 UTC`."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def write_atomically(path: Path, text: str) -> None:
    """Write a UTF-8 file that only its owner can read, completely or not at all.

    Readers of `path` see the old file or the complete new one. If an exception is raised, the old
    file stays, and nothing is left of the new one.
    """
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as writer:
            writer.write(text.encode("utf-8", errors="replace"))  # file names need not be text
        os.chmod(temporary, 0o600)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def refusing_to_write(path: Path) -> Iterator[None]:
    """Turn a failure to write into a UsageError: the folder may be read-only, the disk full."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror or error}") from None
