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
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, Protocol, Self, TypeVar, cast

import numpy as np

from . import wire
from .attempt import Attempt
from .edition import Assignment, Edition, TestSpec
from .errors import UsageError, WireError, nearest
from .staging import Provided
from .verdicts import Outcome, TestEnd, Verdict, malformed

NOT_GRADED = (
    "ran without crashing; it is graded when you submit (the answers are not on this computer)"
)

Method = TypeVar("Method", bound=Callable[..., None])
Made = TypeVar("Made")


class _Marked(Protocol):
    """A method that `graded` has marked."""

    claims: dict[str, Any]


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
        cast(_Marked, method).claims = {
            key: value for key, value in claims.items() if value is not None
        }
        return method

    return mark


class GradedTestCase:
    """Base of the classes in questions/: one class per topic, one instance per test."""

    topic = ""
    # The model's, if the topic is about one; {variant} in a test's docstring stands for it.
    variant = ""
    # Names of tests that only read submitted files and run none of their code: the reference runs
    # with the parameters. (On a student's computer, which has no reference, some run code.)
    of_files: tuple[str, ...] = ()

    def __init__(self, spec: TestSpec, attempt: Attempt, seed: int) -> None:
        self.spec = spec
        self.attempt = attempt
        self.seed = derive_seed(seed, f"{spec.topic}.{spec.name}")
        self.rng = np.random.default_rng(self.seed)
        self._runs: Counter[tuple[str, str]] = Counter()

    def probe(self, name: str, answer: Any, /, **args: Any) -> Any:
        """Run a probe on the submission and return its answer, checked against a schema.

        Raises:
            TestEnd: the submission crashed, ran out of a limit, or answered nonsense.
        """
        return self._observe("submission", name, answer, args)

    def reference(self, name: str, answer: Any, /, **args: Any) -> Any:
        """Run the same probe on the reference; only `solutions/hidden/` uses this."""
        return self._observe("reference", name, answer, args)

    @property
    def graded_here(self) -> bool:
        """Whether hidden tests can be judged here."""
        return self.attempt.judging is not None

    def judge(self, **observed: Any) -> None:
        """Let `solutions/hidden/` judge; without it, end the test as one that only ran."""
        if self.attempt.judging is None:
            self.not_graded(NOT_GRADED)
        self.attempt.judging.judge(f"{self.spec.topic}_{self.spec.name}")(self, **observed)

    def once(self, name: str, make: Callable[[Self], Made]) -> Made:
        """Return a result that several tests of a run share; the first one that asks makes it.

        `make` gets a case whose seed depends only on the run and on `name`, so that the result is
        the same whichever test asks first.
        """

        def apart(attempt: Attempt) -> Made:
            spec = replace(self.spec, topic="shared", name=name, kind="hidden")
            return make(type(self)(spec, attempt, attempt.seed))

        return self.attempt.once(name, apart)

    def finding(self, about: Any, code: tuple[str, ...], find: Callable[[], Any]) -> Any:
        """Return what `find` returns, plain data; when a class is graded, it is called only once.

        Args:
            about: everything on which it depends besides `code`, the data set and the machine.
            code: names of the modules that find it, which also stand for what they import.
        """
        return self.attempt.finding(about, code, find)

    def note(self, text: str) -> None:
        """Add a note that staff read if the test passes."""
        self.attempt.notes += text

    def measure(self, name: str, value: float) -> None:
        """Store a number that staff compare within a class, such as an accuracy or a mean."""
        self.attempt.measure(name, value)

    def not_graded(self, reason: str) -> NoReturn:
        """End the test as one that ran but was not judged."""
        raise TestEnd(Verdict(Outcome.RAN_NOT_GRADED, reason))

    def expect(self, condition: bool, sentence: str, *, id: str, **detail: Any) -> None:
        """Fail with `sentence` unless `condition` holds.

        Args:
            sentence: what is wrong, in the student's words. For a hidden test it is all that a
                student reads, so it is a fixed sentence without values.
            id: the name of this failure, which stays when its sentence is reworded.
            detail: got, expected, cause, look_at: shown below it for basic tests, and only to
                staff for hidden ones.
        """
        if not condition:
            self.fail(sentence, id=id, **detail)

    def fail(
        self,
        sentence: str,
        *,
        id: str,
        credit: Fraction = Fraction(0),
        private: bool = False,
        **detail: Any,
    ) -> NoReturn:
        """End the test as failed; see `expect`.

        Args:
            credit: the share of points that is still earned.
            private: whether the details are for staff only, as for hidden tests.
        """
        lines = [f"{key.replace('_', ' ')}: {value}" for key, value in detail.items()]
        staff = ""
        if self.spec.is_hidden or private:
            staff = "\n".join([*lines, f"seed: {self.seed}"])
        else:
            sentence = "\n".join([sentence, *(f"  {line}" for line in lines)])
        look_at = detail.get("look_at", "")
        raise TestEnd(Verdict(Outcome.FAILED, sentence, staff, credit, id, look_at=look_at))

    def _observe(self, role: str, name: str, answer: Any, args: dict[str, Any]) -> Any:
        # The worker has its own seed: student code must not be able to predict what is drawn here.
        # So does each run: with the same seed, a second run of draws would repeat the first.
        run = self._runs[role, name]
        self._runs[role, name] += 1
        seed = derive_seed(self.seed, f"worker {run}" if run else "worker")
        value = self.attempt.observe(name, role, args, seed)
        try:
            wire.check(value, answer)
        except WireError as error:
            if role == "reference":
                raise
            raise TestEnd(malformed(str(error))) from None
        return value


