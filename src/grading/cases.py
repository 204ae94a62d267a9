"""What a test case is: `graded` methods that ask a probe and judge what was observed.

    class SpanCorruption(GradedTestCase):
        topic = "span_corruption"

        @graded()
        def test_shift(self):
            "y is x, one character further"
            drawn = self.probe("span_corruption.draw", SPEC, documents=[...], block_size=32)
            self.expect(ok, "y is not x shifted by one", got=..., expected=...)

        @graded(is_hidden=True)
        def test_share(self):
            "the span is a quarter of the text on average"
            self.judge(drawn=self.probe(...))     # solutions/hidden/: span_corruption_share

The arguments are graderUtil's: `timeout`, `is_hidden`, `is_extra_credit`, `after_published`. They
are optional: `assignment.toml` is authoritative, and arguments that disagree with it are errors.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import math
import re
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Protocol, Self, TypeVar

import numpy as np

from . import verdicts, wire
from .edition import Assignment, Edition, Question, TestSpec
from .errors import GradingError, UsageError, WireError, nearest
from .pool import Finished, Job, Pool
from .staging import Provided, Staged
from .verdicts import Outcome, TestEnd, Verdict, has_torch, malformed
from .worker import Limits

# Decoding 500 answers of a student's synthesizer with the largest recipe takes 75 to 100 seconds on
# a fast processor. A reference that reaches the limit is a grader error.
REFERENCE_CPU_S = 400.0
SHARED_CPU_S = 60.0  # of the submission's own processes, for work that several tests share
TO_CONFIRM = 3  # failures in used workers that fresh ones repeat, before others count directly
OUT_OF_TIME = "not run: the run as a whole ran out of time"
NO_TORCH = (
    "not run, because it needs torch, which this Python doesn't have: "
    "activate the assignment's environment"
)
NOT_GRADED = (
    "ran without crashing; it is graded when you submit (the answers are not on this computer)"
)
HINTS = ("question", "pointer", "formula")  # of a failure; each says more than the one before

Method = TypeVar("Method", bound=Callable[..., None])
Made = TypeVar("Made")


def graded(
    timeout: float | None = None,
    is_hidden: bool | None = None,
    is_extra_credit: bool | None = None,
    after_published: bool | None = None,
) -> Callable[[Method], Method]:
    """Mark a method as a test. Each argument, if given, must agree with assignment.toml."""
    claims = {
        "timeout_s": timeout,
        "is_hidden": is_hidden,
        "is_extra_credit": is_extra_credit,
        "after_published": after_published,
    }

    def mark(method: Method) -> Method:
        method.claims = claims  # type: ignore[attr-defined]
        return method

    return mark


class Judging(Protocol):
    """What judges hidden tests; only staff have one."""

    hidden: ModuleType  # the judges' package, of which a basic test may ask something
    answers: Path  # the folder of the answers

    def judge(self, name: str) -> Callable[..., None]:
        """Return the judge TOPIC_TEST."""

    def judged_by(self, assignment: Assignment, provided: Provided) -> str:
        """Return a hash of everything that decides a verdict."""

    def stage_reference(self, target: Path, provided: Provided) -> list[Path]:
        """Copy the reference to a new folder; return what student code must not read of it."""


@dataclass
class Run:
    """A staged submission, and what all its tests share."""

    assignment: Assignment
    edition: Edition
    judging: Judging | None
    data: Any  # what tests read besides the submission (`QuestionSet.open_data`)
    find_probe: Callable[[str], str]  # returns "module:function" for a probe's name
    staged: Staged
    work: Path
    pool: Pool
    seed: int
    deadline: float  # of `time.monotonic()`
    counts: bool = False  # whether the result counts, so that nothing may be missing
    code: Path | None = None  # from where the submission is imported, if not from its copy
    patience: int | None = None  # time-outs in a question before its other tests are skipped
    to_confirm: int = TO_CONFIRM  # failures in used workers that fresh ones have yet to repeat
    float_ranges: str = ""  # the first place that draws from a range with a float
    warnings: list[str] = field(default_factory=list)
    # What hung while it was imported, by module; how many tests timed out, by question.
    stuck: dict[str, verdicts.Stuck] = field(default_factory=dict)
    timed_out: Counter[str] = field(default_factory=Counter)
    # Results that several tests share, by name, each with the case that makes it.
    shared: dict[str, tuple[GradedTestCase, Future[Any]]] = field(default_factory=dict)


class GradedTestCase:
    """Base of the classes in questions/: a class for each topic, an instance for each attempt."""

    topic = ""
    # The model's, if the topic is about one; {variant} in a test's docstring stands for it.
    variant = ""
    # Names of tests that only read submitted files and run none of their code: the reference runs
    # with the parameters. (On a student's computer, which has no reference, some run code.)
    of_files: tuple[str, ...] = ()

    def __init__(
        self, run: Run, spec: TestSpec, stands_in: bool = False, fresh: bool = False
    ) -> None:
        self.run, self.spec = run, spec
        self._stands_in = stands_in  # whether the reference, without trained files, is asked
        self._fresh = fresh  # whether each probe gets a worker that has run nothing else
        self.staged = Staged(run.staged.root) if stands_in else run.staged
        self.seed = derive_seed(run.seed, f"{spec.topic}.{spec.name}")
        self.rng = np.random.default_rng(self.seed)
        self.used = False  # whether a worker of the submission had run other probes before
        self.output, self.notes = "", ""  # what it printed; what staff read if the test passes
        self.measured: dict[str, float] = {}  # numbers by name, for staff
        self.cpu_s = 0.0  # of the submission's processes, except for shared work
        self.peak_bytes = 0  # the most memory that one of them used, including libraries
        self._left_s = spec.timeout_s  # CPU seconds, over all of the test's probes
        self._probes: Counter[tuple[str, str]] = Counter()

    def probe(self, name: str, answer: Any, /, **args: Any) -> Any:
        """Run the probe TOPIC.FUNCTION on the submission; return what fits the schema `answer`.

        Raises:
            TestEnd: the submission crashed, ran out of a limit, or answered nonsense.
        """
        value = self._observe(name, "submission", args)
        try:
            wire.check(value, answer)
        except WireError as error:
            raise TestEnd(malformed(str(error))) from None
        return value

    def reference(self, name: str, answer: Any, /, **args: Any) -> Any:
        """Run a probe on the reference; only where hidden tests are judged."""
        value = self._observe(name, "reference", args)
        wire.check(value, answer)
        return value

    @property
    def graded_here(self) -> bool:
        """Whether hidden tests are judged here."""
        return self.run.judging is not None

    def judge(self, **observed: Any) -> None:
        """Let `solutions/hidden/` judge; without it, end the test as one that only ran."""
        if self.run.judging is None:
            self.not_graded(NOT_GRADED)
        self.run.judging.judge(f"{self.spec.topic}_{self.spec.name}")(self, **observed)

    def once(self, name: str, make: Callable[[Self], Made]) -> Made:
        """Return a result that several tests of a run share; the first that asks makes it.

        `make` gets a case with torch, whose seed depends only on the run and on `name`, so that the
        result is the same whichever test asks first. If it fails, it fails for all.
        """
        spec = replace(
            self.spec, topic="shared", name=name, kind="hidden", timeout_s=SHARED_CPU_S, torch=True
        )
        mine, future = type(self)(self.run, spec, self._stands_in, self._fresh), Future[Any]()
        if self._stands_in:  # nothing made from the submission
            return make(mine)
        key = f"{name}, fresh" if self._fresh else name
        maker, shared = self.run.shared.setdefault(key, (mine, future))  # tests run in threads
        if shared is future:
            try:
                future.set_result(make(mine))
            except BaseException as error:
                future.set_exception(error)
        try:
            return shared.result()
        finally:
            self.used = self.used or maker.used

    def note(self, text: str) -> None:
        """Add a note that staff read if the test passes."""
        self.notes += text

    def measure(self, name: str, value: float) -> None:
        """Store a finite number that staff compare within a class, such as an accuracy."""
        if math.isfinite(value):
            self.measured[name] = float(value)

    def not_graded(self, reason: str) -> NoReturn:
        """End the test as one that ran but was not judged."""
        raise TestEnd(Verdict(Outcome.RAN_NOT_GRADED, reason))

    def expect(self, condition: bool, sentence: str, *, id: str, **detail: Any) -> None:
        """Fail with `sentence` unless `condition` holds.

        Args:
            sentence: what is wrong, in the student's words. For a hidden test it is all that a
                student reads, so it is a fixed sentence without values.
            id: the name of this failure, which stays when its sentence is reworded.
            detail: got, expected, and cause and look_at if they are not "": shown below it for
                basic tests, with the question that hints.toml has for the id, and only to staff
                for hidden ones.
        """
        if not condition:
            self.fail(sentence, id=id, **detail)

    def fail(
        self,
        sentence: str,
        *,
        id: str,
        private: bool = False,
        cause: str = "",
        look_at: str = "",
        **detail: Any,
    ) -> NoReturn:
        """End the test as failed; see `expect`.

        Args:
            private: whether the details are for staff only, as for hidden tests.
        """
        is_private, staff = self.spec.is_hidden or private, ""
        question = "" if is_private else self.hints(id).get("question", "")
        advice = {"cause": cause, "question": question, "look at": look_at}
        detail |= {key: text for key, text in advice.items() if text}
        lines = [f"{key.replace('_', ' ')}: {value}" for key, value in detail.items()]
        if is_private:
            staff = "\n".join([*lines, f"seed: {self.seed}"])
        else:
            sentence = "\n".join([sentence, *(f"  {line}" for line in lines)])
        raise TestEnd(Verdict(Outcome.FAILED, sentence, staff, id=id, look_at=look_at))

    @classmethod
    def hints(cls, id: str) -> dict[str, str]:
        """Return the hints on a failure, by their kind: those of its topic, and those of its id."""
        file = Path(inspect.getfile(cls)).with_name("hints.toml")
        known = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        return known.get(cls.topic, {}) | known.get(id, {})

    def _observe(self, name: str, role: str, args: dict[str, Any]) -> Any:
        """Run a probe in a worker of a role, and return what it saw, unchecked.

        Raises:
            TestEnd: the submission's process ended badly or raised, or the reference's raised,
                which is doubtful: its inputs may contain a student's data.
            GradingError: the reference's process ended badly, or the worker failed before it
                reached any student code.
        """
        run, is_submission = self.run, role == "submission" and not self._stands_in
        if self.spec.torch and not has_torch():
            raise TestEnd(Verdict(Outcome.NOT_RUN, NO_TORCH, id="no-torch"))
        cpu_s = max(self._left_s, 0.1) if is_submission else REFERENCE_CPU_S
        limits = Limits.for_test(cpu_s, run.deadline - time.monotonic())
        root = run.staged.root if is_submission else run.staged.reference
        # The worker has its own seed: student code must not be able to predict what is drawn here.
        # So does each of a test's probes: otherwise a second one would repeat the first's draws.
        earlier = self._probes[role, name]
        self._probes[role, name] += 1
        request = {
            "probe": run.find_probe(name),
            "args": args,
            "seed": derive_seed(self.seed, f"worker {earlier}" if earlier else "worker"),
            "submission": str(root),
            "code": str((run.code if is_submission else None) or root),
            "stuck": [*run.stuck] if is_submission else [],
        }
        whose = "submission" if is_submission else "reference"
        job = Job(whose, self.spec.torch, request, limits, run.work, self._fresh)
        finished = run.pool.run(job)
        self.used = self.used or (finished.used and is_submission)
        # Also with an answer: it may have been written just before the deadline ended its process.
        cut = finished.frame is None or finished.ending.reason == "wall"
        if cut and time.monotonic() >= run.deadline:  # nobody's fault
            raise TestEnd(Verdict(Outcome.NOT_RUN, OUT_OF_TIME, id="run-out-of-time"))
        if not finished.ready:
            raise GradingError(f"a worker failed before it was ready: {finished.output[-2000:]}")
        if role == "submission":
            return self._value(finished, limits)
        if finished.frame is None:
            raise GradingError(f"the reference's worker did not answer: {finished.output[-2000:]}")
        envelope = wire.decode(finished.frame)
        if envelope["ok"]:
            return envelope["value"]
        problem = f"the reference failed:\n{envelope['error']['traceback']}"
        if verdicts.outcome_of(envelope["error"]) is Outcome.OUT_OF_MEMORY:
            raise GradingError(problem)  # ours, because its inputs' sizes are known
        raise TestEnd(malformed(problem, is_doubtful=True))

    def _value(self, finished: Finished, limits: Limits) -> Any:
        """Return the submission's answer; without one, raise TestEnd."""
        run, spec, ending = self.run, self.spec, finished.ending
        self._left_s -= ending.cpu_s - ending.import_s
        self.cpu_s += ending.cpu_s
        self.peak_bytes = max(self.peak_bytes, ending.memory_bytes)
        self.output += finished.output
        if finished.notes.stopped in run.stuck:
            raise TestEnd(verdicts.of_stuck(run.stuck[finished.notes.stopped], spec.is_hidden))
        stuck = verdicts.find_stuck(finished, limits, self.staged.taken, named=not spec.is_hidden)
        if stuck is not None and (not finished.used or not run.to_confirm):
            run.stuck[finished.notes.importing] = stuck  # no later test imports it again
        shown = Limits.for_test(spec.timeout_s)
        verdict = verdicts.of_ending(finished, shown, spec, self.staged, stuck)
        if verdict is not None:
            raise TestEnd(verdict)
        assert finished.frame is not None  # of_ending has a verdict where there is none
        try:
            envelope = wire.decode(finished.frame)
            if not isinstance(envelope, dict):
                raise WireError(f"the envelope is of type {type(envelope).__name__}")
            ok = envelope["ok"] is True
            value = envelope["value" if ok else "error"]
        except (WireError, KeyError) as problem:
            raise TestEnd(malformed(str(problem))) from None
        if not ok:
            raise TestEnd(verdicts.of_report(value, spec, self.staged, run.edition.name))
        if not run.float_ranges and not spec.is_hidden:  # those reveal no lines
            run.float_ranges = verdicts.float_ranges(envelope, self.staged.root)
        return value


