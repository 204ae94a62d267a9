"""Observes a submission: each attempt at a test runs its probes in workers.

What workers send is read here; what it means for the test is said by the test (`cases.py`), or by
`verdicts.py` if a worker ended otherwise.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from . import importing, verdicts, wire
from .edition import Assignment, Edition, TestSpec
from .errors import GradingError, WireError
from .limits import Limits
from .pool import Finished, Job, Pool
from .results import has_torch
from .staging import Provided, Staged
from .verdicts import Outcome, TestEnd, Verdict, malformed

# Decoding 500 answers of a student's synthesizer with the largest recipe takes 75 to 100 on a fast
# processor. If a run's deadline ends it, nobody is at fault; this limit would make it the grader's.
REFERENCE_CPU_S = 400.0
SHARED_CPU_S = 60.0  # of the submission's own processes, for work that several tests share
TO_CONFIRM = 3  # failures in used workers that fresh ones repeat, before others count directly
OUT_OF_TIME = "not run: the run as a whole ran out of time"
NO_TORCH = (
    "not run, because it needs torch, which this Python doesn't have: "
    "activate the assignment's environment"
)


class Judging(Protocol):
    """What judges hidden tests, where they are judged: only on staff's computers."""

    hidden: ModuleType  # the judges' package, of which a basic test may ask something
    answers: Path  # the folder of the answers

    def judge(self, name: str) -> Callable[..., None]:
        """Return the judge TOPIC_TEST."""

    def judged_by(self, assignment: Assignment, provided: Provided) -> str:
        """Return a hash of everything that decides a verdict."""

    def stage_reference(self, target: Path, provided: Provided) -> list[Path]:
        """Copy the reference to a new folder; return what student code must not read of it."""

    def finding(self, about: Any, code: tuple[str, ...], find: Callable[[], Any]) -> Any:
        """Return what `find` returns, now or earlier; see `GradedTestCase.finding`."""


@dataclass
class Run:
    """A staged submission, and what all attempts at its tests share.

    Attributes:
        data: what tests read besides the submission (`QuestionSet.open_data`).
        find_probe: returns "module:function" for a probe's name.
        deadline: of `time.monotonic()`.
        counts: whether the result counts, so that nothing may be missing.
        code: from where the submission is imported, if not from its copy.
        patience: time-outs in a question before its other tests are skipped.
        to_confirm: failures in used workers that fresh ones have yet to repeat.
        float_ranges: the first place that draws from a range with a float.
        stuck: what hung while it was imported, by module.
        timed_out: the number of tests that timed out, by question.
        shared: results that several tests share, by name, each with the attempt that makes it.
    """

    assignment: Assignment
    edition: Edition
    judging: Judging | None
    data: Any
    find_probe: Callable[[str], str]
    staged: Staged
    work: Path
    pool: Pool
    seed: int
    deadline: float
    counts: bool = False
    code: Path | None = None
    patience: int | None = None
    to_confirm: int = TO_CONFIRM
    float_ranges: str = ""
    warnings: list[str] = field(default_factory=list)
    stuck: dict[str, importing.Stuck] = field(default_factory=dict)
    timed_out: Counter[str] = field(default_factory=Counter)
    shared: dict[str, tuple[Attempt, Future[Any]]] = field(default_factory=dict)


