"""Reads `assignment.toml`: editions, questions, points, tests, data sets, recipes.

Every mistake in the file is reported in one line that names the table and the key. Points are
exact: they are counted in hundredths, and a question's tests share its points by weight, without a
remainder.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from .editions import (
    EditionTable,
    Gradescope,
    Points,
    QuestionTable,
    ResolvedEdition,
    TestTable,
    TopicTable,
    resolved,
)
from .errors import UsageError
from .recipes import DataSet, Recipe, Recipes, Variant, shipped
from .toml_tables import Count, NaturalNumber, Rule, Where, nearest, read

EDITION_FILE = "edition.txt"  # next to assignment.toml: the name of a different default edition
OUTPUTS = (".params", ".predictions")
Version = Annotated[
    str, Rule('a version like "3.12"', lambda text: re.fullmatch(r"3\.[1-9][0-9]?", text))
]


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
    is_practice: bool
    required_files: tuple[str, ...]
    tests: tuple[TestSpec, ...]
    hours: float  # of a student's work, estimated


@dataclass(frozen=True)
class Edition:
    """A numbering of the topics, and the files that a submission must contain.

    Attributes:
        course: the name of the course, or "".
    """

    name: str
    title: str
    course: str
    questions: tuple[Question, ...]
    gradescope: Gradescope

    @property
    def tests(self) -> tuple[TestSpec, ...]:
        return tuple(test for question in self.questions for test in question.tests)

    @property
    def required_files(self) -> tuple[str, ...]:
        return tuple(name for question in self.questions for name in question.required_files)

    @property
    def coding(self) -> Decimal:
        """The points of all coding questions."""
        return sum((question.coding for question in self.questions), Decimal(0))


@dataclass(frozen=True)
class Assignment:
    """The whole description.

    Attributes:
        gradescope_python: "3.12": the Python that setup.sh installs there.
        practice: the part whose questions have no points unless an edition gives them some.
        parts: titles of the sheet's sections.
        times: minutes that the commands of a topic take, by recipe and topic: with avx512_bf16
            and with AVX2 only (0: not measured), or one number if they were not distinguished.
    """

    title: str
    default_edition: str
    default_dataset: str
    gradescope_python: str
    practice: str
    parts: dict[str, str]
    editions: dict[str, Edition]
    datasets: dict[str, DataSet]
    variants: dict[str, Variant]
    recipes: Recipes
    times: dict[str, dict[str, int | tuple[int, int]]]

    def edition(self, name: str | None) -> Edition:
        """Return the edition of that name, or the default one for None."""
        name = self.default_edition if name is None else name
        if name not in self.editions:
            known = ", ".join(sorted(self.editions))
            raise UsageError(f"no edition {name!r} in assignment.toml; there are: {known}")
        return self.editions[name]

    def shipped_recipes(self) -> dict[str, Any]:
        """Return the content of recipes.json; see `recipes.shipped`."""
        return shipped(self.recipes, self.variants, self.datasets)


@dataclass(frozen=True)
class _Head:
    """The table [assignment]."""

    title: str
    default_edition: str
    gradescope_python: Version
    default_dataset: str = ""
    practice: str = ""


@dataclass(frozen=True)
class _File:
    """The tables of the file; what belongs to trainings may be left out."""

    assignment: _Head
    parts: dict[str, str]
    topics: dict[str, TopicTable]
    editions: dict[str, EditionTable]
    datasets: dict[str, DataSet] = field(default_factory=dict)
    variants: dict[str, Variant] = field(default_factory=dict)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    times: dict[str, dict[str, Count | tuple[Count, NaturalNumber]]] = field(default_factory=dict)


def load_assignment(root: Path) -> Assignment:
    """Read and check the description in a folder.

    Raises:
        UsageError: the file is missing, is not TOML, or contains something impossible.
    """
    path = root / "assignment.toml"
    if not path.exists():
        raise UsageError(f"{path} is missing; the grader needs it for points and tests")
    file = read(path, _File)
    where = Where(path.name)
    _check_references(file, where)
    head = file.assignment
    described = resolved(file.editions, file.topics, head.practice, where.of("editions"))
    editions = {table.name: _edition(table, file, where) for table in described}
    return Assignment(
        title=head.title,
        default_edition=_default_edition(path, head.default_edition, editions),
        default_dataset=head.default_dataset,
        gradescope_python=head.gradescope_python,
        practice=head.practice,
        parts=file.parts,
        editions=editions,
        datasets=file.datasets,
        variants=file.variants,
        recipes=Recipes(file.recipes, file.variants, path.name),
        times=file.times,
    )


def _default_edition(path: Path, usual: str, editions: Collection[str]) -> str:
    """Return the name in edition.txt, or `usual` if there is no such file.

    Students' copies have the file, which names their edition.
    """
    chosen = path.with_name(EDITION_FILE)
    try:
        name = chosen.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return usual
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{EDITION_FILE} can't be read: {error}") from None
    if name not in editions:
        raise UsageError(f"{EDITION_FILE}: there is no edition {name!r}{nearest(name, editions)}")
    return name


def _check_references(file: _File, root: Where) -> None:
    """Refuse a reference in the file to something that does not exist.

    Raises:
        UsageError: a table names another one that does not exist.
    """
    head = root.of("assignment")
    head.check("default_edition", file.assignment.default_edition, file.editions, "edition")
    if file.datasets or file.assignment.default_dataset:
        head.check("default_dataset", file.assignment.default_dataset, file.datasets, "data set")
    if file.assignment.practice:
        head.check("practice", file.assignment.practice, file.parts, "part")
    _check_topics(file, root.of("topics"))
    for name, variant in file.variants.items():
        where = root.of("variants").of(name)
        where.check("topic", variant.topic, file.topics, "topic")
    for name, dataset in file.datasets.items():
        _check_dataset(dataset, file, root.of("datasets").of(name))
    for name, recipe in file.recipes.items():
        for other in recipe.also_for:
            where = root.of("recipes").of(name)
            where.check("also_for", other, file.datasets, "data set")
    for name, minutes in file.times.items():
        root.of("times").check("", name, file.recipes, "recipe")
        for topic in minutes:
            root.of("times").of(name).check("", topic, file.topics, "topic")


def _check_topics(file: _File, where: Where) -> None:
    whole = [name for name, topic in file.topics.items() if topic.part and topic.title]
    for name, topic in file.topics.items():
        if not topic.part and not topic.title:  # the name may be misspelt
            raise where.of(name).fault(f"'part' and 'title' are missing{nearest(name, whole)}")
        for key in ("part", "title"):
            if not getattr(topic, key):
                raise where.of(name).fault(f"{key!r} is missing")
        where.of(name).check("part", topic.part, file.parts, "part")
        for required in topic.required_files:
            _check_output(required, file.variants, where.of(name))


def _check_output(name: str, variants: Collection[str], where: Where) -> None:
    """Refuse a required file that the grader would never accept."""
    if not name.endswith(OUTPUTS) or not re.fullmatch(r"[\w.-]+", name):
        raise where.fault(
            f"required_files has {name!r}, which should be a name that ends in "
            + " or ".join(OUTPUTS)
        )
    variant = name.split(".")[0]
    if variants and variant not in variants:
        raise where.fault(
            f"required_files has {name!r}, but there is no variant {variant!r}"
            + nearest(variant, variants)
        )


def _check_dataset(dataset: DataSet, file: _File, where: Where) -> None:
    where.check("recipe", dataset.recipe, file.recipes, "recipe")
    limits = {"thresholds": dataset.thresholds, "evidence.loss": dataset.evidence.loss}
    for place, values in limits.items():
        for variant in values:
            where.of(place).check("", variant, file.variants, "variant")
        for variant in file.variants:
            if variant not in values:
                raise where.of(place).fault(f"{variant!r} is missing")
    strong = dataset.evidence.strong
    if strong and strong.p >= dataset.evidence.p:
        raise where.of("evidence.strong").fault("p should be below that of [evidence]")
    if strong and strong.loss <= max(dataset.evidence.loss.values()):
        raise where.of("evidence.strong").fault("loss should be above those of [evidence]")
    splits = dataset.splits
    total = splits.train + splits.dev + splits.test
    if dataset.people not in (None, total):
        raise where.fault(f"people = {dataset.people}, but the splits have {total} together")


def _edition(described: ResolvedEdition, file: _File, root: Where) -> Edition:
    where = root.of("editions").of(described.name)
    questions = []
    for line in described.questions:
        topic = file.topics[line.topic]
        is_practice = topic.practice or topic.part == file.assignment.practice
        question = _question(line, topic, is_practice, where)
        required = [n for n in topic.required_files if n not in described.not_required]
        questions.append(replace(question, required_files=tuple(required)))
    return Edition(
        name=described.name,
        title=described.title,
        course=described.course,
        questions=tuple(questions),
        gradescope=described.gradescope,
    )


def _question(line: QuestionTable, topic: TopicTable, is_practice: bool, where: Where) -> Question:
    parts = line.written if isinstance(line.written, tuple) else (line.written,)
    tests = _tests(line, topic, where)
    if line.coding and not tests:
        raise where.fault(
            f"question {line.number} has {line.coding} coding points, but {line.topic} has no tests"
        )
    return Question(
        number=line.number,
        topic=line.topic,
        title=topic.title,
        part=topic.part,
        coding=line.coding,
        written=sum(parts, Decimal(0)),
        written_parts=parts,
        is_extra_credit=line.extra_credit,
        is_practice=is_practice,
        required_files=topic.required_files,
        tests=tests,
        hours=topic.hours,
    )


def _tests(line: QuestionTable, topic: TopicTable, where: Where) -> tuple[TestSpec, ...]:
    shares = share_points(line.coding, [test.weight for test in topic.tests.values()])
    specs = tuple(
        _spec(line, test, f"{line.number}-{index}-{test.kind}", share)
        for index, (test, share) in enumerate(zip(topic.tests.values(), shares, strict=True))
    )
    if line.coding and specs and not any(shares):
        raise where.fault(f"no test of {line.topic} has a weight, but it has {line.coding} points")
    basic = sum(spec.max_score for spec in specs if spec.kind == "basic")
    if basic * 3 > line.coding:
        raise where.fault(
            f"basic tests of {line.topic} carry {basic} of {line.coding} points, more than a third"
        )
    return specs


def _spec(line: QuestionTable, test: TestTable, test_id: str, share: Points) -> TestSpec:
    return TestSpec(
        test_id=test_id,
        number=line.number,
        topic=line.topic,
        name=test.name,
        kind=test.kind,
        max_score=share,
        timeout_s=test.timeout_s,
        torch=test.torch,
        is_extra_credit=line.extra_credit,
        after_published=test.after_published,
    )


def share_points(points: Decimal, weights: list[int]) -> list[Decimal]:
    """Split points by weight into hundredths that sum to `points` exactly.

    Each share is rounded down; the remaining hundredths go to the largest remainders, and among
    equal ones to later tests (basic tests come first, and must not exceed their third).
    """
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