@dataclass(frozen=True)
class Answer:
    """A function's answer to its arguments. Nothing about `parts` has been checked yet."""

    module: str  # "building_blocks.py"
    function: str
    arguments: list[Any]
    form: str  # "float64[8]", for messages
    parts: list[Any]

    @property
    def subject(self) -> str:
        """The function's name in the id of a failure."""
        return self.function.replace("_", "-")

    @property
    def look_at(self) -> str:
        return f"{self.function} in submission/{self.module}"


class FunctionCase(GradedTestCase):
    """Calls functions of a student's module with a test's arguments.

    Attributes:
        part: the spec of a part of an answer.
    """

    part: Any

    def call(
        self,
        probe: str,
        module: str,
        function: str,
        arguments: list[list[Any]],
        parts: int,
        **more: type,
    ) -> tuple[list[Answer], dict[str, list]]:
        """Return the function's answers, one for each list of arguments, from one worker.

        Args:
            parts: the number of arrays, numbers or the like in an answer.
            more: the types of further values that the probe sends for each answer.

        Returns:
            the answers, and everything that the probe sent.
        """
        consists = wire.Where([self.part], lambda answer: len(answer) == parts, f"{parts} parts")
        columns = {"forms": str, "answers": consists, **more}
        spec = wire.table(columns, rows=len(arguments))
        got = self.probe(probe, spec, function=function, arguments=arguments, parts=parts)
        answers = zip(arguments, got["forms"], got["answers"], strict=True)
        return [Answer(module, function, *answer) for answer in answers], got


Cases = Callable[[str, str], GradedTestCase]  # a test's case, by topic and name


class Data(Protocol):
    """A data set that tests read."""

    def require(self) -> None:
        """Check that everything the tests need is installed, for a run whose score counts.

        Raises:
            DataError: a file is missing or can't be read.
        """


class NoData:
    """The data set of an assignment that has none."""

    def require(self) -> None:
        """Accept: nothing can be missing."""


class QuestionSet:
    """An assignment's questions, data and judges, which its description does not contain.

    It finds the topics' folders in a package, each with `tests*.py` and `probe.py`. A subclass adds
    what an assignment needs besides its tests: files that every submission gets, a data set.

    Attributes:
        package: the name of the package with the folders, next to `grading`.
        provided: what every submission gets from the grader.
        seeded_probes: probes that judges run on the reference without any data of a student:
            only with what was drawn from the seed, for shapes that the assignment allows. Their
            answers are remembered while a class is graded.
    """

    package = "questions"
    provided = Provided()
    seeded_probes: frozenset[str] = frozenset()

    def cases(self) -> list[type[GradedTestCase]]:
        """Return the classes of tests of all topics.

        Raises:
            UsageError: one of their modules can't be imported.
        """
        return [case for module in self._modules() for case in _cases_of(module)]

    def probe(self, name: str) -> str:
        """Return "module:function" for the name of a probe, "TOPIC.FUNCTION"."""
        topic, _, function = name.partition(".")
        return f"{self.package}.{topic}.probe:{function}"

    def required_files(self, edition: Edition) -> tuple[str, ...]:
        """Return the names of all files that a complete submission to an edition has."""
        return edition.required_files

    def prepare(self, assignment: Assignment, root: Path) -> None:
        """Add generated files to a staged submission, or to the reference."""

    def open_data(self, assignment: Assignment, data: Path, answers: Path | None) -> Data:
        """Return what tests read besides the submission.

        Args:
            data: the folder of the installed data set.
            answers: the folder of the answers, which only staff have, or None.
        """
        return NoData()

    def _modules(self) -> Iterator[ModuleType]:
        package = importlib.import_module(self.package)
        folder = Path(package.__file__ or "").parent
        for path in sorted(folder.glob("*/tests*.py")):
            try:
                yield importlib.import_module(f"{self.package}.{path.parent.name}.{path.stem}")
            except Exception as error:
                place = f"src/{self.package}/{path.parent.name}/{path.name}"
                raise UsageError(f"{place} can't be imported: {place_of(error)}") from error