Cases = Callable[[str, str], GradedTestCase]  # a test's case, by topic and name


class QuestionSet:
    """An assignment's questions, data and judges, which its description does not contain.

    It finds the topics' folders in a package, each with `tests*.py` and `probe.py`. A subclass adds
    what an assignment needs besides its tests: files that every submission gets, a data set.
    """

    package = "questions"  # with the topics' folders, next to `grading`
    provided = Provided()  # what every submission gets from the grader

    def cases(self) -> list[type[GradedTestCase]]:
        """Return the topics' classes of tests, in order; UsageError: a module can't be imported."""
        cases: list[type[GradedTestCase]] = []
        folder = Path(importlib.import_module(self.package).__file__ or "").parent
        for path in sorted(folder.glob("*/tests*.py")):
            try:
                module = importlib.import_module(f"{self.package}.{path.parent.name}.{path.stem}")
            except Exception as error:
                place = f"src/{self.package}/{path.parent.name}/{path.name}"
                raise UsageError(f"{place} can't be imported: {place_of(error)}") from error
            kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
            own = [kind for kind in kinds if kind.__module__ == module.__name__]
            cases += [kind for kind in own if issubclass(kind, GradedTestCase) and kind.topic]
        return cases

    def probe(self, name: str) -> str:
        """Return "module:function" for the name of a probe, "TOPIC.FUNCTION"."""
        topic, _, function = name.partition(".")
        return f"{self.package}.{topic}.probe:{function}"

    def required_files(self, edition: Edition) -> tuple[str, ...]:
        """Return the names of all files that a complete submission to an edition has."""
        return edition.required_files

    def prepare(self, assignment: Assignment, root: Path) -> None:
        """Add generated files to a staged submission, or to the reference."""

    def open_data(self, assignment: Assignment, data: Path, answers: Path | None) -> Any:
        """Return what tests read besides the submission, or None if that is nothing.

        Its method `require` raises a DataError unless everything is installed and readable.

        Args:
            data: the folder of the installed data set.
            answers: the folder of the answers, which only staff have, or None.
        """


