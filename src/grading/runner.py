"""Runs an edition's tests on one staged submission: workers observe, and this process judges.

results = Runner(assignment, questions).run(options, seed, observer, pool)
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import shutil
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from . import float_ranges, importing, paths, printable, verdicts, wire
from .cases import BoundTest, Cases, Data, GradedTestCase, Judging, QuestionSet, bind, select
from .edition import Assignment, Edition, TestSpec
from .errors import DataError, GradingError, UsageError, WireError
from .limits import Limits
from .pool import Finished, Job, Pool
from .results import Results, TestResult, has_torch, now, share_of, versions
from .staging import Staged, stage
from .verdicts import Outcome, TestEnd, Verdict, malformed

# At Gradescope's time-out, 600 s, all results are lost. Staging counts; a worker that reaches the
# deadline is killed, and the rest is bounded: twice GRACE_S, a scratch folder's few thousand files,
# the results.
DEADLINE_S = 540.0
MAX_NAME = 200  # characters of a submission's name
REFERENCE = "reference"  # the folder with the staged reference
NO_DATA = "not run, because it needs the data set"
LEFT_OUT = "not run: {} tests of question {} timed out; to run this one, name it alone"
GRADER_FAILED = "the grader itself failed here; this is not your fault: tell staff"
# Decoding 500 answers of a student's synthesizer with the largest recipe takes 75 to 100 on a fast
# processor. If a run's deadline ends it, nobody is at fault; this limit would make it the grader's.
REFERENCE_CPU_S = 400.0
SHARED_CPU_S = 60.0  # of the submission's own processes, for work that several tests share
UNSUSPICIOUS = (Outcome.PASSED, Outcome.RAN_NOT_GRADED, Outcome.NOT_RUN)
TO_CONFIRM = 3  # failures in used workers that fresh ones repeat, before others count directly
DIFFERS = (
    "{}: {} after other tests, {} in a new process, which counts: does your code change something "
    "that all code shares, such as a global setting?"
)
OUT_OF_TIME = "not run: the run as a whole ran out of time"
NO_TORCH = (
    "not run, because it needs torch, which this Python doesn't have: "
    "activate the assignment's environment"
)


@dataclass(frozen=True)
class Options:
    """The options of a run; see `python grader.py --help`."""

    submission: Path
    alias: str = ""  # what messages call the submission; default: its path
    name: str = ""  # the submission's name in results; default: its folder or zip
    edition: str | None = None
    selection: tuple[str, ...] = ()  # test ids or questions; empty: all
    jobs: int = 1  # how many tests run in parallel
    in_process: bool = False
    patience: int | None = None  # time-outs in a question before its other tests are skipped
    counts: bool = False  # refuse to run where missing data would cost a student points
    private: tuple[Path, ...] = ()  # files that student code must not read: results, ...
    deadline_s: float = DEADLINE_S
    data: Path = paths.DATA


class Observer:
    """Is notified of a run's events, in this order; this base class does nothing."""

    def staged(self, staged: Staged) -> None:
        """Handle that the submission's files were copied."""

    def started(self, results: Results) -> None:
        """Handle that the run begins; `results` contain every test, and change as tests end."""

    def ended(self, result: TestResult) -> None:
        """Handle that a test has ended; tests end in any order."""

    def present(self, result: TestResult) -> None:
        """Handle that a test and all before it have ended, so that it can be shown."""

    def graded(self, case: Cases) -> None:
        """Handle that every test has ended; cases can still ask workers."""


