"""Runs an edition's tests on one staged submission: observe in workers, judge here.

results = CourseTestRunner(assignment, cases).run(options, on_result)
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from . import paths, sandbox, wire
from .assignment import Assignment, Edition, TestSpec
from .cases import BoundTest, GradedTestCase, bind
from .coursedata import CourseData
from .errors import GradingError, UsageError, Verdict, WireError
from .inprocess import InProcessPool
from .limits import Limits
from .outcomes import Outcome
from .processes import Job, Pool, open_pool
from .reading import explain_ending, explain_error
from .results import Results, TestResult
from .staging import Staged, stage

DEADLINE_S = 540.0  # Gradescope's time-out, 600 s, throws everything away
REFERENCE_CPU_S = 120.0


@dataclass(frozen=True)
class Options:
    """What a run was asked for; see `python grader.py --help`."""

    submission: Path
    edition: str | None = None
    wanted: tuple[str, ...] = ()  # test ids or questions; empty: all
    seed: int | None = None
    in_process: bool = False
    deadline_s: float = DEADLINE_S
    data: Path = paths.DATA
    answers: Path = paths.ANSWERS  # staff only; used where solutions/hidden.py is
    layers: sandbox.Layers = field(default_factory=sandbox.detect)


class CourseTestRunner:
    """Binds the tests of grader.py to assignment.toml, and runs them."""

    def __init__(self, assignment: Assignment, cases: list[type[GradedTestCase]]) -> None:
        self.assignment, self._cases = assignment, cases
        for edition in assignment.editions.values():
            bind(edition.tests, cases)  # a disagreement is an error at load, in every edition

    def tests(self, edition: Edition) -> list[BoundTest]:
        return bind(edition.tests, self._cases)

    def run(
        self,
        options: Options,
        seed: int,
        on_event: Callable[[str, Any], None],
        pool: Pool | None = None,
    ) -> Results:
        """Stage, run every wanted test, and return the results of all of the edition's tests.

        `on_event` hears ("staged", Staged), ("started", Results), ("result", TestResult). A pool
        that is given is used and left open: many submissions can share one.
        """
        edition = self.assignment.edition(options.edition)
        bound = self.tests(edition)
        wanted = select(bound, options.wanted)
        hidden = load_hidden(paths.HIDDEN)
        work = Path(tempfile.mkdtemp(prefix="grading-"))
        work.chmod(0o711)  # a test's own uid passes through to its scratch folder
        own = None
        if pool is None:
            pool = own = InProcessPool() if options.in_process else open_pool(seed)
        try:
            staged = stage(options.submission, work / "staged")
            self._add_recipes(staged)
            on_event("staged", staged)
            data = CourseData(self.assignment, options.data, options.answers if hidden else None)
            run = Run(self.assignment, staged, work, pool, hidden, data, seed)
            run.layers = options.layers
            run.deadline = time.monotonic() + options.deadline_s
            results = Results(edition, seed, [TestResult(t.spec, t.description) for t in bound])
            results.facts = {"submission": sorted(staged.taken), "left": staged.left}
            on_event("started", results)
            for test, result in zip(bound, results.tests, strict=True):
                result.asked = test in wanted
                if result.asked:
                    run.run_test(test, result)
                    on_event("result", result)
            return results
        finally:
            if own is not None:
                own.close()
            shutil.rmtree(work, ignore_errors=True)

    def _add_recipes(self, staged: Staged) -> None:
        """The recipes are ours, never the student's copy."""
        defaults = {name: dataset.recipe for name, dataset in self.assignment.datasets.items()}
        tables = {"recipes": self.assignment.recipes, "datasets": defaults}
        target = staged.root / "submission" / "recipes.json"
        target.write_text(json.dumps(tables), encoding="utf-8")
        target.chmod(0o644)


