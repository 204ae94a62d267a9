"""Grades a submission: `Runner.run` stages it and lets `judge` run each of an edition's tests.

results = Runner(assignment, questions).run(options, seed, observer, pool)
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import re
import shutil
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import grading

from . import release, worker
from .cases import (
    OUT_OF_TIME,
    BoundTest,
    Cases,
    GradedTestCase,
    Judging,
    QuestionSet,
    Run,
    bind,
    matching_tests,
    select,
)
from .edition import Assignment, Edition
from .errors import DataError, GradingError, UsageError, safe_line
from .pool import Pool
from .staging import Staged, stage
from .verdicts import (
    Outcome,
    Results,
    TestEnd,
    TestResult,
    Verdict,
    has_torch,
    malformed,
    now,
    refusing_to_write,
    versions,
)

# At Gradescope's time-out, 600 s, all results are lost. Staging counts; a worker that reaches the
# deadline is killed, and the rest is bounded: twice GRACE_S, a scratch folder's few thousand files,
# the results.
DEADLINE_S = 540.0
MAX_NAME = 200  # characters of a submission's name
REFERENCE = "reference"  # the folder with the staged reference
NO_DATA = "not run, because it needs the data set"
LEFT_OUT = "not run: {} tests of question {} timed out; to run this one, name it alone"
GRADER_FAILED = "the grader itself failed here; this is not your fault: tell staff"
UNSUSPICIOUS = (Outcome.PASSED, Outcome.RAN_NOT_GRADED, Outcome.NOT_RUN)
DIFFERS = (
    "{}: {} after other tests, {} in a new process, which counts: does your code change something "
    "that all code shares, such as a global setting?"
)


@dataclass(frozen=True)
class Options:
    """See `python grader.py --help`."""

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
    data: Path = grading.DATA


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


class ResultsFile(Observer):
    """Keeps the results file up to date from the beginning."""

    staff = False

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._results: Results | None = None

    def started(self, results: Results) -> None:
        self._results = results
        self._write()

    def ended(self, result: TestResult) -> None:
        self._write()

    def finish(self) -> None:
        """Print the end of the report, once the run has ended or was interrupted."""

    def _write(self) -> None:
        if self._path is not None and self._results is not None:
            with refusing_to_write(self._path):
                self._results.write(self._path, self.staff)


class Runner:
    """Binds tests to assignment.toml, and runs them.

    Raises:
        UsageError: tests and description disagree, in any edition.
    """

    def __init__(self, assignment: Assignment, questions: QuestionSet) -> None:
        self.assignment, self.questions = assignment, questions
        self.judging: Judging | None = None  # on a student's computer hidden tests only run
        self._cases = questions.cases()
        for edition in assignment.editions.values():
            self.tests(edition)

    def tests(self, edition: Edition) -> list[BoundTest]:
        return bind(edition.questions, self._cases)

    def select(self, edition: Edition, words: tuple[str, ...]) -> list[BoundTest]:
        """Return the tests of an edition that words name; all, if there are no words.

        Raises:
            UsageError: a word names no test, or one of another edition, as the message then says.
        """
        tests = {each.name: self.tests(each) for each in self.assignment.editions.values()}
        for word in words:
            others = [name for name, bound in tests.items() if matching_tests(bound, word)]
            if others and edition.name not in others:
                raise UsageError(
                    f"edition {edition.name} has no test or question {word!r}, but edition "
                    f"{others[0]} does: add --edition {others[0]}"
                )
        return select(self.tests(edition), words)

    def run(self, options: Options, seed: int, observer: Observer, pool: Pool) -> Results:
        """Stage a submission, judge it, and return the results of all tests of the edition.

        The pool is left open, so that many submissions can share it.
        """
        with self.begin(options, seed, observer, pool) as (run, results):
            _judge_all(run, self.tests(run.edition), results, options.jobs, observer)
        return results

    @contextmanager
    def begin(
        self, options: Options, seed: int, observer: Observer, pool: Pool
    ) -> Iterator[tuple[Run, Results]]:
        """Stage a submission, for a block that lets `judge` run its tests one by one."""
        deadline = math.inf if options.in_process else time.monotonic() + options.deadline_s
        edition = self.assignment.edition(options.edition)
        name = options.name or Path(os.path.realpath(options.submission)).name
        results = self.blank(edition, seed, name, options.selection)
        answers = None if self.judging is None else self.judging.answers
        data = self.questions.open_data(self.assignment, options.data, answers)
        if options.counts:
            require_judging(self.judging)
            require_data(data)
        work = Path(tempfile.mkdtemp(prefix="grading-"))
        try:
            for test in results.selected_tests:  # libraries are imported while files are staged
                if has_torch() or not test.spec.torch:
                    pool.warm(test.spec.torch)
            staged, private = self.stage(options, edition, work, observer)
            results.facts |= _facts_of(staged) | pool.admit(work, staged.root, private)
            observer.started(results)
            run = Run(
                assignment=self.assignment,
                edition=edition,
                judging=self.judging,
                data=data,
                find_probe=self.questions.probe,
                staged=staged,
                work=work,
                pool=pool,
                seed=seed,
                deadline=deadline,
                counts=options.counts,
                code=own_package(staged) if options.in_process else None,
                patience=None if options.counts else options.patience,
                warnings=[*filter(None, [release.of_copy(staged, edition)])],
            )
            yield run, results
            if run.float_ranges:
                python = self.assignment.gradescope_python
                run.warnings.append(worker.float_range_advice(run.float_ranges, python))
            if run.warnings:
                results.facts["warnings"] = run.warnings
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def stage(
        self, options: Options, edition: Edition, work: Path, observer: Observer
    ) -> tuple[Staged, list[Path]]:
        """Copy submission and reference; return the former, and what its code must not read."""
        given, private = self.questions.provided, list(options.private)
        required = self.questions.required_files(edition)
        staged = stage(options.submission, work / "staged", given, required, options.alias)
        staged.foreign = release.foreign(staged, edition)
        self.questions.prepare(self.assignment, staged.root)
        observer.staged(staged)
        if self.judging is not None:
            staged.reference = work / REFERENCE
            closed = self.judging.stage_reference(staged.reference, given)
            self.questions.prepare(self.assignment, staged.reference)
            private = [self.judging.answers, *private, *closed]
        return staged, private

    def blank(
        self, edition: Edition, seed: int, name: str, selection: tuple[str, ...] = ()
    ) -> Results:
        """Return results of a submission of that name in which no test has run.

        Those that were dropped have ended, with all their points.

        Raises:
            UsageError: a word of the selection names no test.
        """
        tests = self.tests(edition)
        selected = self.select(edition, selection)
        blank = []
        for test in tests:
            spec, is_selected = test.spec, test in selected
            result = TestResult(spec=spec, description=test.description, is_selected=is_selected)
            if spec.dropped and is_selected:
                gets = "everybody gets its points" if spec.max_score else "it is not run"
                end = Verdict(Outcome.DROPPED, f"{gets}: {spec.dropped}", credit=1)
                result = replace(result, **vars(end), score=spec.max_score)
            blank.append(result)
        facts = {
            "submission": safe_line(name, MAX_NAME),
            "release": edition.release,
            "graded": now(),
            "versions": versions(),
        }
        if self.judging is not None:
            facts["judged_by"] = self.judging.judged_by(self.assignment, self.questions.provided)
        return Results(edition, seed, blank, facts, selection)


def _facts_of(staged: Staged) -> dict[str, Any]:
    """Return what results say of the submission's files."""
    files = {}
    for name in sorted(staged.taken):
        with open(staged.root / name, "rb") as reader:
            files[name] = hashlib.file_digest(reader, "sha256").hexdigest()
    listed = "".join(f"{digest}  {name}\n" for name, digest in files.items())
    experiments = {"experiments": staged.experiments} if staged.experiments else {}
    return experiments | {
        "digest": hashlib.sha256(listed.encode("utf-8", errors="surrogateescape")).hexdigest(),
        "files": files,
        "left": [*map(str, staged.omissions)],
        "place": staged.place,
        "copy": {"release": staged.release, "edition": staged.edition} if staged.release else {},
    }


