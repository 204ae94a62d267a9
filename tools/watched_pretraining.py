"""Pretrain one variant, and save its parameters along the way. Called by tools/compare.py.

    python tools/watched_pretraining.py FOLDER VARIANT --marks 4

FOLDER is like build/reference; the model of its package `submission` is trained. Writes
FOLDER/VARIANT.STEPS.params for each mark, and VARIANT.pretrained.json: parameters, pace, and for
each mark its steps, seconds and tokens. Every variant is trained for the number of steps that the
recipe has for vanilla.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from pretraining.fast import Engine
    from submission.trainer import Trainer


def watched(trainer: Trainer, steps: list[int], save: Callable[[int], None]) -> list[dict]:
    """Make a Trainer count, and call save(steps) after each number of `steps`.

    Returns:
        a list that training fills with each mark's steps, seconds (without saving) and tokens
        (without padding).
    """
    own_class = type(trainer)
    marks: list[dict] = []
    counted = {"seconds": 0.0, "tokens": 0}

    def learn(self: Trainer, engine: Engine, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if self is not trainer:  # a copy, whose steps are timed to choose a pace
            return own_class.learn(self, engine, x, y)
        started = time.perf_counter()
        loss = own_class.learn(self, engine, x, y)
        loss.item()  # on a GPU, this waits for the step to end
        counted["seconds"] += time.perf_counter() - started
        counted["tokens"] += int((x != 0).sum())
        if self.order.done in steps:
            save(self.order.done)
            marks.append({"steps": self.order.done, **counted})
        return loss

    trainer.__class__ = type("Watched", (own_class,), {"learn": learn})
    return marks


def pretrain(folder: Path, variant: str, recipe_name: str | None, seed: int, marks: int) -> None:
    """Pretrain; see the module's docstring."""
    from pretraining import recipes
    from submission import helper, utils
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPTConfig

    recipe = recipes.load_recipe(recipe_name)
    utils.set_seed(seed)
    text = utils.read_text(folder / "src/data/wiki.txt").removesuffix("\n")
    fields = recipe.model_of(variant)
    dataset = CharCorruptionDataset(text, fields["block_size"])
    config = GPTConfig(dataset.vocab_size, **fields)
    model = getattr(helper, f"initialize_{variant}_model")(config)
    _, trainer = helper.pretrain(dataset, dataset.block_size, model, recipe=recipe.name)
    trainer.config.max_epochs = recipe.pretrain["max_epochs"]
    total = trainer.config.max_epochs * -(-len(dataset) // trainer.config.batch_size)
    steps = [round(total * (number + 1) / marks) for number in range(marks)]

    def save(done: int) -> None:
        utils.save_parameters(model, folder / f"{variant}.{done}.params")

    passed = watched(trainer, steps, save)
    trainer.train()
    found = {
        "variant": variant,
        "recipe": recipe.name,
        "parameters": sum(p.numel() for p in model.parameters()),
        "pace": str(trainer.pace),
        "marks": passed,
    }
    text = json.dumps(found, indent=1) + "\n"
    (folder / f"{variant}.pretrained.json").write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("variant")
    parser.add_argument("--recipe")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--marks", type=int, default=4)
    asked = parser.parse_args()
    sys.path.insert(0, str(asked.folder / "src"))
    pretrain(asked.folder, asked.variant, asked.recipe, asked.seed, asked.marks)


if __name__ == "__main__":
    main()