def _cases_of(module: ModuleType) -> list[type[GradedTestCase]]:
    """Return the classes that a module itself defines and that name a topic, in order."""
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    return [kind for kind in own if issubclass(kind, GradedTestCase) and kind.topic]


def place_of(error: Exception) -> str:
    """Return one line on where and how importing one of our modules failed."""
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno}"
        return f"{place}: {type(error).__name__}: {error.msg}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}"


@dataclass(frozen=True)
class BoundTest:
    """A test of the edition with the method that runs it."""

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


def bind(specs: tuple[TestSpec, ...], cases: list[type[GradedTestCase]]) -> list[BoundTest]:
    """Pair each test of an edition with its method; every disagreement is an error.

    Raises:
        UsageError: a test without a method, a method without a test, or a decorator's argument
            that disagrees with assignment.toml.
    """
    by_topic: dict[str, type[GradedTestCase]] = {}
    for case in cases:
        other = by_topic.setdefault(case.topic, case)
        if other is not case:
            raise UsageError(f"{_of(case)} and {_of(other)} both have the topic {case.topic!r}")
    bound = [BoundTest(spec, *_method(spec, by_topic)) for spec in specs]
    described = {(spec.topic, spec.name) for spec in specs}
    topics = {spec.topic for spec in specs}
    for topic in sorted(topics):
        for name in set(by_topic[topic].of_files) - {n for t, n in described if t == topic}:
            raise UsageError(f"{_of(by_topic[topic])}.of_files names {name}, which is not a test")
        for name, method in vars(by_topic[topic]).items():
            if hasattr(method, "claims") and (topic, name.removeprefix("test_")) not in described:
                raise UsageError(
                    f"{_of(by_topic[topic])}.{name} is not in assignment.toml, "
                    f"[topics.{topic}.tests]"
                )
    return bound


def _method(
    spec: TestSpec, by_topic: dict[str, type[GradedTestCase]]
) -> tuple[type[GradedTestCase], Callable[[GradedTestCase], None]]:
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
        if getattr(spec, key) != claimed:
            raise UsageError(
                f"{_of(case)}.test_{spec.name} says {key} = {claimed}, "
                f"assignment.toml says {getattr(spec, key)}"
            )
    return case, method


def _of(case: type[GradedTestCase]) -> str:
    """Name a class with its module, for messages: "questions.rope.tests: Rope"."""
    return f"{case.__module__}: {case.__name__}"


def select(bound: list[BoundTest], words: tuple[str, ...]) -> list[BoundTest]:
    """Return the tests that the words on the command line name: test ids or whole questions.

    Raises:
        UsageError: a word names no test or question.
    """
    if not words:
        return bound
    chosen = []
    for word in words:
        matching = [t for t in bound if in_scope(word, t.spec.test_id)]
        matching = matching or [t for t in bound if _is_meant(word, t.spec.test_id)]
        if not matching:
            known = sorted({t.spec.number for t in bound})
            close = difflib.get_close_matches(word, [t.spec.test_id for t in bound], 1)
            meant = f"did you mean {close[0]!r}?" if close else ""
            advice = meant or f"questions with tests are {', '.join(known)}"
            raise UsageError(f"no test or question {word!r}; {advice}; --list prints all tests")
        chosen.extend(matching)
    return [t for t in bound if t in chosen]


def in_scope(word: str, test_id: str) -> bool:
    """Return whether a word names a test: by its id, its question's number or its part's."""
    number = test_id.rsplit("-", 2)[0]
    return word in (test_id, number) or _is_part(word, number)


def _is_meant(word: str, test_id: str) -> bool:
    """Return whether a word means a test in another spelling: 1E, 1(e), 1e-0."""
    word = re.sub(r"[()]", "", word).lower()
    return in_scope(word, test_id) or test_id.rpartition("-")[0] == word


def _is_part(word: str, number: str) -> bool:
    """Return whether `word` is the number of the part ("3") of question `number` ("3a")."""
    return word.isdigit() and number.rstrip("abcdefghijklmnopqrstuvwxyz-") == word


def derive_seed(seed: int, name: str) -> int:
    """Derive a test's own seed, which is the same whatever else runs, and in whatever order."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
