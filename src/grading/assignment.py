"""Reads `assignment.toml`: editions, questions, points, tests, data sets, recipes.

Every mistake in the file is one line that names the table and the key. Points are exact: they are
counted in hundredths, and a question's tests share its points by weight without a remainder.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from .errors import UsageError

KINDS = ("basic", "hidden")
VISIBILITIES = ("visible", "after_due_date", "after_published")


@dataclass(frozen=True)
class TestSpec:
    """One test as `assignment.toml` describes it, placed in an edition."""

    __test__ = False  # pytest: this is no test case

    test_id: str  # "1e-0-basic"
    number: str  # "1e"
    topic: str  # "span_corruption"
    name: str  # "arrangement": the method test_arrangement
    kind: str  # "basic" or "hidden"
    max_score: Decimal  # its share of the question's points, a multiple of 0.01
    timeout_s: float  # CPU seconds of a worker
    torch: bool  # whether its worker needs torch
    is_extra_credit: bool
    after_published: bool

    @property
    def is_hidden(self) -> bool:
        return self.kind == "hidden"


@dataclass(frozen=True)
class Question:
    """A topic with its number and points in an edition; `written_parts` sum to `written`."""

    number: str
    topic: str
    title: str
    part: str
    coding: Decimal
    written: Decimal
    written_parts: tuple[Decimal, ...]
    is_extra_credit: bool
    tests: tuple[TestSpec, ...]


@dataclass(frozen=True)
class Gradescope:
    """What an edition's students see on Gradescope, and when.

    Attributes:
        hidden_tests: when hidden tests' points show: one of VISIBILITIES.
        hidden_feedback_a_day: submissions in 24 hours whose hidden tests run; 0 is any number.
        leaderboard: whether accuracies on dev and the numbers of parameters are ranked.
    """

    hidden_tests: str
    hidden_feedback_a_day: int
    leaderboard: bool


@dataclass(frozen=True)
class Edition:
    """A numbering of the topics, and the files that a submission must hold."""

    name: str
    title: str
    questions: tuple[Question, ...]
    required_files: tuple[str, ...]
    gradescope: Gradescope

    @property
    def tests(self) -> tuple[TestSpec, ...]:
        return tuple(test for question in self.questions for test in question.tests)


@dataclass(frozen=True)
class DataSet:
    """A data set's thresholds and the recipe they were calibrated for.

    Attributes:
        thresholds: the share of right lines that each variant has to reach.
        evidence: what pretrained parameters have to show: `p`, `cosine`, and `loss`, by variant
            (staff's module `evidence` defines them).
    """

    name: str
    title: str
    thresholds: dict[str, float]
    recipe: str
    evidence: dict[str, Any]


@dataclass(frozen=True)
class Assignment:
    """The whole description."""

    title: str
    default_edition: str
    default_dataset: str
    gradescope_python: str  # "3.12": what setup.sh installs there
    parts: dict[str, str]  # titles of the sheet's sections
    editions: dict[str, Edition]
    datasets: dict[str, DataSet]
    recipes: dict[str, dict[str, Any]]

    def edition(self, name: str | None) -> Edition:
        """The edition of that name, or the default one."""
        name = name or self.default_edition
        if name not in self.editions:
            known = ", ".join(sorted(self.editions))
            raise UsageError(f"no edition {name!r} in assignment.toml; there are: {known}")
        return self.editions[name]


def load_assignment(path: Path) -> Assignment:
    """Read and check the description.

    Raises:
        UsageError: the file is missing, is no TOML, or says something impossible.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is missing: the grader reads points and tests from it") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name} is no TOML: {error}") from None
    table = _Table(raw, path.name)
    head = table.table("assignment")
    topics = table.table("topics")
    editions = table.table("editions")
    parts = table.table("parts")
    assignment = Assignment(
        title=head.get("title", str),
        default_edition=head.get("default_edition", str),
        default_dataset=head.get("default_dataset", str),
        gradescope_python=_version(head),
        parts={name: parts.get(name, str) for name in parts.raw},
        editions={name: _edition(name, editions.table(name), topics) for name in editions.raw},
        datasets=_datasets(table.table("datasets")),
        recipes=table.table("recipes").raw,
    )
    head.refuse_unknown()
    for name in topics.raw:
        if (part := topics.table(name).get("part", str)) not in assignment.parts:
            raise UsageError(f"{topics.name} {name}: part = {part!r} is no key of [parts]")
    if assignment.default_edition not in assignment.editions:
        raise UsageError(f"{path.name}: default_edition is no [editions.*] table")
    return assignment


