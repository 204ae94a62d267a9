"""Pretrain two variants for equally many steps, with two seeds each, and compare what they learn.

    python src/run.py compare vanilla wiki.txt --second_variant synthesizer

Each recipe trains a variant until it answers well, so that the accuracies of the problem sheet
compare unequal trainings. Here, both take the steps that the recipe has for the first variant, at
the same pace, and are then finetuned and asked about the same people. A difference is that of the
same people and seeds, so its standard error is smaller than those of the two accuracies suggest. It
doesn't include how much another seed would change: for this, compare the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pretraining import GPT, Trainer

from .estimates import bars, mean, table


@dataclass(frozen=True)
class Trained:
    """A variant after its training with a seed.

    Attributes:
        steps, step_s: of pretraining; the seconds that a step took.
        right: for each person, whether the answer is right after finetuning: 1 or 0.
    """

    variant: str
    seed: int
    parameters: int
    steps: int
    step_s: float
    right: list[float]


def train_all(
    variants: Sequence[str],
    seeds: Sequence[int],
    prepare: Callable[[str, int], Trainer],
    ask: Callable[[GPT], list[bool]],
) -> Iterator[Trained]:
    """Train each variant with each seed, for the steps and at the pace of the very first training.

    Args:
        prepare: returns the Trainer of a new model of a variant, with a seed.
        ask: finetunes a model, and returns which of its answers are right.
    """
    epochs = pace = None
    for seed in seeds:
        for variant in variants:
            trainer = prepare(variant, seed)
            config = trainer.config
            config.max_epochs = epochs = epochs or config.max_epochs
            if pace is not None:
                config.dtype, config.threads = pace.dtype, pace.threads
            started = time.perf_counter()
            trainer.train()
            step_s = (time.perf_counter() - started) / len(trainer.history)
            pace = trainer.pace
            parameters = sum(p.numel() for p in trainer.model.parameters())
            right = [float(each) for each in ask(trainer.model)]
            yield Trained(variant, seed, parameters, len(trainer.history), step_s, right)


def report(results: Sequence[Trained]) -> tuple[list[str], str]:
    """Return all trainings as a table, the difference between the variants, and a picture."""
    header = ["variant", "seed", "parameters", "steps", "seconds a step", "right on dev"]
    rows = [
        [r.variant, r.seed, f"{r.parameters:,}", r.steps, f"{r.step_s:.3f}", mean(r.right)]
        for r in results
    ]
    names, seeds = dict.fromkeys(r.variant for r in results), dict.fromkeys(r.seed for r in results)
    first_name, second_name = names
    first, second = (
        [sum(person) / len(person) for person in zip(*rights, strict=True)]
        for rights in ([r.right for r in results if r.variant == name] for name in names)
    )
    difference = mean([b - a for a, b in zip(first, second, strict=True)])
    text = f"{second_name} minus {first_name}, person by person, mean of the seeds: {difference}"
    groups = {name: [mean(r.right) for r in results if r.variant == name] for name in names}
    title = f"After {results[0].steps} steps of pretraining each, and finetuning"
    picture = bars(title, [f"seed {seed}" for seed in seeds], groups, "right on dev")
    return [table(header, rows), text], picture
