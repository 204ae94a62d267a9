"""Reads assignment.toml, course.toml and errata.toml; nothing else does.

    assignment = load_assignment()
    course = load_course()

The models define the files' tables, whose keys the files' comments explain. Every mistake is a
UsageError of one line: file, table, key, value and what was expected, and for an unknown name the
nearest known one. Points are exact: they are counted in hundredths, and a question's tests share
its points by weight, without a remainder. Students and Gradescope have the result alone
(`grading.edition`), and no pydantic.
"""

import datetime
import difflib
import re
import string
import tomllib
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from grading import edition as resolved
from grading.edition import Assignment, DataSet, Edition, Erratum, Question, TestSpec, Variant
from grading.errors import UsageError, nearest

REPO = Path(__file__).resolve().parent.parent
ASSIGNMENT, COURSE, ERRATA = "assignment.toml", "course.toml", "errata.toml"
OUTPUTS = (".params", ".predictions")
MOST_S = 270  # CPU seconds of a test: on half a processor, Gradescope's default, a run's 540 s
SHOWN = 60  # characters of a wrong value
# What is expected in place of a value of the wrong type, by pydantic's name of the error.
EXPECTED = {
    "string_type": "a text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "finite_number": "a number",
    "dict_type": "a table",
    "model_type": "a table",
    "tuple_type": "a list",
    "date_type": "a date",
    "datetime_type": "a date with a time",
}

# -- values ---------------------------------------------------------------------------------------


def _mistake(kind: str, words: str) -> PydanticCustomError:
    """Return an error that `_fault` knows: "rule", "reference", "twice", or "misfit" of a table."""
    return PydanticCustomError(kind, "{words}", {"words": words})


def rule(words: str, holds: Callable[[Any], Any]) -> AfterValidator:
    """Return a requirement besides a value's type; `KEY = VALUE should be ` begins its message."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise _mistake("rule", words)
        return value

    return AfterValidator(check)


def _keys_of(table: str, info: ValidationInfo) -> Collection[str]:
    return (info.context or {}).get(table, {})


def refers(table: str, what: str) -> AfterValidator:
    """Return the requirement that a name is a key of one of the file's tables."""

    def check(name: str, info: ValidationInfo) -> str:
        known = _keys_of(table, info)
        if name not in known:
            raise _mistake("reference", f"there is no such {what}{nearest(name, known)}")
        return name

    return AfterValidator(check)


def _exact(value: Any) -> Any:
    if type(value) not in (int, float, Decimal):
        raise _mistake("rule", "a number")
    return Decimal(str(value))  # as TOML writes it, without the error of a float


