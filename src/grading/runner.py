"""Runs an edition's tests on one staged submission: observe in workers, judge here.

results = CourseTestRunner(assignment, questions).run(options, seed, observer)
"""

from __future__ import annotations

import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

from . import authoritative, exposure, float_ranges, importing, paths, provenance, sandbox, trees
from .assignment import Assignment, Edition
from .bench import OUT_OF_TIME, Bench, malformed
from .cases import BoundTest, bind, derive_seed, select
from .errors import (
    DataError,
    Doubtful,
    GradingError,
    ReferenceFailed,
    UsageError,
    Verdict,
)
from .inprocess import InProcessPool
from .judges import Judge, bind_judges, load_hidden
from .observer import Observer
from .outcomes import Outcome
from .processes import Pool, open_pool
from .question_set import Data, QuestionSet
from .results import Results, TestResult
from .staging import Staged, stage, stage_reference

# Gradescope's time-out, 600 s, throws everything away. Staging counts; a worker that runs into the
# deadline is killed, and what follows is bounded: twice GRACE_S, a scratch folder's few thousand
# files, the results.
DEADLINE_S = 540.0
NO_DATA = "not run, it needs the data set"
GRADER_FAILED = "the grader itself failed here; this is not your fault: tell staff"


@dataclass(frozen=True)
class Options:
    """What a run was asked for; see `python grader.py --help`."""

    submission: Path
    edition: str | None = None
    wanted: tuple[str, ...] = ()  # test ids or questions; empty: all
    jobs: int = 1  # how many tests run side by side
    in_process: bool = False
    authoritative: bool = False
    complete: bool = False  # refuse to run without the whole data set; an authoritative run does
    private: tuple[Path, ...] = ()  # files that no student's code may read: results, ...
    deadline_s: float = DEADLINE_S
    data: Path = paths.DATA
    answers: Path = paths.ANSWERS  # staff only; used where solutions/hidden/ is
    layers: sandbox.Layers = field(default_factory=sandbox.detect)

    @property
    def counts(self) -> bool:
        """Whether a test that lacks its data would cost a student points."""
        return self.authoritative or self.complete