@dataclass
class Run:
    """One run's shared state; the `Laboratory` of its test cases."""

    assignment: Assignment
    staged: Staged
    work: Path
    pool: Pool
    hidden: ModuleType | None
    data: CourseData
    seed: int
    layers: sandbox.Layers = field(default_factory=sandbox.detect)
    deadline: float = 0.0
    _left_s: float = 0.0  # CPU seconds left to the test at hand
    _output: str = ""

    def __post_init__(self) -> None:
        self.uids = sandbox.UidPool(secrets.randbelow(sandbox.UIDS))

    def run_test(self, test: BoundTest, result: TestResult) -> None:
        """Run one test; whatever happens, it happens to this result only."""
        started = time.monotonic()
        if started > self.deadline:
            result.message = "not run: the whole run was out of time"
            return
        self._left_s, self._output = test.spec.timeout_s, ""
        try:
            test.method(test.case(test.spec, self, self.seed))
            result.outcome, result.message = Outcome.PASSED, ""
            result.score = test.spec.max_score
        except Verdict as verdict:
            result.outcome, result.message = verdict.outcome, verdict.message
            result.detail = verdict.detail
        except UsageError:
            raise
        except Exception:
            result.outcome = Outcome.GRADER_ERROR
            result.message = "the grader itself failed here; this is not your fault: tell staff"
            result.detail = traceback.format_exc()
        result.output = self._output
        result.wall_s = time.monotonic() - started

    def observe(self, spec: TestSpec, probe: str, role: str, args: dict, seed: int) -> Any:
        """Run one probe in one worker and return what it saw.

        Raises:
            Verdict: the submission's process ended badly or raised.
            GradingError: the reference's did.
        """
        root = self.staged.root if role == "submission" else paths.REFERENCE
        cpu_s = REFERENCE_CPU_S if role == "reference" else max(self._left_s, 0.1)
        limits = Limits.for_test(cpu_s, self.deadline - time.monotonic())
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=self.work))
        request = {"probe": probe, "args": args, "seed": seed, "submission": str(root)}
        confinement = self._confinement(role, scratch)
        finished = self.pool.run(Job(role, spec.torch, request, limits, scratch, confinement))
        shutil.rmtree(scratch, ignore_errors=True)
        if role == "reference":
            return _reference_value(finished.frame, finished.output)
        self._left_s -= finished.ending.cpu_s
        self._output += finished.output
        verdict = explain_ending(finished, limits)
        if verdict is not None:
            raise verdict
        return self._value(finished.frame, spec)

    def _confinement(self, role: str, scratch: Path) -> sandbox.Confinement:
        """The reference is ours and needs none; a student's worker gets all there is."""
        if role == "reference":
            return sandbox.Confinement()
        confinement = sandbox.for_worker(self.layers, self.uids, self.staged.root, scratch)
        if confinement.uid is not None:
            os.chown(scratch, confinement.uid, confinement.uid)
        return confinement

    def _value(self, frame: bytes, spec: TestSpec) -> Any:
        try:
            envelope = wire.decode(frame)
            if envelope["ok"] is True:
                return envelope["value"]
            error = envelope["error"]
        except (WireError, KeyError, TypeError) as problem:
            raise Verdict(
                Outcome.ERROR, "the submission's process answered something malformed", str(problem)
            ) from None
        raise explain_error(error, spec)


def _reference_value(frame: bytes | None, output: str) -> Any:
    """The reference's answer; anything but a value is the grader's own fault."""
    if frame is None:
        raise GradingError(f"the reference's worker did not answer: {output[-2000:]}")
    envelope = wire.decode(frame)
    if not envelope["ok"]:
        raise GradingError(f"the reference failed:\n{envelope['error']['traceback']}")
    return envelope["value"]


def select(bound: list[BoundTest], wanted: tuple[str, ...]) -> list[BoundTest]:
    """The tests that the words on the command line name: ids, or whole questions.

    Raises:
        UsageError: a word names nothing.
    """
    if not wanted:
        return bound
    chosen = []
    for word in wanted:
        found = [
            t
            for t in bound
            if word in (t.spec.test_id, t.spec.number) or _is_part(word, t.spec.number)
        ]
        if not found:
            known = sorted({t.spec.number for t in bound})
            raise UsageError(
                f"no test or question {word!r}; questions with tests are {', '.join(known)}; "
                "--list prints all tests"
            )
        chosen.extend(found)
    return [t for t in bound if t in chosen]


def _is_part(word: str, number: str) -> bool:
    """Whether `word` is the number of a part ("3") that question `number` ("3a") belongs to."""
    return word.isdigit() and number.rstrip("abcdefghijklmnopqrstuvwxyz-") == word


def load_hidden(path: Path) -> ModuleType | None:
    """The module that judges hidden tests, or None on a student's computer."""
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("hidden", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