class Runner:
    """Binds tests to assignment.toml, and runs them.

    Attributes:
        judging: judges hidden tests; None on a student's computer, where they only run.

    Raises:
        UsageError: tests and description disagree, in any edition.
    """

    def __init__(
        self, assignment: Assignment, questions: QuestionSet, judging: Judging | None = None
    ) -> None:
        self.assignment, self.questions, self.judging = assignment, questions, judging
        self._cases = questions.cases()
        for edition in assignment.editions.values():
            bind(edition.tests, self._cases)

    def tests(self, edition: Edition) -> list[BoundTest]:
        return bind(edition.tests, self._cases)

    def run(self, options: Options, seed: int, observer: Observer, pool: Pool) -> Results:
        """Stage, run every selected test, and return the results of all tests of the edition.

        The pool is left open, so that many submissions can share it.
        """
        started = time.monotonic()
        edition = self.assignment.edition(options.edition)
        bound = self.tests(edition)
        selected = select(bound, options.selection)
        answers = None if self.judging is None else self.judging.answers
        data = self.questions.open_data(self.assignment, options.data, answers)
        if options.counts:
            require_judging(self.judging)
            require_data(data)
        work = Path(tempfile.mkdtemp(prefix="grading-"))
        try:
            for test in selected:  # libraries are imported while files are staged
                if has_torch() or not test.spec.torch:
                    pool.warm(test.spec.torch)
            staged = self._stage(options, edition, work)
            observer.staged(staged)
            private = self._stage_reference(options, staged, work)
            run = Run(
                runner=self,
                edition=edition,
                staged=staged,
                work=work,
                pool=pool,
                data=data,
                seed=seed,
                deadline=started + options.deadline_s,
                counts=options.counts,
                code=own_package(options.submission, staged) if options.in_process else None,
                patience=None if options.counts else options.patience,
            )
            protection = pool.admit(work, staged.root, private)
            results = self.blank(edition, seed, options.name or options.submission.resolve().name)
            results.selection = options.selection
            results.tests = [
                replace(result, is_selected=test in selected)
                for test, result in zip(bound, results.tests, strict=True)
            ]
            results.facts |= _facts_of(staged) | protection
            observer.started(results)
            with ThreadPoolExecutor(options.jobs) as executor:
                try:
                    _run_all(run, bound, results, executor, observer)
                    if run.float_ranges:
                        python = self.assignment.gradescope_python
                        run.warnings.append(float_ranges.advice(run.float_ranges, python))
                    if run.warnings:
                        results.facts["warnings"] = run.warnings
                    observer.graded(run.case)
                except BaseException:  # Ctrl-C, a full disk: don't wait for tests' time limits
                    pool.abandon()
                    raise
            return results
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _stage(self, options: Options, edition: Edition, work: Path) -> Staged:
        """Copy the submission, with what the assignment adds to it."""
        required, given = self.questions.required_files(edition), self.questions.provided
        staged = stage(options.submission, work / "staged", given, required, options.alias)
        self.questions.prepare(self.assignment, staged.root)
        return staged

    def _stage_reference(self, options: Options, staged: Staged, work: Path) -> list[Path]:
        """Copy the reference, where there is one; return what student code must not read."""
        if self.judging is None:
            return list(options.private)
        staged.reference = work / REFERENCE
        closed = self.judging.stage_reference(staged.reference, self.questions.provided)
        self.questions.prepare(self.assignment, staged.reference)
        return [self.judging.answers, *options.private, *closed]

    def blank(self, edition: Edition, seed: int, name: str) -> Results:
        """Return results in which no test has run.

        Args:
            name: the submission's name.
        """
        tests = [TestResult(t.spec, t.description) for t in self.tests(edition)]
        facts = {
            "submission": printable.line(name, MAX_NAME),
            "graded": now(),
            "versions": versions(),
        }
        if self.judging is not None:
            facts["judged_by"] = self.judging.judged_by(self.assignment, self.questions.provided)
        return Results(edition, seed, tests, facts)


def _facts_of(staged: Staged) -> dict[str, Any]:
    """Return what results say of the submission's files."""
    files = {}
    for name in sorted(staged.taken):
        with open(staged.root / name, "rb") as reader:
            files[name] = hashlib.file_digest(reader, "sha256").hexdigest()
    listed = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    return {
        "digest": hashlib.sha256(listed.encode("utf-8", errors="surrogateescape")).hexdigest(),
        "files": files,
        "left": [*map(str, staged.omissions)],
        "place": staged.place,
    }


def require_judging(judging: Judging | None) -> None:
    """Refuse a run that counts if hidden tests can't be judged: students would lose points.

    Raises:
        GradingError: staff's judges are missing.
    """
    if judging is None:
        raise GradingError(
            "this run can't count without solutions/hidden/, which judges hidden tests"
        )


def require_data(data: Data) -> None:
    """Refuse a run that counts without torch or data, which would cost students points.

    Raises:
        GradingError: something is missing or can't be read, which is not the student's fault.
    """
    if not has_torch():
        raise GradingError("this run can't count without torch, which this Python doesn't have")
    try:
        data.require()
    except DataError as error:
        raise GradingError(f"this run can't count without its data set: {error}") from None


