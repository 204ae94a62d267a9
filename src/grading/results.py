"""A run's results: every test of the edition, from the beginning, written atomically.

The file is rewritten after each test, so that it is valid and complete however the run ends: a test
that did not run is listed with its outcome and zero points.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

from . import printable
from .edition import Edition, TestSpec
from .errors import UsageError
from .verdicts import Outcome, Verdict

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
            object.__setattr__(self, name, printable.lines(getattr(self, name), most))

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


def share_of(points: Decimal, credit: Fraction) -> Decimal:
    """Return that share of the points, exact, and rounded down to hundredths.

    Raises:
        ValueError: the share is not between 0 and 1, which is the judge's mistake.
    """
    if not 0 <= credit <= 1:
        raise ValueError(f"a credit of {credit} is not between 0 and 1")
    hundredths = int(points * 100) * credit.numerator // credit.denominator
    return Decimal(hundredths) / 100


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
    """Write a UTF-8 file that only its owner can read, completely or not at all."""
    with replacing(path) as writer:
        writer.write(text.encode("utf-8", errors="replace"))  # file names need not be text


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file, for its owner alone, that replaces `path` at the end of the block.

    Until then, readers of `path` see the old file, and afterwards the complete new one. If the
    block raises an exception, the old file stays, and nothing is left of the new one.
    """
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as writer:
            yield writer
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
