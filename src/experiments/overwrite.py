"""Teach a finetuned model new facts, and see which old ones it still answers.

    python src/run.py overwrite vanilla wiki.txt --reading_params_path vanilla.finetune.params

The model is finetuned further on one of three sets, and asked about people in none of them:

- *true*: people that it knows, with their true places;
- *unknown*: people who occur nowhere, with places drawn for them;
- *false*: the people of *true*, with the places of others.

All sets have the same places equally often, so that learning a few places better can't explain a
difference (Gekhman et al. 2024, and Zucchet et al. 2025, on facts that a model doesn't know).

A set that the model knows already moves its parameters less. Both comparisons are therefore
printed: after equally many steps, and when the parameters have moved equally far.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.utils import clip_grad_norm_

from inputs import Setting
from pretraining import GPT, InputError
from pretraining.batches import TextExamples
from pretraining.optimizers import AdamW

from .ablate import Questions, answers, losses
from .estimates import Estimate, Results, curves, mean, table
from .people import Person, names_in, people_in

EPOCHS, BATCH_SIZE, LEARNING_RATE = 20, 32, 2e-4
LOOKS = 10  # how often the other people are asked during a finetuning


@dataclass(frozen=True)
class Moment:
    """A look at a model during its finetuning."""

    epoch: int
    learnt: float  # the share of the set's people whose places in the set are answered
    moved: float  # how far the parameters are from where they began, relative to their norm then
    kept: torch.Tensor  # for each of the others, whether the true place is answered, (B,), bool


Run = dict[str, list[Moment]]  # for each set


def sets_of(known: Sequence[Person], unknown: Sequence[str], seed: int) -> dict[str, list[Person]]:
    """Return the three sets; each has as many people as the shorter of the two lists.

    Args:
        known: people with their true places.
        unknown: names of people who occur nowhere.
    """
    rng = random.Random(seed)
    size = min(len(known), len(unknown))
    true = rng.sample(list(known), size)
    names, places = [person.name for person in true], [person.place for person in true]
    strangers = rng.sample(list(unknown), size)
    shuffled = rng.sample(places, size)
    return {
        "true": true,
        "unknown": list(map(Person, strangers, shuffled)),
        "false": list(map(Person, names, deranged(places, rng))),
    }


def deranged(places: Sequence[str], rng: random.Random) -> list[str]:
    """Return places in another order, in which each stands where another one stood.

    That exists where no place makes up more than half of them.
    """
    moved = rng.sample(list(places), len(places))
    for i, place in enumerate(places):
        swaps = [j for j, other in enumerate(moved) if other != place and places[j] != place]
        if moved[i] == place and swaps:
            j = rng.choice(swaps)
            moved[i], moved[j] = moved[j], moved[i]
    return moved


def finetune(
    model: GPT,
    dataset: TextExamples,
    taught: Sequence[Person],
    others: Sequence[Person],
    seed: int,
) -> list[Moment]:
    """Finetune a copy of a model on a set, and ask about the others from time to time."""
    model = copy.deepcopy(model)
    parameters = [p for p in model.parameters() if p.requires_grad]

    def values() -> torch.Tensor:
        # A copy of all parameters; torch's parameters_to_vector refuses transposed ones.
        return torch.cat([p.detach().flatten() for p in parameters])

    start = values()
    own, asked = (Questions(dataset, people, start.device) for people in (taught, others))
    optimizer = AdamW(parameters, lr=LEARNING_RATE, weight_decay=0.0)
    generator = torch.Generator().manual_seed(seed)

    def look(epoch: int) -> Moment:
        model.eval()
        learnt = float(answers(model, own).right.double().mean())
        moved = float((values() - start).norm() / start.norm())
        return Moment(epoch, learnt, moved, answers(model, asked).right)

    moments = [look(0)]
    for epoch in range(1, EPOCHS + 1):
        model.train()
        for rows in torch.randperm(len(taught), generator=generator).split(BATCH_SIZE):
            optimizer.zero_grad()
            _, loss = losses(model, own.ids[rows.to(start.device)])
            loss[own.asked[rows.to(start.device)]].mean().backward()
            clip_grad_norm_(parameters, 1.0)
            optimizer.step()
        if epoch * LOOKS % EPOCHS < LOOKS:
            moments.append(look(epoch))
    return moments


def kept_when_moved(moments: Sequence[Moment], moved: float) -> torch.Tensor:
    """Return for each person how far the true place is answered at a given distance, (B,), float.

    Between two looks, the share is interpolated.
    """
    for before, after in zip(moments, moments[1:], strict=False):
        if before.moved <= moved <= after.moved:
            part = (moved - before.moved) / max(after.moved - before.moved, 1e-12)
            return before.kept.double() * (1 - part) + after.kept.double() * part
    return moments[-1].kept.double()


def compare(runs: Sequence[Run]) -> dict[str, torch.Tensor]:
    """Return how much more is kept with one set than with another: "true minus unknown", ...

    The differences are person by person, so the same people must be asked in the same order after
    each set.

    Args:
        runs: one for each half of the people.

    Returns:
        (2, B), double: after equally many steps, and at equal change of the parameters.
    """
    compared = {}
    for better, worse in (("true", "unknown"), ("unknown", "false")):
        halves = []
        for run in runs:
            moved = min(run[better][-1].moved, run[worse][-1].moved)
            kept = [
                torch.stack([run[name][-1].kept.double(), kept_when_moved(run[name], moved)])
                for name in (better, worse)
            ]
            halves.append(kept[0] - kept[1])
        compared[f"{better} minus {worse}"] = torch.cat(halves, dim=1)
    return compared


def overwrite(
    model: GPT,
    dataset: TextExamples,
    halves: Sequence[Sequence[Person]],
    unknown: Sequence[str],
    seed: int,
) -> list[Run]:
    """Finetune on each set, made of one half of the people, and ask about the other half."""
    runs: list[Run] = []
    for taught, others in (halves, halves[::-1]):
        runs.append({})
        for name, people in sets_of(taught, unknown, seed).items():
            first, *_, last = runs[-1][name] = finetune(model, dataset, people, others, seed)
            print(
                f"{name}: {last.learnt:.0%} of {len(people)} learnt, others "
                f"{first.kept.double().mean():.0%} -> {last.kept.double().mean():.0%}, "
                f"parameters moved by {last.moved:.1%}"
            )
    return runs


def run(setting: Setting) -> Results:
    """Teach each set made of one half of the dev people, and ask about the other half.

    The picture shows what is kept by epochs, and by how far the parameters have moved.

    Raises:
        InputError: there is only one person.
    """
    args, people = setting.args, people_in(setting.args.eval_corpus_path)
    if len(people) < 2:
        raise InputError("got a table with one person, expected two or more: half are taught")
    halves = people[: len(people) // 2], people[len(people) // 2 :]
    strangers = names_in(args.unseen_corpus_path)
    runs = overwrite(setting.model, setting.dataset, halves, strangers, args.seed)
    rows, by_epoch, by_change = [], {}, {}
    for name in runs[0]:
        moments = list(zip(*(each[name] for each in runs), strict=True))
        kept = [mean(torch.cat([m.kept for m in each])) for each in moments]
        moved = [sum(m.moved for m in each) / len(each) for each in moments]
        learnt = sum(m.learnt for m in moments[-1]) / len(runs)
        rows.append([name, f"{learnt:.0%}", kept[0], kept[-1], f"{moved[-1]:.1%}"])
        drawn = [Estimate(each.value) for each in kept]
        by_epoch[name] = [float(each[0].epoch) for each in moments], drawn
        by_change[name] = moved, drawn
    compared = [[name, *map(mean, both)] for name, both in compare(runs).items()]
    sizes = " and ".join(str(min(len(half), len(strangers))) for half in halves)
    text = [
        table(["set", "learnt", "others before", "others after", "parameters moved"], rows),
        table(["others, person by person", "equal steps", "equal change"], compared),
        f"Each set is made twice, of {sizes} people, while the other half of the {len(people)} is "
        f"asked about; {EPOCHS} epochs, seed {args.seed}.",
    ]
    title = "What a model still answers while it is taught something else"
    below = {"epochs": by_epoch, "change of the parameters, relative to their norm": by_change}
    return text, curves(title, below, "share of the others' places")