def place_of(error: Exception) -> str:
    """Return one line on where and how importing one of our modules failed."""
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno}"
        return f"{place}: {type(error).__name__}: {error.msg}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}"


@dataclass(frozen=True)
class BoundTest:
    """A test of the edition, with the method that runs it."""

    spec: TestSpec
    case: type[GradedTestCase]
    method: Callable[[GradedTestCase], None]

    @property
    def of_files(self) -> bool:
        """Whether it runs none of the student's code."""
        return self.spec.name in self.case.of_files

    @property
    def description(self) -> str:
        """The first line of the method's docstring: what is checked."""
        first = (self.method.__doc__ or self.spec.name).strip().splitlines()[0].strip()
        first = first.replace("{variant}", self.case.variant)
        return first if first.endswith("..") else first.removesuffix(".")


def bind(questions: Sequence[Question], cases: list[type[GradedTestCase]]) -> list[BoundTest]:
    """Pair each test of some questions with its method; every disagreement is an error.

    Raises:
        UsageError: a test without a method, a method without a test, or a decorator's argument
            that disagrees with assignment.toml.
    """
    by_topic: dict[str, type[GradedTestCase]] = {}
    for case in cases:
        other = by_topic.setdefault(case.topic, case)
        if other is not case:
            raise UsageError(f"{_of(case)} and {_of(other)} both have the topic {case.topic!r}")
    bound = []
    for question in questions:
        bound += [_bound(spec, by_topic) for spec in question.tests]
        described = {spec.name for spec in question.tests}
        for case in (case for case in cases if case.topic == question.topic):
            for name in case.of_files:
                if name not in described:
                    raise UsageError(f"{_of(case)}.of_files names {name}, which is not a test")
            for name, method in vars(case).items():
                if hasattr(method, "claims") and name.removeprefix("test_") not in described:
                    raise UsageError(
                        f"{_of(case)}.{name} is not in assignment.toml, [topics.{case.topic}.tests]"
                    )
    return bound