def _version(head: _Table) -> str:
    version = head.get("gradescope_python", str)
    if not re.fullmatch(r"3\.[1-9][0-9]?", version):
        raise UsageError(
            f'{head.name}: gradescope_python = {version!r} should be a version like "3.12"'
        )
    return version


class _Table:
    """A TOML table that knows its name, hands out checked values, and refuses unknown keys."""

    def __init__(self, raw: dict[str, Any], name: str) -> None:
        self.raw, self.name, self._seen = raw, name, set()

    def get(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        self._seen.add(key)
        if key not in self.raw:
            if default is ...:
                raise UsageError(f"{self.name}: {key!r} is missing")
            return default
        value = self.raw[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if type(value) not in kinds:
            words = " or ".join(k.__name__ for k in kinds)
            raise UsageError(f"{self.name}: {key} = {value!r} should be a {words}")
        return value

    def table(self, key: str) -> _Table:
        return _Table(self.get(key, dict), f"{self.name}: [{key}]")

    def refuse_unknown(self) -> None:
        unknown = sorted(set(self.raw) - self._seen)
        if unknown:
            raise UsageError(f"{self.name}: unknown key {unknown[0]!r}")


def _datasets(table: _Table) -> dict[str, DataSet]:
    datasets = {}
    for name in table.raw:
        entry = table.table(name)
        thresholds = entry.get("thresholds", dict)
        if not all(type(v) is float and 0 < v < 1 for v in thresholds.values()):
            raise UsageError(f"{entry.name}: thresholds are shares between 0 and 1")
        title, recipe = entry.get("title", str), entry.get("recipe", str)
        evidence = _evidence(entry.table("evidence"), thresholds)
        datasets[name] = DataSet(name, title, thresholds, recipe, evidence)
    return datasets


def _evidence(table: _Table, variants: Iterable[str]) -> dict[str, Any]:
    limits = {key: table.get(key, float) for key in ("p", "cosine")}
    losses = table.get("loss", dict)
    table.refuse_unknown()
    if not all(0 < limit < 1 for limit in limits.values()):
        raise UsageError(f"{table.name}: p and cosine lie between 0 and 1")
    if set(losses) != set(variants) or not all(type(v) is float and v > 0 for v in losses.values()):
        words = ", ".join(sorted(variants))
        raise UsageError(f"{table.name}: loss is a decimal above 0 for each of {words}")
    return {**limits, "loss": losses}


def _edition(name: str, table: _Table, topics: _Table) -> Edition:
    questions = []
    for raw in table.get("questions", list):
        entry = _Table(raw, f"{table.name} question {raw.get('number', '?')}")
        questions.append(_question(entry, topics))
    numbers = [q.number for q in questions]
    for number in numbers:
        if numbers.count(number) > 1:
            raise UsageError(f"{table.name}: two questions are numbered {number}")
    edition = Edition(
        name,
        table.get("title", str),
        tuple(questions),
        tuple(table.get("required_files", list)),
        _gradescope(table.table("gradescope")),
    )
    table.refuse_unknown()
    return edition


def _gradescope(table: _Table) -> Gradescope:
    shown = table.get("hidden_tests", str)
    if shown not in VISIBILITIES:
        words = ", ".join(VISIBILITIES)
        raise UsageError(f"{table.name}: hidden_tests = {shown!r} should be one of {words}")
    a_day = table.get("hidden_feedback_a_day", int, 0)
    if a_day < 0:
        raise UsageError(f"{table.name}: hidden_feedback_a_day = {a_day} should not be negative")
    gradescope = Gradescope(shown, a_day, table.get("leaderboard", bool, False))
    table.refuse_unknown()
    return gradescope


def _question(entry: _Table, topics: _Table) -> Question:
    number, topic_name = entry.get("number", str), entry.get("topic", str)
    topic = topics.table(topic_name)
    coding = _points(entry, "coding", entry.get("coding", (int, float), 0))
    written = entry.get("written", (int, float, list), 0)
    parts = tuple(_points(entry, "written", value) for value in _listed(written))
    extra = entry.get("extra_credit", bool, False)
    entry.refuse_unknown()
    tests = _tests(number, topic_name, topic, coding, extra)
    if coding and not tests:
        raise UsageError(f"{entry.name}: {coding} coding points, but the topic has no tests")
    title, part = topic.get("title", str), topic.get("part", str)
    total = sum(parts, Decimal(0))
    return Question(number, topic_name, title, part, coding, total, parts, extra, tests)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _points(entry: _Table, key: str, raw: Any) -> Decimal:
    value = Decimal(str(raw)) if type(raw) in (int, float) else Decimal(-1)
    if value < 0 or value != value.quantize(Decimal("0.01")):
        raise UsageError(f"{entry.name}: {key} = {raw} should be >= 0 with at most two decimals")
    return value


def _tests(
    number: str, topic_name: str, topic: _Table, coding: Decimal, extra: bool
) -> tuple[TestSpec, ...]:
    raw_tests = topic.get("tests", dict, {})
    table = _Table(raw_tests, f"{topic.name} tests")
    entries = {name: table.table(name) for name in raw_tests}
    weights = {name: entry.get("weight", int, 1) for name, entry in entries.items()}
    kinds = {name: entry.get("kind", str) for name, entry in entries.items()}
    shares = share_points(coding, list(weights.values()))
    specs = []
    for index, (name, entry) in enumerate(entries.items()):
        if kinds[name] not in KINDS:
            raise UsageError(f"{entry.name}: kind = {kinds[name]!r} should be basic or hidden")
        specs.append(
            TestSpec(
                test_id=f"{number}-{index}-{kinds[name]}",
                number=number,
                topic=topic_name,
                name=name,
                kind=kinds[name],
                max_score=shares[index],
                timeout_s=float(entry.get("timeout_s", (int, float), 20)),
                torch=entry.get("torch", bool, True),
                is_extra_credit=extra,
                after_published=entry.get("after_published", bool, False),
            )
        )
        entry.refuse_unknown()
    basic = sum(spec.max_score for spec in specs if spec.kind == "basic")
    if basic * 3 > coding:
        raise UsageError(
            f"{topic.name}: basic tests carry {basic} of {coding} points, more than a third"
        )
    return tuple(specs)


def share_points(points: Decimal, weights: list[int]) -> list[Decimal]:
    """Split points by weight into hundredths that sum to `points` exactly.

    Each share is rounded down; the hundredths left over go to the largest remainders, later tests
    first among equals (basic tests come first, and must not creep over their third).
    """
    if any(weight < 0 for weight in weights):
        raise UsageError(f"assignment.toml: negative weight among {weights}")
    total = sum(weights)
    if not points or not total:
        return [Decimal("0.00")] * len(weights)
    hundredths = int(points * 100)
    shares = [hundredths * weight // total for weight in weights]
    by_remainder = sorted(
        range(len(weights)), key=lambda i: (hundredths * weights[i] % total, i), reverse=True
    )
    for index in by_remainder[: hundredths - sum(shares)]:
        shares[index] += 1
    return [Decimal(share) / 100 for share in shares]
