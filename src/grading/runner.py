"""Runs an edition's tests on one staged submission: workers observe, and this process judges.

results = CourseTestRunner(assignment, questions).run(options, seed, observer)
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from . import (
    authoritative,
    float_ranges,
    importing,
    leftovers,
    paths,
    printable,
    provenance,
    sandbox,
)
from .assignment import Assignment, Edition
from .bench import OUT_OF_TIME, Bench
from .cases import BoundTest, bind, derive_seed, select
from .deciding import Deciding, in_environment
from .errors import (
    DataError,
    Doubtful,
    GradingError,
    ReferenceFailed,
    UsageError,
    Verdict,
    malformed,
)
from .inprocess import InProcessPool, own_package
from .judges import Judge, bind_judges, load_hidden
from .observer import Observer
from .options import DEADLINE_S as DEADLINE_S
from .options import Options as Options
from .outcomes import Outcome
from .processes import Pool, open_pool
from .question_set import Data, QuestionSet
from .remembered import Remembered
from .requirements import require_data, require_staff
from .results import Results, TestResult, share_of
from .staging import Staged, stage, stage_reference

MAX_NAME = 200  # characters of a submission's name
NO_DATA = "not run, because it needs the data set"
LEFT_OUT = "not run: {} tests of question {} timed out; to run this one, name it alone"
GRADER_FAILED = "the grader itself failed here; this is not your fault: tell staff"


class CourseTestRunner:
    """Binds tests and judges to assignment.toml, and runs them.

    Raises:
        UsageError: they disagree, in any edition.
    """

    def __init__(self, assignment: Assignment, questions: QuestionSet) -> None:
        self.assignment, self.questions = assignment, questions
        self.remembered: Remembered | None = None  # a class's run asks the reference once
        self._cases = questions.cases()
        self.digests = functools.cache(self._digests)  # once for each edition
        for edition in assignment.editions.values():
            bind(edition.tests, self._cases)
        self.hidden = load_hidden(paths.HIDDEN)
        self.judges: dict[str, Judge] = {}
        if self.hidden is not None:
            specs = [spec for e in assignment.editions.values() for spec in e.tests]
            self.judges = bind_judges(self.hidden, specs)

    def tests(self, edition: Edition) -> list[BoundTest]:
        return bind(edition.tests, self._cases)

    @functools.cached_property
    def _judged_by(self) -> str:
        return provenance.judged_by(self.questions.provided)

    def _digests(self, edition: str) -> dict[str, str]:
        """Return the digest of what decides each test (`deciding.py`), by id; only for staff."""
        if self.hidden is None:
            return {}
        found = Deciding(self.assignment, self.questions, self.hidden)
        here = provenance.versions(), provenance.processor()
        of = found.of(self.assignment.edition(edition))
        return {test_id: in_environment(digest, *here) for test_id, digest in of.items()}

    def run(
        self, options: Options, seed: int, observer: Observer, pool: Pool | None = None
    ) -> Results:
        """Stage, run every selected test, and return the results of all tests of the edition.

        A given pool is used and left open, so that many submissions can share it.
        """
        started = time.monotonic()
        edition = self.assignment.edition(options.edition)
        bound = self.tests(edition)
        wanted = select(bound, options.wanted)
        answers = None if self.hidden is None else options.answers
        data = self.questions.open_data(self.assignment, options.data, answers)
        if options.counts:
            require_staff(self.hidden)
            require_data(data)
        own = None
        if pool is None:
            pool = own = (
                InProcessPool() if options.in_process else open_pool(derive_seed(seed, "hash"))
            )
        uids = sandbox.UidPool()
        work = Path(tempfile.mkdtemp(prefix="grading-"))
        work.chmod(0o711)  # a test's own uid passes through to its scratch folder
        try:
            for test in wanted:  # libraries are imported while files are staged
                if provenance.has_torch() or not test.spec.torch:
                    pool.warm(test.spec.torch)
            required = self.questions.required_files(edition)
            staged = stage(options.submission, work / "staged", self.questions.provided, required)
            self.questions.prepare(self.assignment, staged.root)
            observer.staged(staged)
            run = Run(
                runner=self,
                edition=edition,
                staged=staged,
                work=work,
                pool=pool,
                data=data,
                seed=seed,
                layers=options.layers,
                deadline=started + options.deadline_s,
                counts=options.counts,
                uids=uids,
                code=own_package(options.submission, staged) if options.in_process else None,
                patience=None if options.counts else options.patience,
            )
            if self.hidden is not None:
                closed = stage_reference(run.reference, self.questions.provided)
                self.questions.prepare(self.assignment, run.reference)
                options = replace(options, private=(*options.private, *closed))
            open_to_code = self._open_to_code(options)
            authority_facts = self._authority(options, pool, work, staged, open_to_code)
            name = options.name or options.submission.resolve().name
            results = self.blank(edition, seed, name)
            results.wanted = options.wanted
            results.tests = [
                replace(result, asked=test in wanted)
                for test, result in zip(bound, results.tests, strict=True)
            ]
            files = provenance.digests(staged)
            results.facts |= {"digest": provenance.digest_of(files), "files": files}
            results.facts |= {"left": [*map(str, staged.omissions)], "place": staged.place}
            results.facts |= authority_facts
            observer.started(results)
            with ThreadPoolExecutor(options.jobs) as executor:
                try:
                    _run_all(run, bound, results, executor, observer)
                    if run.float_ranges:
                        python = self.assignment.gradescope_python
                        warning = float_ranges.advice(run.float_ranges, python)
                        results.facts["warnings"] = [warning]
                    observer.graded(run)
                except BaseException:  # Ctrl-C, a full disk: don't wait for tests' time limits
                    pool.abandon()
                    raise
            return results
        finally:
            if own is not None:
                own.close()
            uids.close()
            leftovers.remove_tree(work)

    def blank(self, edition: Edition, seed: int, name: str) -> Results:
        """Return results in which no test has run.

        Args:
            name: the submission's name.
        """
        digests = self.digests(edition.name)
        tests = [
            TestResult(t.spec, t.description, digest=digests.get(t.spec.test_id, ""))
            for t in self.tests(edition)
        ]
        facts = {
            "submission": printable.line(name, MAX_NAME),
            "graded": provenance.now(),
            "judged_by": self._judged_by,
            "versions": provenance.versions(),
        }
        return Results(edition, seed, tests, facts)

    def _open_to_code(self, options: Options) -> list[str]:
        """List the secrets that the submission's code could read among the libraries.

        Raises:
            UsageError: there are some, and the run need not be authoritative.
        """
        if self.hidden is None or options.in_process:
            return []  # there are no secrets, or no confinement at all
        secrets: list[str | Path] = [*authoritative.secrets(), options.answers, *options.private]
        found = authoritative.exposed(options.layers, secrets)
        if found and not options.authoritative:
            raise UsageError(f"{found[0]}; move it elsewhere before grading")
        return found

    def _authority(
        self, options: Options, pool: Pool, work: Path, staged: Staged, open_to_code: list[str]
    ) -> dict:
        """Return which layers protect this run; send the canary first if it is authoritative.

        Raises:
            GradingError: the run was to be authoritative, and can't be.
        """
        layers = ["none: in process"] if options.in_process else options.layers.names()
        facts = {"authoritative": options.authoritative, "layers": layers}
        if options.authoritative:
            private = options.private
            canary = authoritative.send_canary(pool, options.layers, work, staged.root, private)
            found = authoritative.faults(options.layers, canary) + open_to_code
            if found:
                raise GradingError("this run can't be authoritative: " + "; ".join(found))
            facts["missing"] = options.layers.missing()
        return facts


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
    untold = deque(place for place, result in enumerate(results.tests) if result.asked)
    order = sorted(untold, key=lambda place: not bound[place].of_files)

    def end(place: int) -> TestResult:
        results.tests[place] = run.run_test(bound[place], results.tests[place])
        return results.tests[place]

    ended: set[int] = set()
    for place, result in zip(order, executor.map(end, order), strict=True):
        observer.ended(result)
        ended.add(place)
        while untold and untold[0] in ended:
            observer.told(results.tests[untold.popleft()])


@dataclass
class Run:
    """One run's shared state."""

    runner: CourseTestRunner
    edition: Edition
    staged: Staged
    work: Path
    pool: Pool
    data: Data
    seed: int
    layers: sandbox.Layers
    deadline: float  # of time.monotonic()
    counts: bool = False
    code: Path | None = None  # from where the submission is imported, if not from its copy
    patience: int | None = None
    float_ranges: str = ""  # the first place that draws from a range with a float
    uids: sandbox.UidPool = field(default_factory=sandbox.UidPool)

    def __post_init__(self) -> None:
        self.reference = self.work / "reference"  # see stage_reference
        self._shared: dict[str, Future] = {}
        self._lock = threading.Lock()
        self.stuck: dict[str, importing.Stuck] = {}  # by module
        self._timed_out: Counter[str] = Counter()  # by question

    @property
    def assignment(self) -> Assignment:
        return self.runner.assignment

    @property
    def hidden(self) -> ModuleType | None:
        return self.runner.hidden

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
        bench = Bench(self, test.spec)
        verdict, score = self._judged(test, bench)
        self._timed_out[question] += verdict.outcome is Outcome.TIMED_OUT
        return replace(
            result,
            outcome=verdict.outcome,
            score=score,
            message=self._without_our_folders(verdict.message),
            detail=verdict.detail,
            output=self._without_our_folders(printable.last_states(bench.output)),
            place=verdict.place,
            is_unwritten=verdict.is_unwritten,
            missing_file=verdict.missing_file,
            hint=verdict.hint,
            wall_s=time.monotonic() - started,
            cause=verdict.cause,
            where=verdict.where,
            credit=verdict.credit,
            measured=bench.measured,
            cpu_s=bench.cpu_s,
            peak_bytes=bench.peak_bytes,
        )

    def _without_our_folders(self, text: str) -> str:
        """Name files as students know them, without the temporary folder to which they are copied.

        Warnings, a debugger and some exceptions name whole paths.
        """
        text = text.replace(f"{self.staged.root}{os.sep}", "")
        scratch = re.escape(f"{self.work}{os.sep}scratch-")
        return re.sub(rf"{scratch}\w+(?:{re.escape(os.sep)})?", "", text)

    def _judged(self, test: BoundTest, bench: Bench) -> tuple[Verdict, Decimal]:
        """Return how the test ended, and its points; a grader error is also a verdict."""
        try:
            verdict = self._verdict(test, bench)
            return verdict, share_of(test.spec.max_score, verdict.credit)
        except DataError as error:
            lacking = Verdict(Outcome.NOT_RUN, f"{NO_DATA}: {error}", id="no-data")
            # In a run that counts, all data was there at the beginning.
            return _our_fault() if self.counts else lacking, Decimal("0.00")
        except UsageError:
            raise
        except Exception:
            return _our_fault(), Decimal("0.00")

    def _verdict(self, test: BoundTest, bench: Bench) -> Verdict:
        try:
            test.method(test.case(test.spec, bench, self.seed))
        except Verdict as verdict:
            # Its frames refer to the answer, which if large would remain during the next test.
            verdict.__traceback__ = verdict.__context__ = None
            if not isinstance(verdict, Doubtful):
                return verdict
            theirs: Verdict = verdict
        except ReferenceFailed:
            theirs = malformed(traceback.format_exc())
        except (GradingError, OSError):
            raise  # a broken installation, a full disk, no more processes
        except Exception:  # in a judge: no answer that fits its schema should cause this
            theirs = malformed(traceback.format_exc())
        else:
            return Verdict(Outcome.PASSED, "", bench.notes, credit=Fraction(1))
        return theirs if self.hidden is None else self._unless_ours(test, theirs)

    def _unless_ours(self, test: BoundTest, theirs: Verdict) -> Verdict:
        """Return `theirs` if the reference passes in the submission's place.

        Raises:
            Exception: the reference also fails, so it is the grader's own fault.
        """
        try:
            test.method(test.case(test.spec, Bench(self, test.spec, stands_in=True), self.seed))
        except Verdict as verdict:
            if verdict.outcome is Outcome.NOT_RUN:
                return verdict  # the run's time is over, so this can't be decided
            # The reference has no trained files. A student's were checked before.
            expected = verdict.outcome in (Outcome.MISSING_FILE, Outcome.RAN_NOT_GRADED)
            if isinstance(verdict, Doubtful) or not expected:
                ends = f"{verdict.outcome.value}: {verdict.message}\n{verdict.detail}"
                raise GradingError(f"the reference, too: {ends}\n{theirs.detail}") from None
        return theirs


def _our_fault() -> Verdict:
    """Return the verdict of a test with a grader error: the exception being handled."""
    return Verdict(Outcome.GRADER_ERROR, GRADER_FAILED, traceback.format_exc())