def _bound(spec: TestSpec, by_topic: dict[str, type[GradedTestCase]]) -> BoundTest:
    case = by_topic.get(spec.topic)
    if case is None:
        raise UsageError(
            f"assignment.toml: [topics.{spec.topic}.tests]: no class in src/questions/ has the "
            f"topic {spec.topic!r}{nearest(spec.topic, by_topic)}"
        )
    method = getattr(case, f"test_{spec.name}", None)
    claims = getattr(method, "claims", None)
    if method is None or claims is None:
        raise UsageError(
            f"assignment.toml: [topics.{spec.topic}.tests] {spec.name}: {_of(case)} has no graded "
            f"method test_{spec.name} for it"
        )
    for key, claimed in claims.items():
        if claimed not in (None, getattr(spec, key)):
            raise UsageError(
                f"{_of(case)}.test_{spec.name} says {key} = {claimed}, "
                f"assignment.toml says {getattr(spec, key)}"
            )
    return BoundTest(spec, case, method)


def _of(case: type[GradedTestCase]) -> str:
    return f"{case.__module__}: {case.__name__}"  # questions.rope.tests: Rope


def select(bound: list[BoundTest], words: tuple[str, ...]) -> list[BoundTest]:
    """Return the tests that words name, all without words; UsageError: a word names none."""
    if not words:
        return bound
    chosen = []
    for word in words:
        matching = matching_tests(bound, word)
        if not matching:
            known = sorted({t.spec.number for t in bound})
            close = difflib.get_close_matches(word, [t.spec.test_id for t in bound], 1)
            meant = f"did you mean {close[0]!r}?" if close else ""
            advice = meant or f"questions with tests are {', '.join(known)}"
            raise UsageError(
                f"no test or question {word!r}; {advice}; src/grader.py --list prints all tests"
            )
        chosen.extend(matching)
    return [t for t in bound if t in chosen]


def matching_tests(bound: list[BoundTest], word: str) -> list[BoundTest]:
    """Return the tests that a word names: as `in_scope`, in another spelling, or without a kind."""
    plain = re.sub(r"[()]", "", word).lower()  # 1E, 1(e)
    ids = [(test, test.spec.test_id) for test in bound]
    return [t for t, id in ids if in_scope(plain, id) or id.rpartition("-")[0] == plain]


def in_scope(word: str, test_id: str) -> bool:
    """Return whether a word names a test: by its id, its question's number or its part's."""
    number = test_id.rsplit("-", 2)[0]  # "3a", whose part is "3"
    part = number.rstrip("abcdefghijklmnopqrstuvwxyz-")
    return word in (test_id, number) or (word.isdigit() and word == part)


def derive_seed(seed: int, name: str) -> int:
    """Derive a test's own seed, which is the same whatever else runs, and in whatever order."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