def _each_once(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        if texts.count(text) > 1:
            raise _mistake("twice", text)
    return texts


def _for_each_variant(values: dict[str, float], info: ValidationInfo) -> dict[str, float]:
    for variant in _keys_of("variants", info):
        if variant not in values:
            raise _mistake("misfit", f"{variant!r} is missing")
    return values


def _output(name: str, info: ValidationInfo) -> str:
    """Refuse a required file that the grader would never accept."""
    variant, known = name.split(".")[0], _keys_of("variants", info)
    if not name.endswith(OUTPUTS) or not re.fullmatch(r"[\w.-]+", name):
        raise _mistake("rule", f"a name that ends in {' or '.join(OUTPUTS)}")
    if known and variant not in known:
        raise _mistake("reference", f"there is no variant {variant!r}{nearest(variant, known)}")
    return name


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Text = Annotated[
    str, rule("a text in one line, not blank", lambda text: text.strip() and text.isprintable())
]
Name = Annotated[
    str, rule("consist of letters, digits, _ and -", re.compile("[A-Za-z0-9_-]+").fullmatch)
]
Number = Annotated[
    Text, rule("a number and a letter, as '1a'", re.compile("[1-9][0-9]?[a-z]").fullmatch)
]
Version = Annotated[Text, rule('a version like "3.12"', re.compile("3[.][1-9][0-9]?").fullmatch)]
OfTopic = Annotated[str, refers("topics", "topic")]
OfRecipe = Annotated[str, refers("recipes", "recipe")]
OfVariant = Annotated[str, refers("variants", "variant")]
OfDataSet = Annotated[str, refers("datasets", "data set")]
OfEdition = Annotated[str, refers("editions", "edition")]
OfPart = Annotated[str, refers("parts", "part")]
Positive = Annotated[float, rule("above 0", lambda value: value > 0)]
NotNegative = Annotated[float, rule("0 or more", lambda value: value >= 0)]
Share = Annotated[float, rule("between 0 and 1", lambda value: 0 < value < 1)]
Dropout = Annotated[float, rule("0 or more, and below 1", lambda value: 0 <= value < 1)]
Seconds = Annotated[float, rule(f"above 0, and at most {MOST_S}", lambda s: 0 < s <= MOST_S)]
Count = Annotated[int, rule("1 or more", lambda value: value >= 1)]
Rating = Annotated[int, rule("1, 2 or 3", lambda value: value in (1, 2, 3))]
NaturalNumber = Annotated[int, rule("0 or more", lambda value: value >= 0)]
Exact = Annotated[Decimal, BeforeValidator(_exact)]
Points = Annotated[
    Exact,
    rule(
        "0 or more (and below 1000), with at most two decimals",
        lambda value: 0 <= value < 1000 and value == value.quantize(Decimal("0.01")),
    ),
]
T = TypeVar("T")
List = Annotated[tuple[T, ...], Field(strict=False)]  # TOML's arrays are lists
Set = Annotated[List[T], AfterValidator(_each_once)]
Losses = Annotated[
    List[float],
    rule("ten numbers above 0", lambda values: len(values) == 10 and min(values) > 0),
]
Betas = Annotated[List[Dropout], rule("a list of 2", lambda betas: len(betas) == 2)]
Minutes = Annotated[
    List[NaturalNumber],
    BeforeValidator(_listed),
    rule("a list of 2", lambda minutes: len(minutes) <= 2),
    rule("1 or more", lambda minutes: minutes[:1] > (0,)),
]
AiPolicy = Literal["forbidden", "tutor", "disclosure"]
AI_POLICIES: tuple[str, ...] = get_args(AiPolicy)


class Table(BaseModel):
    """A table; a key that it doesn't have is a mistake."""

    model_config = ConfigDict(strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, raw: Any) -> Any:
        for key in raw if isinstance(raw, dict) else ():
            if key not in cls.model_fields:
                raise _mistake("misfit", f"unknown key {key!r}{nearest(key, cls.model_fields)}")
        return raw

    @model_validator(mode="after")
    def _refuse_misfit(self) -> Self:
        if words := self.misfit():
            raise _mistake("misfit", words)
        return self

    def misfit(self) -> str:
        """Return how values that are right by themselves don't fit each other, or ""."""
        return ""


# -- assignment.toml ------------------------------------------------------------------------------


class Head(Table):
    """The table [assignment]."""

    title: Text
    default_edition: OfEdition
    gradescope_python: Version
    default_dataset: OfDataSet = ""
    practice: OfPart = ""


class TestTable(Table):
    """A test of a topic."""

    __test__ = False  # pytest: this is no test case

    kind: Literal["basic", "hidden"]
    weight: NaturalNumber = 1
    timeout_s: Seconds = 20.0
    torch: bool = True
    after_published: bool = False
    dropped: Text = ""


class Topic(Table):
    """A topic, without its number; part and title are required, which AssignmentFile checks."""

    part: OfPart = ""
    title: Text = ""
    hours: NotNegative = 0.5
    difficulty: Rating = 1
    importance: Rating = 2
    practice: bool = False
    coding: Points = Decimal(0)
    written: Annotated[List[Points], BeforeValidator(_listed)] = (Decimal(0),)
    tests: dict[Name, TestTable] = {}
    required_files: Set[Annotated[str, AfterValidator(_output)]] = ()


class QuestionTable(Table):
    """A line of an edition."""

    number: Number
    topic: OfTopic
    coding: Points = Decimal(0)
    written: Annotated[List[Points], BeforeValidator(_listed)] = (Decimal(0),)
    extra_credit: bool = False

    @property
    def place(self) -> tuple[int, str]:
        """The number in a form that sorts: `9b` before `10a`."""
        return int(self.number[:-1]), self.number[-1]


class Gradescope(Table):
    """What an edition's students see on Gradescope."""

    hidden_tests: Literal["visible", "after_due_date", "after_published"]
    hidden_feedback_a_day: NaturalNumber = 0
    leaderboard: bool = False


class EditionTable(Table):
    """One table [editions.NAME]."""

    title: Text
    questions: List[QuestionTable]
    gradescope: Gradescope | None = None
    course: Text = ""
    extends: OfEdition = ""
    practice: Count | None = None
    counts: dict[OfPart, Count] = {}
    without: Set[OfTopic] = ()
    not_required: Set[Text] = ()
    command_table: bool = False

    def misfit(self) -> str:
        for before, line in pairwise(self.questions):
            if line.place < before.place:
                words = f"question {line.number} comes after {before.number}, expected the lines"
                return f"{words} in the order of their numbers"
        return ""


class Model(Table):
    """Fields of GPTConfig."""

    n_layer: Count
    n_head: Count
    n_embd: Count
    block_size: Count
    embd_pdrop: Dropout
    resid_pdrop: Dropout
    attn_pdrop: Dropout

    def misfit(self) -> str:
        sizes = f"n_embd = {self.n_embd}, n_head = {self.n_head}"
        should = "the first should be a multiple of the second"
        return f"{sizes}: {should}" if self.n_embd % self.n_head else ""


class Stage(Table):
    """Fields of TrainerConfig, and final_epochs, from which final_tokens follows."""

    max_epochs: Count
    batch_size: Count
    learning_rate: Positive
    betas: Betas
    grad_norm_clip: Positive
    weight_decay: NotNegative
    lr_decay: bool
    warmup_tokens: NaturalNumber
    optimizer: Literal["adamw", "muon"]
    schedule: Literal["cosine", "linear"]
    muon_learning_rate: Positive | None = None
    final_epochs: Count | None = None


class Usual(Table):
    """The accuracies of a variant in a number of trainings."""

    lowest: Share
    median: Share
    highest: Share
    runs: Count

    def misfit(self) -> str:
        is_sorted = self.lowest <= self.median <= self.highest
        return "" if is_sorted else "lowest, median and highest should be in this order"


class Recipe(Table):
    """One table [recipes.NAME]."""

    title: Text
    model: Model
    pretrain: Stage
    finetune_scratch: Stage
    finetune_pretrained: Stage
    expected_loss: Losses | None = None
    usual: dict[OfVariant, Usual] = {}
    also_for: Set[OfDataSet] = ()


class Changes(Table):
    """A variant's differences from a recipe; they are checked together with what stays."""

    model: dict[str, Any] = {}
    pretrain: dict[str, Any] = {}
    finetune_scratch: dict[str, Any] = {}
    finetune_pretrained: dict[str, Any] = {}


class VariantTable(Table):
    """One table [variants.NAME]; the topic is the one whose question trains it."""

    topic: OfTopic
    recipes: dict[OfRecipe, Changes] = {}


class Strong(Table):
    """An alternative requirement for evidence."""

    p: Share
    loss: Positive


class Evidence(Table):
    """What pretrained parameters have to show."""

    p: Share
    cosine: Share
    loss: Annotated[dict[OfVariant, Positive], AfterValidator(_for_each_variant)]
    strong: Strong | None = None

    def misfit(self) -> str:
        if self.strong and self.strong.p >= self.p:
            return "the p of strong should be below p"
        if self.strong and self.strong.loss <= max(self.loss.values()):
            return "the loss of strong should be above every other loss"
        return ""

    def resolved(self) -> resolved.Evidence:
        strong = resolved.Strong(self.strong.p, self.strong.loss) if self.strong else None
        return resolved.Evidence(self.p, self.cosine, self.loss, strong)


class Splits(Table):
    """The number of people in each table."""

    train: Count
    dev: Count
    test: Count


class DataSetTable(Table):
    """One table [datasets.NAME]."""

    title: Text
    fictional: bool  # whether its people are made up
    splits: Splits
    thresholds: Annotated[dict[OfVariant, Share], AfterValidator(_for_each_variant)]
    recipe: OfRecipe
    evidence: Evidence
    people: Count | None = None  # how many there are in all splits, if they are generated

    def misfit(self) -> str:
        total = self.splits.train + self.splits.dev + self.splits.test
        words = f"people = {self.people}, but the splits have {total} together"
        return "" if self.people in (None, total) else words


class AssignmentFile(Table):
    """The tables of assignment.toml; what belongs to trainings may be left out."""

    assignment: Head
    parts: dict[Name, Text]
    topics: dict[Name, Topic]
    editions: dict[Name, EditionTable]
    datasets: dict[Name, DataSetTable] = {}
    variants: dict[Name, VariantTable] = {}
    recipes: dict[Name, Recipe] = {}
    times: dict[OfRecipe, dict[OfTopic, Minutes]] = {}

    def misfit(self) -> str:
        if self.datasets and not self.assignment.default_dataset:
            return "[assignment]: 'default_dataset' is missing"
        whole = [name for name, topic in self.topics.items() if topic.part and topic.title]
        for name, topic in self.topics.items():
            lacks = [repr(key) for key in ("part", "title") if not getattr(topic, key)]
            if lacks:  # both: the name may be misspelt
                are = "is missing" if len(lacks) == 1 else f"are missing{nearest(name, whole)}"
                return f"[topics.{name}]: {' and '.join(lacks)} {are}"
        outputs = [name for topic in self.topics.values() for name in topic.required_files]
        for name, edition in self.editions.items():
            for file in set(edition.not_required) - set(outputs):
                words = f"not_required has {file!r}, which no topic requires"
                return f"[editions.{name}]: {words}{nearest(file, outputs)}"
        return ""


@dataclass(frozen=True)
class StaffAssignment(Assignment):
    """An assignment with its description, for staff's commands."""

    tables: AssignmentFile

    @property
    def source(self) -> str:
        return ASSIGNMENT

    def for_students(self, edition: str, variants: Collection[str]) -> Assignment:
        """Return what an edition's students get, with the variants that it trains."""
        chosen = replace(self.edition(edition), gradescope=None)
        return Assignment(
            title=self.title,
            gradescope_python=self.gradescope_python,
            default_edition=chosen.name,
            default_dataset=self.default_dataset,
            editions={chosen.name: chosen},
            datasets={name: replace(data, evidence=None) for name, data in self.datasets.items()},
            variants={name: each for name, each in self.variants.items() if name in variants},
            recipes=self.recipes,
        )


def load_assignment(repo: Path = REPO) -> StaffAssignment:
    """Read assignment.toml of a repository, and the release's name and errata.

    A repository without course.toml, such as a test's, has no releases. UsageError: a file has a
    mistake; the message is a line about the first.
    """
    file = read(repo / ASSIGNMENT, AssignmentFile)
    editions = {name: _edition(name, file) for name in file.editions}
    if (repo / COURSE).is_file():
        course = load_course(repo)
        errata = _errata(repo, course.release, editions, file.assignment.default_edition)
        editions = {
            name: replace(edition, release=course.release_name, errata=errata[name])
            for name, edition in editions.items()
        }
    return StaffAssignment(
        **file.assignment.model_dump(exclude={"practice"}),
        editions=editions,
        datasets={
            name: DataSet(name, table.thresholds, table.recipe, table.evidence.resolved())
            for name, table in file.datasets.items()
        },
        variants={name: Variant(name, table.topic) for name, table in file.variants.items()},
        recipes=_recipes(file),
        tables=file,
    )


# -- editions -------------------------------------------------------------------------------------


def _edition(name: str, file: AssignmentFile) -> Edition:
    """Return an edition with everything that it inherits, in the order of its numbers."""
    table = _extended(name, file, ())
    if table.gradescope is None:
        raise _wrong(name, "'gradescope' is missing")
    lines = sorted([*table.questions, *_whole_parts(name, table, file)], key=lambda q: q.place)
    for one, other in combinations(lines, 2):
        if one.number == other.number:
            words = f"two questions are numbered {one.number}: {one.topic}, {other.topic}"
            raise _wrong(name, words)
        if one.topic == other.topic:
            raise _wrong(name, f"{one.topic} is asked twice: {one.number}, {other.number}")
    return Edition(
        name=name,
        title=table.title,
        course=table.course,
        questions=tuple(_question(name, line, table, file) for line in lines),
        gradescope=resolved.Gradescope(**table.gradescope.model_dump()),
    )


def _wrong(edition: str, what: str) -> UsageError:
    return UsageError(f"{ASSIGNMENT}: [editions.{edition}]: {what}")


def _extended(name: str, file: AssignmentFile, below: tuple[str, ...]) -> EditionTable:
    """Return an edition with the lines of the one that it extends, except on its own topics."""
    own = file.editions[name]
    if not own.extends:
        return own
    if name in below:
        raise _wrong(below[0], f"extends leads in a circle, from {' to '.join([*below, name])}")
    base = _extended(own.extends, file, (*below, name))
    replaced = {question.topic for question in own.questions} | set(own.without)
    together = {
        "questions": (*(q for q in base.questions if q.topic not in replaced), *own.questions),
        "course": own.course or base.course,
        "gradescope": own.gradescope or base.gradescope,
        "practice": own.practice or base.practice,
        "counts": base.counts | own.counts,
        "without": base.without + own.without,
        "not_required": base.not_required + own.not_required,
    }
    return own.model_copy(update=together)


def _whole_parts(name: str, table: EditionTable, file: AssignmentFile) -> list[QuestionTable]:
    """Make a line for each topic of the practice part and of those that count, if it has none.

    They have free numbers, in the order of the topics' tables. Practice has no points, and the
    others' are those of their topics.
    """
    sections = [(part, section, {"coding", "written"}) for part, section in table.counts.items()]
    if table.practice is not None:
        if not file.assignment.practice:
            words = "practice has a number, but no part: 'practice' in [assignment] names it"
            raise _wrong(name, words)
        sections.insert(0, (file.assignment.practice, table.practice, set()))
    present = {line.topic for line in table.questions} | set(table.without)
    taken = {line.number for line in table.questions}
    lines = []
    for part, section, points in sections:
        numbers = [f"{section}{letter}" for letter in string.ascii_lowercase]
        free = [number for number in numbers if number not in taken]
        missing = [n for n, topic in file.topics.items() if topic.part == part and n not in present]
        if len(missing) > len(free):
            words = f"{part} has {len(missing)} questions, which is more than there are letters"
            raise _wrong(name, words)
        for number, topic in zip(free, missing, strict=False):
            own = file.topics[topic].model_dump(include=points)
            lines.append(QuestionTable.model_construct(number=number, topic=topic, **own))
    return lines


def _question(
    edition: str, line: QuestionTable, table: EditionTable, file: AssignmentFile
) -> Question:
    topic = file.topics[line.topic]
    points = f"{line.coding} coding points"
    if line.coding and not topic.tests:
        raise _wrong(edition, f"question {line.number} has {points}, but {line.topic} has no tests")
    shares = share_points(line.coding, [test.weight for test in topic.tests.values()])
    tests = tuple(
        TestSpec(
            test_id=f"{line.number}-{index}-{test.kind}",
            number=line.number,
            topic=line.topic,
            name=name,
            max_score=shares[index],
            is_extra_credit=line.extra_credit,
            **test.model_dump(exclude={"weight"}),
        )
        for index, (name, test) in enumerate(topic.tests.items())
    )
    if line.coding and not any(test.max_score for test in tests):
        raise _wrong(edition, f"no test of {line.topic} has a weight, but it has {points}")
    basic = sum(test.max_score for test in tests if not test.is_hidden)
    if basic * 3 > line.coding:
        words = f"basic tests of {line.topic} carry {basic} of {line.coding} points"
        raise _wrong(edition, f"{words}, more than a third")
    return Question(
        number=line.number,
        topic=line.topic,
        title=topic.title,
        coding=line.coding,
        written_parts=line.written,
        is_extra_credit=line.extra_credit,
        is_practice=topic.practice or topic.part == file.assignment.practice,
        required_files=tuple(n for n in topic.required_files if n not in table.not_required),
        tests=tests,
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


# -- recipes --------------------------------------------------------------------------------------


def _recipes(file: AssignmentFile) -> dict[str, dict[str, Any]]:
    """Return all recipes as `Assignment.recipes`, with whole tables where a variant differs."""
    made = {
        name: recipe.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        for name, recipe in file.recipes.items()
    }
    for variant, table in file.variants.items():
        for name, changed in table.recipes.items():
            for part, changes in changed.model_dump(exclude_defaults=True).items():
                common = getattr(file.recipes[name], part)
                whole = common.model_dump(mode="json", exclude_none=True) | changes
                place = ("variants", variant, "recipes", name, part)
                own = _checked(type(common), whole, ASSIGNMENT, place)
                if own != common:
                    settings = own.model_dump(mode="json", exclude_none=True)
                    made[name][part][variant] = settings
    return made


# -- course.toml ----------------------------------------------------------------------------------


class Dates(Table):
    """When the problem set is published, and when it is due."""

    published: datetime.date
    due: Annotated[
        datetime.datetime,
        rule("a date with a time and an offset, such as -08:00", lambda due: due.tzinfo),
    ]

    def misfit(self) -> str:
        due = self.due.date()
        words = f"published = {self.published} is after due = {due}"
        return words if self.published > due else ""


class Policies(Table):
    """The course's policies, for the sheet."""

    collaboration: Text
    late: Text
    ai_tools: AiPolicy


class Grading(Table):
    """How the gradebook computes grades; without this table, lateness costs nothing."""

    grace_minutes: NaturalNumber = 0
    late_days: NaturalNumber = 0
    percent_per_day: Annotated[Exact, rule("from 0 to 100", lambda v: 0 <= v <= 100)] = Decimal(0)
    hard_deadline_days: NaturalNumber | None = None
    extra_credit_cap: Annotated[Exact, rule("0 or more", lambda v: v >= 0)] | None = None
    missing: Literal["blank", "zero"] = "blank"


class Course(Table):
    """The content of course.toml."""

    term: Annotated[Text, rule("a text with a letter or a digit", re.compile(r"[^\W_]").search)]
    release: Count = 1
    contact: Text
    dates: Dates
    policies: Policies
    grading: Grading = Grading()

    @property
    def release_name(self) -> str:
        """The release's name, such as 2027-spring.1: the term with its year first, the number."""
        words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", self.term).casefold())
        words.sort(key=lambda word: not re.fullmatch("[0-9]{4}", word))
        return f"{'-'.join(words)}.{self.release}"


def load_course(repo: Path = REPO) -> Course:
    """Read course.toml of a repository; UsageError: it has a mistake."""
    return read(repo / COURSE, Course)


# -- errata.toml ----------------------------------------------------------------------------------


class ErratumTable(Table):
    """A correction that a release makes."""

    release: Annotated[int, rule("2 or more: release 1 corrects nothing", lambda n: n >= 2)]
    date: datetime.date
    edition: Name = ""
    question: Text = ""
    tests: Set[Text] = ()
    sentence: Text = ""
    breaking: Text = ""

    def misfit(self) -> str:
        return "" if self.sentence or self.breaking else "'sentence' is missing"


class ErrataFile(Table):
    """The content of errata.toml."""

    erratum: List[ErratumTable] = ()


def load_errata(repo: Path = REPO) -> tuple[ErratumTable, ...]:
    """Read errata.toml of a repository, if there is one; UsageError: it has a mistake."""
    path = repo / ERRATA
    return read(path, ErrataFile).erratum if path.is_file() else ()


def _errata(
    repo: Path, release: int, editions: dict[str, Edition], default: str
) -> dict[str, tuple[Erratum, ...]]:
    """Return the errata of each edition, with its own numbers.

    Those of the next release may be in the file already, and aren't returned.
    """
    found: dict[str, list[Erratum]] = {name: [] for name in editions}
    for index, table in enumerate(load_errata(repo), 1):
        if words := _fault_of_erratum(table, release, editions, default):
            raise UsageError(f"{ERRATA}: erratum {index}: {words}")
        if table.release > release:
            continue
        base = editions[table.edition or default]
        topic = next((q.topic for q in base.questions if q.number == table.question), "")
        named = {(test.topic, test.name) for test in base.tests if test.test_id in table.tests}
        words = " ".join(filter(None, (table.sentence, table.breaking)))
        for name, edition in editions.items():
            numbers = {"": ""} | {q.topic: q.number for q in edition.questions}
            if topic in numbers:
                tests = tuple(t.test_id for t in edition.tests if (t.topic, t.name) in named)
                day = table.date.isoformat()
                found[name].append(Erratum(table.release, day, numbers[topic], tests, words))
    return {name: tuple(errata) for name, errata in found.items()}


def _fault_of_erratum(
    table: ErratumTable, release: int, editions: dict[str, Edition], default: str
) -> str:
    """Return what is wrong with an erratum, or ""."""
    if table.release > release + 1:
        words = f"release = {table.release}, but {COURSE} has release = {release}"
        return f"{words}, which `make release` raises"
    name = table.edition or default
    if name not in editions:
        return f"edition = {name!r}: there is no such edition{nearest(name, editions)}"
    questions = [question.number for question in editions[name].questions]
    if table.question and table.question not in questions:
        hint = nearest(table.question, questions)
        return f"question = {table.question!r}: {name} has no such question{hint}"
    ids = [test.test_id for test in editions[name].tests]
    for test_id in table.tests:
        if test_id not in ids:
            return f"tests has {test_id!r}: {name} has no such test{nearest(test_id, ids)}"
    return ""


# -- for commands ---------------------------------------------------------------------------------


def check_recipe(repo: Path, name: str | None) -> None:
    """Raise a UsageError, which lists the recipes, for one that doesn't exist; None always does."""
    recipes = load_assignment(repo).recipes
    if name is not None and name not in recipes:
        known = ", ".join(sorted(recipes))
        raise UsageError(f"no recipe {name!r} in assignment.toml; there are: {known}")


def editions(repo: Path = REPO, chosen: str | None = None) -> list[str]:
    """Return the names of all editions, or only the chosen one; UsageError: there is no such."""
    assignment = load_assignment(repo)
    return list(assignment.editions) if chosen is None else [assignment.edition(chosen).name]


def graded_topics(assignment: Assignment) -> set[str]:
    """Return the topics for which any edition gives points; no student gets their answers."""
    questions = (q for edition in assignment.editions.values() for q in edition.questions)
    return {question.topic for question in questions if question.coding or question.written}


# -- messages -------------------------------------------------------------------------------------

Kind = TypeVar("Kind", bound=BaseModel)


def read(path: Path, kind: type[Kind]) -> Kind:
    """Read a file; UsageError: it is missing, is not TOML, or does not fit `kind`."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is missing") from None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    # Such as a number of 5,000 digits, or deeply nested brackets.
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path.name} is not valid TOML: {error}") from None
    return _checked(kind, raw, path.name)


def _checked(kind: type[Kind], raw: dict[str, Any], file: str, place: tuple[str, ...] = ()) -> Kind:
    """Return a table, which is at a place in a file, as a model; references are to tables in it."""
    tables = {name: table for name, table in raw.items() if isinstance(table, dict)}
    try:
        return kind.model_validate(raw, context=tables)
    except ValidationError as caught:
        raise _fault(caught.errors(include_url=False)[0], raw, file, place) from None


def _fault(error: ErrorDetails, value: Any, file: str, place: tuple[str, ...]) -> UsageError:
    """Return pydantic's error about something in a table, `value`, in our words."""
    path, item = list(place), ""
    for step in error["loc"]:
        if isinstance(step, str):
            path.append(step)
            value = value.get(step) if isinstance(value, dict) else value
        elif isinstance(value, list):  # else a single value that stands for a list of one
            value = value[step]
            if isinstance(value, dict):
                item = f"{path.pop().removesuffix('s')} {value.get('number', step + 1)}"
    what = _words(error, value, path)
    table = f"[{'.'.join(path)}]" if path else ""
    return UsageError(": ".join(filter(None, (file, ", ".join(filter(None, (table, item))), what))))


def _words(error: ErrorDetails, value: Any, path: list[str]) -> str:
    """Say what is wrong with a value; take its key off the path."""
    kind, context = error["type"], error.get("ctx", {})
    words = context.get("words") or EXPECTED.get(kind, error["msg"])
    if kind == "misfit":  # of a whole table
        return words
    key = path.pop()
    if kind == "missing":
        return f"{key!r} is missing"
    if kind == "twice":
        return f"{key} has {words!r} twice"
    if kind == "literal_error":
        texts = re.findall("'(.*?)'", context["expected"])
        close = difflib.get_close_matches(str(value), texts, 1, 0.5)
        words = f"one of {', '.join(texts)}" + "".join(f"; did you mean {t!r}?" for t in close)
    if key == "[key]":
        name = path.pop()
        return f"{name!r}: {words}" if kind == "reference" else f"the name {name!r} should {words}"
    shown = f"{key} = {_shown(value)}"
    return f"{shown}: {words}" if kind == "reference" else f"{shown} should be {words}"


def _shown(raw: Any) -> str:
    """Format a value roughly as in TOML."""
    if isinstance(raw, dict):
        return "{...}"
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, list):
        return f"[{', '.join(map(_shown, raw))}]"
    text = raw.isoformat() if isinstance(raw, datetime.date | datetime.time) else repr(raw)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