class CourseTestRunner:
    """Binds tests and judges to assignment.toml, and runs them.

    Raises:
        UsageError: they disagree, in whatever edition.
    """

    def __init__(self, assignment: Assignment, questions: QuestionSet) -> None:
        self.assignment, self.questions = assignment, questions
        self._cases = questions.cases()
        for edition in assignment.editions.values():
            bind(edition.tests, self._cases)
        self.hidden = load_hidden(paths.HIDDEN)
        self.judges: dict[str, Judge] = {}
        if self.hidden is not None:
            specs = [spec for e in assignment.editions.values() for spec in e.tests]
            self.judges = bind_judges(self.hidden, specs)

    def tests(self, edition: Edition) -> list[BoundTest]:
        return bind(edition.tests, self._cases)

    def run(
        self,
        options: Options,
        seed: int,
        observer: Observer,
        pool: Pool | None = None,
    ) -> Results:
        """Stage, run every wanted test, and return the results of all of the edition's tests.

        A pool that is given is used and left open: many submissions can share one.
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
        work = Path(tempfile.mkdtemp(prefix="grading-"))
        work.chmod(0o711)  # a test's own uid passes through to its scratch folder
        try:
            for test in wanted:  # libraries are imported while files are staged
                if provenance.has_torch() or not test.spec.torch:
                    pool.warm(test.spec.torch)
            staged = stage(options.submission, work / "staged", self.questions.provided)
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
            )
            if self.hidden is not None:
                closed = stage_reference(run.reference, self.questions.provided)
                self.questions.prepare(self.assignment, run.reference)
                options = replace(options, private=(*options.private, *closed))
            open_to_code = self._open_to_code(options)
            authority_facts = self._authority(options, pool, work, staged, open_to_code)
            results = self.blank(edition, seed)
            results.facts |= {"submission": sorted(staged.taken), "left": staged.left}
            results.facts |= authority_facts
            observer.started(results)
            todo = []
            for test, result in zip(bound, results.tests, strict=True):
                result.asked = test in wanted
                if result.asked:
                    todo.append((test, result))
            with ThreadPoolExecutor(options.jobs) as executor:
                try:
                    _run_all(run, todo, executor, observer)
                    if run.float_ranges:
                        python = self.assignment.gradescope_python
                        warning = float_ranges.advice(run.float_ranges, python)
                        results.facts["warnings"] = [warning]
                    observer.graded(run)
                except BaseException:  # Ctrl-C, a full disk: wait for no test's time limit
                    pool.abandon()
                    raise
            return results
        finally:
            if own is not None:
                own.close()
            trees.remove_tree(work)

    def blank(self, edition: Edition, seed: int) -> Results:
        """Results of tests of which none has run."""
        tests = [TestResult(t.spec, t.description) for t in self.tests(edition)]
        facts = {
            "judged_by": provenance.judged_by(self.questions.provided),
            "versions": provenance.versions(),
        }
        return Results(edition, seed, tests, facts)

    def _open_to_code(self, options: Options) -> list[str]:
        """What of ours the submission's code could read among the libraries.

        Raises:
            UsageError: something, and the run is not one that would have to be authoritative.
        """
        if self.hidden is None or options.in_process:
            return []  # there is nothing to read, or no confinement at all
        secrets = [*authoritative.secrets(), options.answers, *options.private]
        found = exposure.exposed(options.layers, secrets)
        if found and not options.authoritative:
            raise UsageError(f"{found[0]}; nothing is graded until it is elsewhere")
        return found

    def _authority(
        self, options: Options, pool: Pool, work: Path, staged: Staged, open_to_code: list[str]
    ) -> dict:
        """Which layers protect this run; an authoritative one sends the canary first.

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
    todo: list[tuple[BoundTest, TestResult]],
    executor: ThreadPoolExecutor,
    observer: Observer,
) -> None:
    """Run tests, those of files first: no code of a student's can take the time they need.

    Results come in the edition's order, whichever test ends first.
    """
    order = sorted(range(len(todo)), key=lambda index: not todo[index][0].of_files)
    ended: set[int] = set()
    told = 0
    runs = executor.map(lambda index: run.run_test(*todo[index]), order)
    for index, result in zip(order, runs, strict=True):
        observer.ended(result)
        ended.add(index)
        while told in ended:
            observer.told(todo[told][1])
            told += 1


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
    float_ranges: str = ""  # the first place that draws from a range with a float

    def __post_init__(self) -> None:
        self.reference = self.work / "reference"  # see stage_reference
        self.uids = sandbox.UidPool()
        self._shared: dict[str, Future] = {}
        self._lock = threading.Lock()
        self.stuck: dict[str, importing.Stuck] = {}  # by module

    @property
    def assignment(self) -> Assignment:
        return self.runner.assignment

    @property
    def hidden(self) -> ModuleType | None:
        return self.runner.hidden

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What several tests need, made by the first that asks; its exception is theirs, too."""
        with self._lock:
            future = self._shared.get(name)
            first = future is None
            if first:
                future = self._shared[name] = Future()
        if first:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def run_test(self, test: BoundTest, result: TestResult) -> TestResult:
        """Run one test and fill in its result; whatever happens, it happens to this one only."""
        started = time.monotonic()
        if started > self.deadline:
            result.message = OUT_OF_TIME
            return result
        bench = Bench(self, test.spec)
        try:
            verdict = self._verdict(test, bench)
            result.score = share_of(test.spec.max_score, verdict.credit)
            result.outcome, result.message = verdict.outcome, verdict.message
            result.detail = verdict.detail
        except DataError as error:
            if self.counts:  # all of it was there when the run began
                _blame_us(result)
            else:
                result.outcome, result.message = Outcome.NOT_RUN, f"{NO_DATA}: {error}"
        except UsageError:
            raise
        except Exception:
            _blame_us(result)
        result.output = bench.output
        result.wall_s = time.monotonic() - started
        return result

    def _verdict(self, test: BoundTest, bench: Bench) -> Verdict:
        try:
            test.method(test.case(test.spec, bench, self.seed))
        except Doubtful as verdict:
            theirs: Verdict = verdict
        except Verdict as verdict:
            # Its frames hold the answer, and it: a large one would still be there in the next test.
            verdict.__traceback__ = verdict.__context__ = None
            return verdict
        except ReferenceFailed:
            theirs = malformed(traceback.format_exc())
        except (GradingError, OSError):
            raise  # a broken installation, a full disk, no more processes
        except Exception:  # in a judge: no answer that fits its schema should do that
            theirs = malformed(traceback.format_exc())
        else:
            return Verdict(Outcome.PASSED, "", bench.notes, credit=Fraction(1))
        return theirs if self.hidden is None else self._unless_ours(test, theirs)

    def _unless_ours(self, test: BoundTest, theirs: Verdict) -> Verdict:
        """`theirs`, if all is well with the reference in the submission's place.

        Raises:
            Exception: it isn't, so that it's the grader's own fault.
        """
        try:
            test.method(test.case(test.spec, Bench(self, test.spec, stands_in=True), self.seed))
        except Verdict as verdict:
            if verdict.outcome is Outcome.NOT_RUN:
                return verdict  # the run's time is over: nobody can tell
            # The reference has no trained files. What is asked of a student's was matched before.
            expected = verdict.outcome in (Outcome.MISSING_FILE, Outcome.RAN_NOT_GRADED)
            if isinstance(verdict, Doubtful) or not expected:
                ends = f"{verdict.outcome.value}: {verdict.message}\n{verdict.detail}"
                raise GradingError(f"the reference, too: {ends}\n{theirs.detail}") from None
        return theirs


def _blame_us(result: TestResult) -> None:
    """The test ended by a fault of ours, which is being handled."""
    result.outcome, result.message = Outcome.GRADER_ERROR, GRADER_FAILED
    result.detail = traceback.format_exc()


def require_staff(hidden: ModuleType | None) -> None:
    """Refuse to begin a run that counts where nobody judges hidden tests: students would lose them.

    Raises:
        GradingError: staff's judges are not here.
    """
    if hidden is None:
        raise GradingError(
            "this run can't count without solutions/hidden/, whose judges decide hidden tests"
        )


def require_data(data: Data) -> None:
    """Refuse to begin a run that counts without torch or data: it would cost students points.

    Raises:
        GradingError: something is missing or can't be read: our fault.
    """
    if not provenance.has_torch():
        raise GradingError("this run can't count without torch, which this Python doesn't have")
    try:
        data.require()
    except DataError as error:
        raise GradingError(f"this run can't count without its data set: {error}") from None


def share_of(points: Decimal, credit: Fraction) -> Decimal:
    """That share of the points, exactly, rounded down to hundredths; nothing stays nothing.

    Raises:
        ValueError: the share is not between 0 and 1: the judge's own mistake.
    """
    if not 0 <= credit <= 1:
        raise ValueError(f"a credit of {credit} is not between 0 and 1")
    hundredths = int(points * 100) * credit.numerator // credit.denominator
    return Decimal(hundredths) / 100