def require_judging(judging: Judging | None) -> None:
    """Raise a GradingError where hidden tests can't be judged: students would lose points."""
    if judging is None:
        raise GradingError(
            "this run can't count without solutions/hidden/, which judges hidden tests"
        )


def require_data(data: Any) -> None:
    """Raise a GradingError if torch or data are missing, which is not the student's fault."""
    if not has_torch():
        raise GradingError("this run can't count without torch, which this Python doesn't have")
    try:
        if data is not None:
            data.require()
    except DataError as error:
        raise GradingError(f"this run can't count without its data set: {error}") from None


def own_package(staged: Staged) -> Path | None:
    """Return the folder of a submission's own package, where breakpoints work.

    None means that its copy has to be imported, because it is not a complete package: a zip, loose
    files, or a submission without the given modules.
    """
    package = staged.package
    is_whole = package is not None and package.name == "submission" and not staged.added
    return package.parent if package is not None and is_whole else None


def _judge_all(
    run: Run, tests: list[BoundTest], results: Results, jobs: int, observer: Observer
) -> None:
    """Judge the selected tests, and put each one's result in its place in `results`.

    Tests of files run first, so that no student code can take the time that they need.
    """
    unshown = deque(place for place, result in enumerate(results.tests) if result.is_selected)
    order = sorted(unshown, key=lambda place: not tests[place].of_files)
    ended: set[int] = set()

    def end(place: int) -> TestResult:
        results.tests[place] = judge(run, tests[place], results.tests[place])
        return results.tests[place]

    with ThreadPoolExecutor(jobs) as executor:
        try:
            for place, result in zip(order, executor.map(end, order), strict=True):
                observer.ended(result)
                ended.add(place)
                while unshown and unshown[0] in ended:
                    observer.present(results.tests[unshown.popleft()])
            observer.graded(functools.partial(case_of, run, tests))
        except BaseException:  # Ctrl-C, a full disk: don't wait for tests' time limits
            run.pool.abandon()
            raise


