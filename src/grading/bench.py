"""One test's bench: it runs probes in workers, and says how each ended."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import importing, leftovers, provenance, sandbox, wire
from .assignment import TestSpec
from .endings import at_place, explain_ending, explain_error, float_ranges
from .errors import GradingError, ReferenceFailed, Verdict, WireError, malformed
from .frames import Finished
from .limits import Limits
from .outcomes import Outcome
from .processes import Job
from .staging import Staged

if TYPE_CHECKING:
    from .runner import Run

# Decoding 500 answers of a student's synthesizer with the largest recipe takes 75 to 100 on a fast
# processor. If a run's deadline ends it, nobody is at fault; this limit would make it the grader's.
REFERENCE_CPU_S = 400.0
SHARED_CPU_S = 60.0  # of the submission's own processes, for work that several tests share
OUT_OF_TIME = "not run: the run as a whole ran out of time"
NO_TORCH = (
    "not run, because it needs torch, which this Python doesn't have: "
    "activate the assignment's environment"
)


class Bench:
    """One test's bench: its limits and its output; the `Laboratory` of its case.

    With `stands_in`, the reference answers instead of the submission, and has no trained files.

    Attributes:
        cpu_s: CPU seconds of the submission's own processes, except for shared work.
        peak_bytes: the most memory that one of them used, including libraries.
        measured: numbers that the test measured, by name, for staff.
    """

    def __init__(self, run: Run, spec: TestSpec, stands_in: bool = False) -> None:
        self._run, self._spec, self._stands_in = run, spec, stands_in
        self._left_s = spec.timeout_s  # CPU seconds, over all of the test's probes
        self.output, self.notes = "", ""
        self.cpu_s, self.peak_bytes = 0.0, 0
        self.measured: dict[str, float] = {}
        self.hidden, self.judges, self.data = run.hidden, run.runner.judges, run.data
        self.edition, self.seed = run.edition, run.seed
        self.staged, self.assignment = run.staged, run.assignment
        if stands_in:
            self.staged = Staged(run.staged.root)

    def observe(self, probe: str, role: str, args: dict, seed: int) -> Any:
        """Run one probe in one worker and return what it saw.

        Raises:
            Verdict: the submission's process ended badly or raised.
            ReferenceFailed: the reference's process raised an exception.
            GradingError: the reference's process ended badly, or the worker failed before it
                reached any student code.
        """
        if self._spec.torch and not provenance.has_torch():
            raise Verdict(Outcome.NOT_RUN, NO_TORCH, id="no-torch")
        remembered = self._run.runner.remembered
        if remembered is None or role != "reference":
            return self._observe(probe, role, args, seed)
        return remembered.answer(probe, args, seed, lambda: self._observe(probe, role, args, seed))

    def _observe(self, probe: str, role: str, args: dict, seed: int) -> Any:
        asked_of, role = role, "reference" if self._stands_in else role
        limits = self._limits(role)
        finished = self._work(probe, role, args, seed, limits)
        # Also with an answer: it may have been written just before the deadline ended its process.
        cut = finished.frame is None or finished.ending.reason == "wall"
        if cut and time.monotonic() >= self._run.deadline:
            # nobody's fault: it was cut short
            raise Verdict(Outcome.NOT_RUN, OUT_OF_TIME, id="run-out-of-time")
        if not finished.ready:
            raise GradingError(f"a worker failed before it was ready: {finished.output[-2000:]}")
        if asked_of == "reference":
            return _reference_value(finished)
        self._left_s -= finished.ending.cpu_s - finished.ending.import_s
        self.cpu_s += finished.ending.cpu_s
        self.peak_bytes = max(self.peak_bytes, finished.ending.memory_bytes)
        self.output += finished.output
        if finished.notes.stopped in self._run.stuck:
            raise self._run.stuck[finished.notes.stopped].verdict(self._spec.is_hidden)
        verdict = explain_ending(finished, Limits.for_test(self._spec.timeout_s))
        if verdict is not None:
            raise self._placed(verdict, finished, limits)
        assert finished.frame is not None  # explain_ending has a verdict where there is none
        ok, value, envelope = _open(finished.frame)
        if ok:
            if not self._spec.is_hidden:  # hidden tests reveal no lines
                place = float_ranges(envelope, self.staged.root)
                self._run.float_ranges = self._run.float_ranges or place
            return value
        raise explain_error(value, self._spec, self.staged, self.edition.name)

    def measure(self, name: str, value: float) -> None:
        """Store a number that the test measured, if it is finite."""
        if math.isfinite(value):
            self.measured[name] = float(value)

    def once(self, name: str, make: Callable[[Bench], Any]) -> Any:
        """Return a result that several tests share; `make` gets its own bench, with torch."""
        if self._stands_in:  # nothing made from the submission
            return make(self)
        spec = replace(
            self._spec, topic="shared", name=name, kind="hidden", timeout_s=SHARED_CPU_S, torch=True
        )
        return self._run.once(name, lambda: make(Bench(self._run, spec)))

    def finding(self, about: Any, code: tuple[str, ...], find: Callable[[], Any]) -> Any:
        """Return what `find` returns, or what it returned earlier in a class for the same thing."""
        remembered = self._run.runner.remembered
        if remembered is None or self._stands_in:
            return find()
        return remembered.finding(about, code, find)

    def _placed(self, verdict: Verdict, finished: Finished, limits: Limits) -> Verdict:
        """Return the verdict of a worker that ended badly, with the place if it is known.

        If a module's import hung, it is remembered, and later tests don't import it again.
        """
        ending, taken, hidden = finished.ending, self.staged.taken, self._spec.is_hidden
        stuck = importing.find_stuck(
            finished.notes, ending.reason, ending.wall_s, limits, taken, named=not hidden
        )
        if stuck is not None:
            self._run.stuck[finished.notes.importing] = stuck
            verdict = stuck.explain(verdict, hidden)
        if verdict.outcome is Outcome.TIMED_OUT:
            verdict = at_place(verdict, finished.stack, self._spec, self.staged.root)
        return verdict

    def _work(self, probe: str, role: str, args: dict, seed: int, limits: Limits) -> Finished:
        run, name = self._run, self._run.runner.questions.probe(probe)
        root = self.staged.root if role == "submission" else run.reference
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=run.work))
        request = {"probe": name, "args": args, "seed": seed, "submission": str(root)}
        if role == "submission":
            if run.code is not None:
                request["code"] = str(run.code)
            request["stuck"] = list(run.stuck)
        confinement = self._confinement(role, scratch)
        claims_fd = run.uids.claims_fd if confinement.uid is not None else None
        job = Job(self._spec.torch, request, limits, scratch, confinement, claims_fd)
        try:
            finished = run.pool.run(job)
            if finished.ending.clean:
                run.uids.release(confinement.uid)
            return finished
        finally:
            leftovers.remove_tree(scratch)

    def _limits(self, role: str) -> Limits:
        cpu_s = REFERENCE_CPU_S if role == "reference" else max(self._left_s, 0.1)
        return Limits.for_test(cpu_s, self._run.deadline - time.monotonic())

    def _confinement(self, role: str, scratch: Path) -> sandbox.Confinement:
        """Return a worker's confinement.

        A student's worker gets every available layer. The reference's, which may contain a
        student's parameters, gets the layers that need no user of its own.
        """
        run = self._run
        if role == "reference":
            return sandbox.for_worker(run.layers, None, run.reference, scratch)
        confinement = sandbox.for_worker(run.layers, run.uids, self.staged.root, scratch)
        if confinement.uid is not None:
            os.chown(scratch, confinement.uid, confinement.uid)
        return confinement


def _open(frame: bytes | memoryview) -> tuple[bool, Any, dict[str, Any]]:
    """Read a submission's frame: (whether it went well, value or error, the whole envelope)."""
    try:
        envelope = wire.decode(frame)
        if not isinstance(envelope, dict):
            raise WireError(f"the envelope is of type {type(envelope).__name__}")
        ok = envelope["ok"] is True
        return ok, envelope["value" if ok else "error"], envelope
    except (WireError, KeyError) as problem:
        raise malformed(str(problem)) from None


def _reference_value(finished: Finished) -> Any:
    """Return the reference's answer.

    Raises:
        ReferenceFailed: an exception instead.
        GradingError: no answer, which is the grader's own fault.
    """
    if finished.frame is None:
        raise GradingError(f"the reference's worker did not answer: {finished.output[-2000:]}")
    envelope = wire.decode(finished.frame)
    if envelope["ok"]:
        return envelope["value"]
    error = envelope["error"]
    ours = error["outcome"] == Outcome.OUT_OF_MEMORY.value  # because its inputs' sizes are known
    kind = GradingError if ours else ReferenceFailed
    raise kind(f"the reference failed:\n{error['traceback']}")