def own_package(submission: Path, staged: Staged) -> Path | None:
    """Return the folder of a checkout's own package `submission`, where breakpoints work.

    None means that its copy has to be imported, because it is not a complete package: a zip, loose
    files, or a submission without the given modules.
    """
    package = staged.package
    if package is None or package.name != "submission" or staged.added or not submission.is_dir():
        return None
    return package.parent


def _run_all(
    run: Run,
    bound: list[BoundTest],
    results: Results,
    executor: ThreadPoolExecutor,
    observer: Observer,
) -> None:
    """Run the selected tests, and put each one's result in its place in `results`.

    Tests of files run first, so that no student code can take the time that they need. The observer
    gets the results in the edition's order, whichever test ends first.
    """
    unshown = deque(place for place, result in enumerate(results.tests) if result.is_selected)
    order = sorted(unshown, key=lambda place: not bound[place].of_files)

    def end(place: int) -> TestResult:
        results.tests[place] = run.run_test(bound[place], results.tests[place])
        return results.tests[place]

    ended: set[int] = set()
    for place, result in zip(order, executor.map(end, order), strict=True):
        observer.ended(result)
        ended.add(place)
        while unshown and unshown[0] in ended:
            observer.present(results.tests[unshown.popleft()])


@dataclass
class Run:
    """One run's shared state."""

    runner: Runner
    edition: Edition
    staged: Staged
    work: Path
    pool: Pool
    data: Data
    seed: int
    deadline: float  # of time.monotonic()
    counts: bool = False
    code: Path | None = None  # from where the submission is imported, if not from its copy
    patience: int | None = None
    to_confirm: int = TO_CONFIRM  # failures in used workers that fresh ones have yet to repeat
    float_ranges: str = ""  # the first place that draws from a range with a float

    def __post_init__(self) -> None:
        self.reference = self.work / REFERENCE
        self._shared: dict[str, Future] = {}
        self.attempts: dict[str, Attempt] = {}  # at shared results, by their names
        self.warnings: list[str] = []
        self._lock = threading.Lock()
        self.stuck: dict[str, importing.Stuck] = {}  # by module
        self._timed_out: Counter[str] = Counter()  # by question

    @property
    def assignment(self) -> Assignment:
        return self.runner.assignment

    @property
    def judging(self) -> Judging | None:
        return self.runner.judging

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a result that tests share; the first that asks makes it, or fails for all."""
        mine: Future[Any] = Future()
        with self._lock:
            future = self._shared.setdefault(name, mine)
        if future is mine:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def case(self, topic: str, name: str) -> GradedTestCase:
        """Return the case of a test, which can ask workers, also after the tests have ended."""
        test = next(
            t
            for t in self.runner.tests(self.edition)
            if (t.spec.topic, t.spec.name) == (topic, name)
        )
        return test.case(test.spec, Attempt(self, test.spec), self.seed)

    def run_test(self, test: BoundTest, result: TestResult) -> TestResult:
        """Run one test and return its result; whatever happens affects only this test.

        Args:
            result: the result of the test before it has run.
        """
        started = time.monotonic()
        if started > self.deadline:
            return replace(result, message=OUT_OF_TIME, cause="not-run.run-out-of-time")
        question = test.spec.number
        if self.patience is not None and self._timed_out[question] >= self.patience:
            message = LEFT_OUT.format(self.patience, question)
            return replace(result, message=message, cause="not-run.left-out")
        attempt, verdict, score = self._confirmed(test)
        self._timed_out[question] += verdict.outcome is Outcome.TIMED_OUT
        return replace(
            result,
            outcome=verdict.outcome,
            score=score,
            message=self._without_our_folders(verdict.message),
            detail=verdict.detail,
            output=self._without_our_folders(printable.last_states(attempt.output)),
            place=verdict.place,
            is_unwritten=verdict.is_unwritten,
            missing_file=verdict.missing_file,
            hint=verdict.hint,
            wall_s=time.monotonic() - started,
            cause=verdict.cause,
            where=verdict.where,
            look_at=verdict.look_at,
            credit=verdict.credit,
            measured=attempt.measured,
            cpu_s=attempt.cpu_s,
            peak_bytes=attempt.peak_bytes,
        )

    def _confirmed(self, test: BoundTest) -> tuple[Attempt, Verdict, Decimal]:
        """Run a test, and once more in a fresh worker if it failed where others had run before."""
        attempt = Attempt(self, test.spec)
        verdict, score = self._judged(test, attempt)
        fine = verdict.is_unwritten or verdict.outcome in UNSUSPICIOUS
        if fine or not attempt.used or not self.to_confirm:
            return attempt, verdict, score
        attempt = Attempt(self, test.spec, fresh=True)
        confirmed, score = self._judged(test, attempt)
        if (confirmed.outcome, confirmed.message) == (verdict.outcome, verdict.message):
            self.to_confirm = max(0, self.to_confirm - 1)
        else:
            ends = verdict.outcome.value, confirmed.outcome.value
            self.warnings.append(DIFFERS.format(test.spec.test_id, *ends))
        return attempt, confirmed, score

    def _without_our_folders(self, text: str) -> str:
        """Name files as students know them, without the temporary folder to which they are copied.

        Warnings, a debugger and some exceptions name whole paths.
        """
        text = text.replace(f"{self.staged.root}{os.sep}", "")
        scratch = re.escape(f"{self.work}{os.sep}scratch-")
        return re.sub(rf"{scratch}\w+(?:{re.escape(os.sep)})?", "", text)

    def _judged(self, test: BoundTest, attempt: Attempt) -> tuple[Verdict, Decimal]:
        """Return how the test ended, and its points; a grader error is also a verdict."""
        try:
            verdict = self._ended(test, attempt)
            if verdict.is_doubtful and self.judging is not None:
                verdict = self._unless_ours(test, verdict)
            return verdict, share_of(test.spec.max_score, verdict.credit)
        except DataError as error:
            lacking = Verdict(Outcome.NOT_RUN, f"{NO_DATA}: {error}", id="no-data")
            # In a run that counts, all data was there at the beginning.
            return _our_fault() if self.counts else lacking, Decimal("0.00")
        except UsageError:
            raise
        except Exception:
            return _our_fault(), Decimal("0.00")

    def _ended(self, test: BoundTest, attempt: Attempt) -> Verdict:
        """Run a test's method and return how it ended.

        Raises:
            GradingError, OSError: a broken installation, a full disk, no more processes.
        """
        try:
            test.method(test.case(test.spec, attempt, self.seed))
        except TestEnd as end:
            # Its frames refer to the answer, which if large would remain during the next test.
            end.__traceback__ = end.__context__ = None
            return end.verdict
        except (GradingError, OSError):
            raise
        except Exception:  # in a judge: no answer that fits its schema should cause this
            return malformed(traceback.format_exc(), is_doubtful=True)
        return Verdict(Outcome.PASSED, "", attempt.notes, credit=Fraction(1))

    def _unless_ours(self, test: BoundTest, theirs: Verdict) -> Verdict:
        """Return `theirs` if the reference passes in the submission's place.

        Raises:
            GradingError: the reference also fails, so it is the grader's own fault.
        """
        ours = self._ended(test, Attempt(self, test.spec, stands_in=True))
        if ours.outcome is Outcome.NOT_RUN:
            return ours  # the run's time is over, so this can't be decided
        # The reference has no trained files. A student's were checked before.
        fine = (Outcome.PASSED, Outcome.MISSING_FILE, Outcome.RAN_NOT_GRADED)
        if ours.is_doubtful or ours.outcome not in fine:
            ends = f"{ours.outcome.value}: {ours.message}\n{ours.detail}"
            raise GradingError(f"the reference, too: {ends}\n{theirs.detail}")
        return theirs


def _our_fault() -> Verdict:
    """Return the verdict of a test with a grader error: the exception being handled."""
    return Verdict(Outcome.GRADER_ERROR, GRADER_FAILED, traceback.format_exc())


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
        """Return a result that several tests share; `make` gets its own attempt, with torch."""
        if self._stands_in:  # nothing made from the submission
            return make(self)
        spec = replace(
            self._spec, topic="shared", name=name, kind="hidden", timeout_s=SHARED_CPU_S, torch=True
        )
        name = f"{name}, fresh" if self._fresh else name
        attempt = self._run.attempts.setdefault(name, Attempt(self._run, spec, fresh=self._fresh))
        try:
            return self._run.once(name, lambda: make(attempt))
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
        run, name = self._run, self._run.runner.questions.probe(probe)
        root = self.staged.root if role == "submission" else run.reference
        request = {"probe": name, "args": args, "seed": seed, "submission": str(root)}
        if role == "submission":
            if run.code is not None:
                request["code"] = str(run.code)
            request["stuck"] = list(run.stuck)
        job = Job(role, self._spec.torch, request, limits, run.work, self._fresh)
        return run.pool.run(job)

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
