"""Data sets, variants and training recipes as assignment.toml describes them.

A variant's changes to a recipe are applied only here: students' code finds complete tables in
recipes.json, which `shipped` makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any

from .toml_tables import (
    Choice,
    Count,
    NaturalNumber,
    NotNegative,
    Positive,
    Rule,
    Share,
    Where,
    nearest,
    table,
)

Dropout = Annotated[float, Rule("0 or more, and below 1", lambda value: 0 <= value < 1)]
Losses = Annotated[
    tuple[float, ...],
    Rule("ten numbers above 0", lambda values: len(values) == 10 and min(values) > 0),
]


@dataclass(frozen=True)
class Model:
    """Fields of GPTConfig."""

    n_layer: Count
    n_head: Count
    n_embd: Count
    block_size: Count
    embd_pdrop: Dropout
    resid_pdrop: Dropout
    attn_pdrop: Dropout

    def __post_init__(self) -> None:
        if self.n_embd % self.n_head:
            sizes = f"n_embd = {self.n_embd}, n_head = {self.n_head}"
            raise ValueError(f"{sizes}: the first should be a multiple of the second")


@dataclass(frozen=True)
class Stage:
    """Fields of TrainerConfig, and final_epochs, from which final_tokens follows."""

    max_epochs: Count
    batch_size: Count
    learning_rate: Positive
    betas: tuple[Dropout, Dropout]
    grad_norm_clip: Positive
    weight_decay: NotNegative
    lr_decay: bool
    warmup_tokens: NaturalNumber
    optimizer: Annotated[str, Choice(("adamw", "muon"))]
    schedule: Annotated[str, Choice(("cosine", "linear"))]
    muon_learning_rate: Positive | None = None
    final_epochs: Count | None = None


@dataclass(frozen=True)
class Recipe:
    """One table [recipes.NAME].

    Attributes:
        expected_loss: the reference's pretraining loss after each tenth of the training.
        also_for: data sets that it also suits, although they have a different default.
    """

    name: str
    title: str
    model: Model
    pretrain: Stage
    finetune_scratch: Stage
    finetune_pretrained: Stage
    expected_loss: Losses | None = None
    also_for: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """One table [variants.NAME].

    Attributes:
        name: its name for run.py, with which its files' names begin.
        topic: the topic whose question trains it.
        recipes: its differences from [recipes.RECIPE], in tables with the same keys.
    """

    name: str
    topic: str
    recipes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Strong:
    """An alternative requirement: a far smaller p, with a larger loss."""

    p: Share
    loss: Positive


@dataclass(frozen=True)
class Evidence:
    """What pretrained parameters have to show (staff's module `evidence` defines it)."""

    p: Share
    cosine: Share
    loss: dict[str, Positive]  # by variant
    strong: Strong | None = None


@dataclass(frozen=True)
class Splits:
    """The number of people in each table."""

    train: Count
    dev: Count
    test: Count


@dataclass(frozen=True)
class DataSet:
    """A data set's thresholds and the recipe they were calibrated for.

    Attributes:
        fictional: whether its people are made up.
        people: how many there are in all splits; None if nothing is generated.
        thresholds: the share of right lines that each variant must reach.
        evidence: what pretrained parameters have to show.
    """

    name: str
    title: str
    fictional: bool
    splits: Splits
    thresholds: dict[str, Share]
    recipe: str
    evidence: Evidence
    people: Count | None = None


STAGES = tuple(f.name for f in fields(Recipe) if f.type == "Stage")
OWN = ("model", *STAGES)  # what may differ for a variant
# Of a TrainerConfig, as far as a recipe sets them.
FIELDS = tuple("final_tokens" if f.name == "final_epochs" else f.name for f in fields(Stage))


class Recipes(dict[str, Recipe]):
    """The recipes by name, and the differences of variants."""

    def __init__(self, recipes: Mapping[str, Recipe], variants: Mapping[str, Variant], file: str):
        """Check that every recipe is valid for every variant.

        Raises:
            UsageError: a variant changes something that no recipe has, or to something impossible.
        """
        super().__init__(recipes)
        self._own = {
            (variant.name, name): _merged(recipes, variant, name, file)
            for variant in variants.values()
            for name in variant.recipes
        }

    def of(self, variant: str, name: str) -> Recipe:
        """Return a recipe with a variant's changes."""
        return self._own.get((variant, name), self[name])


def _merged(recipes: Mapping[str, Recipe], variant: Variant, name: str, file: str) -> Recipe:
    """Return a recipe with a variant's own settings applied."""
    where = Where(file, f"variants.{variant.name}.recipes")
    where.check("", name, recipes, "recipe")
    recipe, where, own = recipes[name], where.of(name), {}
    for key, changes in variant.recipes[name].items():
        if key not in OWN:
            raise where.fault(f"unknown key {key!r}{nearest(key, OWN)}")
        before = getattr(recipe, key)
        own[key] = table(type(before), settings(before) | changes, where.of(key))
    return replace(recipe, **own)


def settings(part: Model | Stage) -> dict[str, Any]:
    """Return a model's or a stage's fields for JSON, without those that a recipe omits."""
    found = {key: value for key, value in asdict(part).items() if value is not None}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in found.items()}


def expected_settings(
    recipe: Recipe, stage: str, documents: int, block_size: int
) -> dict[str, Any]:
    """Return the fields that a TrainerConfig should have for one stage of a recipe.

    Args:
        recipe: with the variant's changes.
        stage: one of STAGES.
        documents: number of documents in the pretraining corpus, which final_epochs counts.
        block_size: number of entries of an example.
    """
    found = settings(getattr(recipe, stage))
    if "final_epochs" in found:
        found["final_tokens"] = found.pop("final_epochs") * documents * block_size
    return found


def shipped(
    recipes: Recipes, variants: Mapping[str, Variant], datasets: Mapping[str, DataSet]
) -> dict[str, Any]:
    """Return the content of recipes.json, for submissions of this year and of earlier ones.

    A table such as `pretrain` contains, under the name of a variant, the complete table of that
    variant if it differs. (Code of earlier years, which merges it into the common one, gets the
    same.)
    """
    return {
        "recipes": {name: _shipped(recipes, name, variants) for name in recipes},
        "datasets": {name: dataset.recipe for name, dataset in datasets.items()},
        "variants": list(variants),
    }


def _shipped(recipes: Recipes, name: str, variants: Mapping[str, Variant]) -> dict[str, Any]:
    common = recipes[name]
    found: dict[str, Any] = {"title": common.title}
    if common.expected_loss:
        found["expected_loss"] = list(common.expected_loss)
    if common.also_for:
        found["also_for"] = list(common.also_for)
    for key in OWN:
        found[key] = settings(getattr(common, key))
        for variant in variants:
            own = getattr(recipes.of(variant, name), key)
            if own != getattr(common, key):
                found[key][variant] = settings(own)
    return found
