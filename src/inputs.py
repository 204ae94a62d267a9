"""Finds and checks what commands that run models work with: files, recipe, device, model."""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pretraining import InputError, recipes, returned
from submission import helper, utils
from submission.dataset import CharCorruptionDataset
from submission.model import GPT, GPTConfig

DATA = Path(__file__).resolve().parent / "data"
STAFF = Path(__file__).resolve().parent / "staff"  # a model, and the data set of its own world


@dataclass(frozen=True)
class Setting:
    """What a command works with."""

    args: argparse.Namespace
    recipe: recipes.Recipe
    device: torch.device
    dataset: Any = None  # a CharCorruptionDataset, if the command needs a corpus
    model: Any = None  # a GPT, likewise


def find_data(path: str) -> Path:
    """Find a data file, at the given path or else in src/data/.

    Raises:
        InputError: it is in neither place.
    """
    for candidate in (Path(path), DATA / path):
        if candidate.is_file():
            return candidate
    raise InputError(
        f"{path}: no such file, neither here nor in {DATA} (is the data installed? see README.md)"
    )


def read_corpus(path: str, block_size: int) -> CharCorruptionDataset:
    """Read the pretraining corpus without its final newline, which some copies lack."""
    found = find_data(path)
    text = utils.read_text(found).removesuffix("\n")
    try:
        return CharCorruptionDataset(text, block_size)
    except InputError as error:
        raise InputError(f"{found}: {error}") from None


def read_answered(path: str) -> tuple[Path, list[str], list[str]]:
    """Read questions with their places; return the path of the file, questions and places.

    Raises:
        InputError: the file has no places, or a malformed line.
    """
    found = find_data(path)
    questions, places = utils.read_places(found)
    if places is None:
        raise InputError(f"{found}: got only questions, expected questions with their places")
    return found, questions, places


def predict(
    model: GPT, dataset: CharCorruptionDataset, found: Path, questions: list[str]
) -> list[utils.Prediction]:
    """Return a model's answers to the questions of a file; errors name the file."""
    try:
        return utils.predict_places(model, dataset, questions)
    except InputError as error:
        raise InputError(f"{found}: {error}") from None


def choose_recipe(name: str | None) -> recipes.Recipe:
    """Return the named recipe, or the installed data set's; warn if the two differ."""
    dataset = recipes.installed_dataset()
    usual = recipes.default_recipe(dataset)
    recipe = recipes.load_recipe(name)
    if dataset not in (None, *recipe.also_for) and recipe.name != usual:
        print(
            f"Warning: the thresholds of the data set {dataset} were set for the recipe {usual}, "
            f"not for {name}.",
            file=sys.stderr,
        )
    return recipe


def staffs_recipe() -> recipes.Recipe:
    """Return the recipe of the staff's model.

    Raises:
        InputError: this copy has no such model.
    """
    if not STAFF.is_dir():
        raise InputError(
            f"{STAFF} is missing, which has the staff's model: unpack the course's zip"
        )
    return recipes.load_recipe(recipes.default_recipe(recipes.installed_dataset(STAFF)))


def choose_device(name: str) -> torch.device:
    """Return the named device; "auto" means the first available of cuda, mps, cpu."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    available["cpu"] = True
    if name == "auto":
        name = next(device for device, there in available.items() if there)
    if not available[name]:
        raise InputError(f"--device {name}: torch {torch.__version__} finds none on this machine")
    return torch.device(name)


def check_readable(path: str) -> None:
    """Raise an InputError unless `path` is a file, before the corpus is read."""
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file, expected trained parameters")


def check_writable(path: str, inputs: list[str]) -> None:
    """Raise an InputError unless `path` can be written without loss, before hours of training.

    Args:
        inputs: paths of the files that the command reads.
    """
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InputError(f"{path}: the folder {folder} does not exist")
    if DATA.resolve() in (folder, *folder.parents):
        raise InputError(f"{path}: in the folder of the data set, where nothing is written")
    for read in inputs:
        if any(_is_same(path, candidate) for candidate in (Path(read), DATA / read)):
            raise InputError(
                f"{path}: this file is to be read and written (are two options mixed up?)"
            )
    if Path(path).is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: can't be written")


def _is_same(path: str, other: Path) -> bool:
    """Return whether both names are the same existing file's."""
    return os.path.exists(path) and other.exists() and os.path.samefile(path, other)


def build_model(variant: str, config: GPTConfig, device: torch.device) -> GPT:
    """Return a new model of a variant, after checking that its forward method works."""
    name = f"initialize_{variant}_model"
    if not hasattr(helper, name):
        raise InputError(f"{helper.__file__} has no {name} (is it from an earlier year?)")
    initialize = getattr(helper, name)
    model = returned.model(initialize, initialize(config)).to(device)
    returned.check_forward(model, config.vocab_size)
    return model


def load(model: GPT, path: str) -> Mapping[str, torch.Tensor]:
    """Give a model the parameters in a file; return them."""
    parameters = utils.load_parameters(path, model)
    model.load_state_dict(parameters)
    return parameters