def case_of(run: Run, tests: list[BoundTest], topic: str, name: str) -> GradedTestCase:
    """Return the case of a test, which can ask workers, also after the tests have ended."""
    test = next(t for t in tests if (t.spec.topic, t.spec.name) == (topic, name))
    return test.case(run, test.spec)


def judge(run: Run, test: BoundTest, result: TestResult) -> TestResult:
    """Run one test and return its result; whatever it does affects only this result.

    Raises:
        UsageError: staff have to mend something before any test is judged.
    """
    if test.spec.dropped:
        return result
    started = time.monotonic()
    if started > run.deadline:
        return replace(result, message=OUT_OF_TIME, id="run-out-of-time")
    question = test.spec.number
    if run.patience is not None and run.timed_out[question] >= run.patience:
        message = LEFT_OUT.format(run.patience, question)
        return replace(result, message=message, id="left-out")
    case, verdict, score = _judged(run, test)
    is_fine = verdict.is_unwritten or verdict.outcome in UNSUSPICIOUS
    if case.used and run.to_confirm and not is_fine:
        first = verdict
        case, verdict, score = _judged(run, test, fresh=True)
        if (verdict.outcome, verdict.message) == (first.outcome, first.message):
            run.to_confirm = max(0, run.to_confirm - 1)
        else:
            ends = first.outcome.value, verdict.outcome.value
            run.warnings.append(DIFFERS.format(test.spec.test_id, *ends))
    run.timed_out[question] += verdict.outcome is Outcome.TIMED_OUT
    verdict = replace(verdict, message=_without_our_folders(run, verdict.message))
    # Of a line that is written over itself, as a progress bar is, the last state.
    rows = (row.rstrip("\r").rpartition("\r")[2] for row in case.output.split("\n"))
    return replace(
        result,
        **vars(verdict),
        score=score,
        output=_without_our_folders(run, "\n".join(rows)),
        wall_s=time.monotonic() - started,
        measured=case.measured,
        cpu_s=case.cpu_s,
        peak_bytes=case.peak_bytes,
    )


def _without_our_folders(run: Run, text: str) -> str:
    """Name files as students know them: warnings name whole paths, in our temporary folders."""
    text = text.replace(f"{run.staged.root}{os.sep}", "")
    scratch = re.escape(f"{run.work}{os.sep}scratch-")
    return re.sub(rf"{scratch}\w+(?:{re.escape(os.sep)})?", "", text)


def _judged(
    run: Run, test: BoundTest, fresh: bool = False
) -> tuple[GradedTestCase, Verdict, Decimal]:
    """Run a test's method once; return its case, how it ended, and its points.

    If the verdict is doubtful, it counts only if the reference does better in the submission's
    place. Otherwise, and for other mistakes of ours, the test ends with a grader error.
    """
    case = test.case(run, test.spec, fresh=fresh)
    try:
        verdict = _ended(test, case)
        if verdict.is_doubtful and run.judging is not None:
            ours = _ended(test, test.case(run, test.spec, stands_in=True))
            # The reference has no trained files. A student's were checked before.
            fine = (Outcome.PASSED, Outcome.MISSING_FILE, Outcome.RAN_NOT_GRADED)
            if ours.outcome is Outcome.NOT_RUN:
                verdict = ours  # the run's time is over, so this can't be decided
            elif ours.is_doubtful or ours.outcome not in fine:
                ends = f"{ours.outcome.value}: {ours.message}\n{ours.detail}"
                raise GradingError(f"the reference, too: {ends}\n{verdict.detail}")
        return case, verdict, test.spec.max_score if verdict.credit else Decimal("0.00")
    except Exception as error:
        if isinstance(error, UsageError) and not isinstance(error, DataError):
            raise
        verdict = Verdict(Outcome.GRADER_ERROR, GRADER_FAILED, traceback.format_exc())
        # In a run that counts, all data was there at the beginning.
        if isinstance(error, DataError) and not run.counts:
            verdict = Verdict(Outcome.NOT_RUN, f"{NO_DATA}: {error}", id="no-data")
        return case, verdict, Decimal("0.00")


def _ended(test: BoundTest, case: GradedTestCase) -> Verdict:
    """Run a test's method and return how it ended; GradingError, OSError: the fault is ours."""
    try:
        test.method(case)
    except TestEnd as end:
        # Its frames refer to the answer, which if large would remain during the next test.
        end.__traceback__ = end.__context__ = None
        return end.verdict
    except (GradingError, OSError):
        raise
    except Exception:  # in a judge: no answer that fits its schema should cause this
        return malformed(traceback.format_exc(), is_doubtful=True)
    return Verdict(Outcome.PASSED, "", case.notes, credit=1)