class Attempt:
    """One attempt at a test: its limits and its output; what the test's case asks.

    With `stands_in`, the reference answers instead of the submission, and has no trained files.
    With `fresh`, each probe gets a worker that has run nothing else.

    Attributes:
        used: whether a worker of the submission had run other probes before.
        cpu_s: CPU seconds of the submission's own processes, except for shared work.
        peak_bytes: the most memory that one of them used, including libraries.
        measured: numbers that the test measured, by name, for staff.
    """

    def __init__(
        self, run: Run, spec: TestSpec, stands_in: bool = False, fresh: bool = False
    ) -> None:
        self._run, self._spec, self._stands_in, self._fresh = run, spec, stands_in, fresh
        self.used = False
        self._left_s = spec.timeout_s  # CPU seconds, over all of the test's probes
        self.output, self.notes = "", ""
        self.cpu_s, self.peak_bytes = 0.0, 0
        self.measured: dict[str, float] = {}
        self.judging, self.data = run.judging, run.data
        self.edition, self.seed = run.edition, run.seed
        self.staged, self.assignment = run.staged, run.assignment
        if stands_in:
            self.staged = Staged(run.staged.root)

    def observe(self, probe: str, role: str, args: dict, seed: int) -> Any:
        """Run one probe in one worker and return what it saw.

        Raises:
            TestEnd: the submission's process ended badly or raised, or the reference's raised,
                which is doubtful: its inputs may contain a student's data.
            GradingError: the reference's process ended badly, or the worker failed before it
                reached any student code.
        """
        if self._spec.torch and not has_torch():
            raise TestEnd(Verdict(Outcome.NOT_RUN, NO_TORCH, id="no-torch"))
        is_reference = role == "reference"
        role = "reference" if self._stands_in else role
        limits = self._limits(role)
        finished = self._work(probe, role, args, seed, limits)
        self.used = self.used or (finished.used and role == "submission")
        # Also with an answer: it may have been written just before the deadline ended its process.
        cut = finished.frame is None or finished.ending.reason == "wall"
        if cut and time.monotonic() >= self._run.deadline:
            # nobody's fault: it was cut short
            raise TestEnd(Verdict(Outcome.NOT_RUN, OUT_OF_TIME, id="run-out-of-time"))
        if not finished.ready:
            raise GradingError(f"a worker failed before it was ready: {finished.output[-2000:]}")
        if is_reference:
            return _reference_value(finished)
        self._left_s -= finished.ending.cpu_s - finished.ending.import_s
        self.cpu_s += finished.ending.cpu_s
        self.peak_bytes = max(self.peak_bytes, finished.ending.memory_bytes)
        self.output += finished.output
        if finished.notes.stopped in self._run.stuck:
            stuck = self._run.stuck[finished.notes.stopped]
            raise TestEnd(verdicts.of_stuck(stuck, self._spec.is_hidden))
        verdict = verdicts.of_ending(
            finished,
            Limits.for_test(self._spec.timeout_s),
            self._spec,
            self.staged,
            self._find_stuck(finished, limits),
        )
        if verdict is not None:
            raise TestEnd(verdict)
        assert finished.frame is not None  # of_ending has a verdict where there is none
        ok, value, envelope = _open(finished.frame)
        if not ok:
            report = verdicts.of_report(value, self._spec, self.staged, self.edition.name)
            raise TestEnd(report)
        if not self._run.float_ranges and not self._spec.is_hidden:  # those reveal no lines
            self._run.float_ranges = verdicts.float_ranges(envelope, self.staged.root)
        return value

    def measure(self, name: str, value: float) -> None:
        """Store a number that the test measured, if it is finite."""
        if math.isfinite(value):
            self.measured[name] = float(value)

    def once(self, name: str, make: Callable[[Attempt], Any]) -> Any:
        """Return a result that several tests share; `make` gets its own attempt, with torch.

        The first test that asks makes it, or fails for all.
        """
        if self._stands_in:  # nothing made from the submission
            return make(self)
        spec = replace(
            self._spec, topic="shared", name=name, kind="hidden", timeout_s=SHARED_CPU_S, torch=True
        )
        mine = Attempt(self._run, spec, fresh=self._fresh), Future[Any]()
        key = f"{name}, fresh" if self._fresh else name
        attempt, future = self._run.shared.setdefault(key, mine)  # atomic: tests run in threads
        if future is mine[1]:
            try:
                future.set_result(make(attempt))
            except BaseException as error:
                future.set_exception(error)
        try:
            return future.result()
        finally:
            self.used = self.used or attempt.used

    def finding(self, about: Any, code: tuple[str, ...], find: Callable[[], Any]) -> Any:
        """Return what `find` returns, or what it returned earlier in a class for the same thing."""
        if self.judging is None or self._stands_in:
            return find()
        return self.judging.finding(about, code, find)

    def _find_stuck(self, finished: Finished, limits: Limits) -> importing.Stuck | None:
        """Return the module whose import hung, which no later test will import again, or None."""
        ending, taken, named = finished.ending, self.staged.taken, not self._spec.is_hidden
        stuck = importing.find_stuck(
            finished.notes, ending.reason, ending.wall_s, limits, taken, named
        )
        counts = not finished.used or not self._run.to_confirm
        if stuck is not None and counts:
            self._run.stuck[finished.notes.importing] = stuck
        return stuck

    def _work(self, probe: str, role: str, args: dict, seed: int, limits: Limits) -> Finished:
        run = self._run
        root = run.staged.root if role == "submission" else run.staged.reference
        name = run.find_probe(probe)
        request = {"probe": name, "args": args, "seed": seed, "submission": str(root)}
        if role == "submission":
            if run.code is not None:
                request["code"] = str(run.code)
            request["stuck"] = list(run.stuck)
        return run.pool.run(Job(role, self._spec.torch, request, limits, run.work, self._fresh))

    def _limits(self, role: str) -> Limits:
        cpu_s = REFERENCE_CPU_S if role == "reference" else max(self._left_s, 0.1)
        return Limits.for_test(cpu_s, self._run.deadline - time.monotonic())


def _open(frame: bytes | memoryview) -> tuple[bool, Any, dict[str, Any]]:
    """Read a submission's frame: (whether it went well, value or error, the whole envelope)."""
    try:
        envelope = wire.decode(frame)
        if not isinstance(envelope, dict):
            raise WireError(f"the envelope is of type {type(envelope).__name__}")
        ok = envelope["ok"] is True
        return ok, envelope["value" if ok else "error"], envelope
    except (WireError, KeyError) as problem:
        raise TestEnd(malformed(str(problem))) from None


def _reference_value(finished: Finished) -> Any:
    """Return the reference's answer.

    Raises:
        TestEnd: an exception instead, which a student's data may have caused.
        GradingError: no answer, which is the grader's own fault.
    """
    if finished.frame is None:
        raise GradingError(f"the reference's worker did not answer: {finished.output[-2000:]}")
    envelope = wire.decode(finished.frame)
    if envelope["ok"]:
        return envelope["value"]
    problem = f"the reference failed:\n{envelope['error']['traceback']}"
    if verdicts.outcome_of(envelope["error"]) is Outcome.OUT_OF_MEMORY:
        raise GradingError(problem)  # ours, because its inputs' sizes are known
    raise TestEnd(malformed(problem, is_doubtful=True))
