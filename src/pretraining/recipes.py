"""Training recipes: named sets of a model's shape and the settings of each stage of training.

The numbers are in edition.json, in the folder above. Staff's checkout lacks that file; there they
come from the tables [recipes] and [variants] of assignment.toml.
"""

import functools
import importlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from . import InputError

HERE = Path(__file__).resolve().parent
STAGES = ("pretrain", "finetune_scratch", "finetune_pretrained")


@dataclass(frozen=True)
class Recipe:
    """One table [recipes.NAME].

    Attributes:
        title: its description.
        model: fields of GPTConfig (all but vocab_size and the variant); use model_of to read it.
        pretrain, finetune_scratch, finetune_pretrained: settings of the Trainer for each stage.
        expected_loss: the reference's pretraining loss after each tenth of the training, in nats;
            None if it wasn't measured.
        usual: for a variant, the "lowest", "median" and "highest" accuracy on dev in a number of
            "runs", if they were measured.
        also_for: data sets that it also suits, although they have a different default.

    In `model` and in a stage, a table named after a variant replaces the settings for that variant.
    """

    name: str
    title: str
    model: dict
    pretrain: dict
    finetune_scratch: dict
    finetune_pretrained: dict
    expected_loss: list[float] | None = None
    usual: dict[str, dict[str, float]] = field(default_factory=dict)
    also_for: tuple[str, ...] = ()

    def model_of(self, variant: str) -> dict:
        """Return the fields of GPTConfig for one of variants()."""
        return _of_variant(self.model, variant)


def variants() -> list[str]:
    """Return the variants of the model that run.py offers."""
    return list(_tables()["variants"])


def installed_dataset(folder: Path = HERE.parent / "data") -> str | None:
    """Return the name of the data set in a folder, src/data/, or None if there is none."""
    path = folder / "dataset.json"
    if not path.is_file():
        return None
    return json.loads(path.read_text(encoding="utf-8"))["name"]


def default_recipe(dataset: str | None) -> str:
    """Return the name of the recipe with which a data set's thresholds were calibrated."""
    return _tables()["datasets"].get(dataset, {"recipe": "laptop"})["recipe"]


def load_recipe(name: str | None = None) -> Recipe:
    """Look up a recipe; None means that of the installed data set, or "laptop".

    Raises:
        InputError: there is no such recipe, or no edition.json.
    """
    recipes = _tables()["recipes"]
    name = default_recipe(installed_dataset()) if name is None else name
    if name not in recipes:
        raise InputError(f"recipe {name!r} is unknown, expected one of: {', '.join(recipes)}")
    return Recipe(name=name, **recipes[name])


def trainer_settings(
    recipe: Recipe,
    stage: str,
    pretrain_dataset_len: int,
    block_size: int,
    variant: str | bool = "vanilla",
    synthesizer: bool = False,
) -> dict:
    """Return the fields of a TrainerConfig for one stage of training.

    Args:
        stage: one of STAGES.
        pretrain_dataset_len: number of documents of the pretraining corpus. If a recipe has
            final_epochs, its cosine ends after final_epochs * pretrain_dataset_len * block_size
            tokens (final_tokens) in every stage.
        block_size: number of entries of an example.
        variant: model.variant, for which a recipe may have its own settings.
        synthesizer: code of earlier terms says here, or as `variant`, whether it is that variant.

    Raises:
        InputError: the stage is unknown.
    """
    if stage not in STAGES:
        raise InputError(f"stage {stage!r} is unknown, expected one of: {', '.join(STAGES)}")
    if isinstance(variant, bool) or synthesizer:
        variant = "synthesizer" if True in (variant, synthesizer) else "vanilla"
    settings = _of_variant(getattr(recipe, stage), variant)
    settings["betas"] = tuple(settings["betas"])
    if "final_epochs" in settings:
        final_epochs = settings.pop("final_epochs")
        settings["final_tokens"] = final_epochs * pretrain_dataset_len * block_size
    return settings


def _of_variant(table: dict, variant: str) -> dict:
    """Return a table's settings, or those of the variant's own table in it, if there is one."""
    settings = table.get(variant, table)
    return {name: value for name, value in settings.items() if not isinstance(value, dict)}


def _tables() -> dict:
    """Return the contents of edition.json, or, in staff's checkout, of assignment.toml."""
    root = HERE.parent.parent
    if os.path.isfile(root / "autograder" / "description.py"):  # may be locked
        return _of_checkout(root)
    path = HERE.parent / "edition.json"
    if not path.is_file():
        raise InputError(f"{path} is missing, which has the recipes: unpack the course's zip again")
    return json.loads(path.read_text(encoding="utf-8"))


@functools.cache
def _of_checkout(root: Path) -> dict:
    """Return what edition.json would have; students have no folder `autograder`."""
    if "autograder" not in sys.modules:
        sys.path.insert(1, str(root))
    try:
        description = importlib.import_module("autograder.description")
        return description.load_assignment(root).for_training()
    except Exception as error:  # a package of staff is missing, or the file has a mistake
        raise InputError(f"the recipes can't be read: {error}") from None
