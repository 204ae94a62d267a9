"""An assignment as the grader needs it: editions, questions, tests, data sets, recipes.

    assignment = load_assignment(grading.ROOT)
    edition = assignment.edition(None)

In staff's checkout, `autograder.description` resolves assignment.toml in memory. Whatever is built
from it (a student's zip, the autograder's zip, build/reference) has `src/edition.json` instead: the
types of this module as JSON, and nothing else of the description. Two of them are for staff alone,
and a student's copy lacks them: `Evidence` and `Gradescope`.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict, dataclass, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from .errors import GradingError, UsageError

EDITION = Path("src/edition.json")
# The fields of a TrainerConfig that a stage of a recipe may set.
FIELDS = (
    *("max_epochs", "batch_size", "learning_rate", "betas", "grad_norm_clip", "weight_decay"),
    *("lr_decay", "warmup_tokens", "optimizer", "schedule", "muon_learning_rate", "final_tokens"),
)
VISIBILITIES = ("visible", "after_due_date", "after_published")


@dataclass(frozen=True)
class TestSpec:
    """A test, placed in an edition."""

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
    dropped: str = ""  # why it isn't run, and everybody gets its points; "": it counts

    @property
    def is_hidden(self) -> bool:
        return self.kind == "hidden"


@dataclass(frozen=True)
class Question:
    """A topic with its number and points in an edition."""

    number: str
    topic: str
    title: str
    coding: Decimal
    written_parts: tuple[Decimal, ...]
    is_extra_credit: bool
    is_practice: bool
    required_files: tuple[str, ...]
    tests: tuple[TestSpec, ...]

    @property
    def written(self) -> Decimal:
        return sum(self.written_parts, Decimal(0))


@dataclass(frozen=True)
class Gradescope:
    """What an edition's students see on Gradescope, and when."""

    hidden_tests: str  # when hidden tests' points become visible: one of VISIBILITIES
    # Submissions in 24 hours that show their hidden tests at once; 0 means no limit. Others are
    # graded in full, too, but show them later.
    hidden_feedback_a_day: int
    leaderboard: bool  # whether accuracies on dev and numbers of parameters are ranked


@dataclass(frozen=True)
class Erratum:
    """A correction that a release of the term makes."""

    release: int
    date: str  # "2027-02-03"
    question: str  # its number, or "" for the whole assignment
    tests: tuple[str, ...]  # ids of the tests that it corrects
    sentence: str


@dataclass(frozen=True)
class Edition:
    """A numbering of the topics, and the files that a submission must contain."""

    name: str
    title: str
    course: str  # its name, or ""
    questions: tuple[Question, ...]
    gradescope: Gradescope | None  # None in a student's copy
    release: str = ""  # "2027-spring.2"; "" in a checkout without a course, such as a test's
    errata: tuple[Erratum, ...] = ()  # of the term's releases up to this one, from the oldest

    @property
    def tests(self) -> tuple[TestSpec, ...]:
        return tuple(test for question in self.questions for test in question.tests)

    @property
    def required_files(self) -> tuple[str, ...]:
        return tuple(name for question in self.questions for name in question.required_files)

    @property
    def coding(self) -> Decimal:
        return sum((question.coding for question in self.questions), Decimal(0))


@dataclass(frozen=True)
class Strong:
    """An alternative requirement: a far smaller p, with a larger loss."""

    p: float
    loss: float


@dataclass(frozen=True)
class Evidence:
    """What pretrained parameters have to show (staff's module `evidence` defines it)."""

    p: float
    cosine: float
    loss: dict[str, float]  # by variant
    strong: Strong | None = None


@dataclass(frozen=True)
class DataSet:
    """A data set's thresholds and the recipe they were calibrated for."""

    name: str
    thresholds: dict[str, float]  # the share of right lines that each variant must reach
    recipe: str
    evidence: Evidence | None  # None in a student's copy


@dataclass(frozen=True)
class Variant:
    """A variant of the model: the name with which its files begin, and the topic that trains it."""

    name: str
    topic: str


@dataclass(frozen=True)
class Assignment:
    """Everything that the grader knows of the description."""

    title: str
    gradescope_python: str  # "3.12": the Python that grades on Gradescope
    default_edition: str
    default_dataset: str
    editions: dict[str, Edition]
    datasets: dict[str, DataSet]
    variants: dict[str, Variant]
    # Title, expected_loss, usual and also_for of each, if it has them, and the tables of its
    # settings: "model" and the stages of training. In such a table, one named after a variant
    # replaces the others' settings for that variant.
    recipes: dict[str, dict[str, Any]]

    def edition(self, name: str | None) -> Edition:
        """Return the edition of that name, or the default one for None."""
        name = self.default_edition if name is None else name
        if name not in self.editions:
            known = ", ".join(sorted(self.editions))
            raise UsageError(f"no edition {name!r} in {self.source}; there are: {known}")
        return self.editions[name]

    @property
    def source(self) -> str:
        """The name of the file, for messages."""
        return EDITION.name

    def settings(self, recipe: str, table: str, variant: str) -> dict[str, Any]:
        """Return a variant's settings in one of a recipe's tables."""
        common = self.recipes[recipe][table]
        own = common.get(variant, common)
        return {key: value for key, value in own.items() if not isinstance(value, dict)}

    def for_training(self) -> dict[str, Any]:
        """Return what training reads (`pretraining/recipes.py`), as edition.json has it."""
        return {
            "datasets": {name: {"recipe": data.recipe} for name, data in self.datasets.items()},
            "variants": list(self.variants),
            "recipes": self.recipes,
        }


def load_assignment(root: Path) -> Assignment:
    """Return the assignment of a folder: staff's checkout, or whatever was built from it.

    Raises:
        UsageError: the description, or edition.json, is missing or has a mistake.
        GradingError: this is a checkout, and a package of staff is not installed.
    """
    if not (root / "autograder" / "description.py").is_file():
        return read(root / EDITION)
    # No more than is needed, because this stays, and workers may import from it.
    if "autograder" not in sys.modules:
        sys.path.insert(1, str(root))  # after the folder of the command that runs
    try:
        description = importlib.import_module("autograder.description")
    except ImportError as error:
        raise GradingError(f"assignment.toml can't be read: {error}; run `make setup`") from None
    return description.load_assignment(root)


def to_json(assignment: Assignment) -> bytes:
    """Return the content of edition.json."""
    tables = asdict(assignment)
    known = {field.name: tables[field.name] for field in fields(Assignment)}
    text = json.dumps(known, indent=1, ensure_ascii=False, allow_nan=False, default=str)
    return (text + "\n").encode("utf-8")


def read(path: Path) -> Assignment:
    """Read edition.json; UsageError: it is missing or damaged."""
    try:
        return _made(Assignment, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        problem = "is missing"
    except (OSError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError) as error:
        problem = f"is damaged ({error})"
    raise UsageError(f"{path} {problem}: take it from the course's zip again")


def _made(kind: Any, value: Any) -> Any:
    """Return a value of JSON as the type that annotates a field."""
    inner = get_args(kind)
    if value is None or kind is Any:
        return value
    if isinstance(kind, UnionType):  # X | None
        return _made(inner[0], value)
    if get_origin(kind) is tuple:
        return tuple(_made(inner[0], each) for each in value)
    if get_origin(kind) is dict:
        return {key: _made(inner[1], each) for key, each in value.items()}
    if isinstance(kind, type) and is_dataclass(kind):
        types = get_type_hints(kind)
        return kind(**{name: _made(types[name], each) for name, each in value.items()})
    return kind(value)
