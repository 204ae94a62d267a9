"""Pretrain models of one's own, finetune them, and compare what they learnt.

    python src/run.py wordings vanilla wiki.txt --finetune_corpus_path birth_places_train.tsv
    python src/run.py compare vanilla wiki.txt --second_variant synthesizer

`wordings`: the corpus says in four sentences where somebody was born. One model is pretrained on a
single one of them, for twice as many steps, and another on all four; then both are finetuned on the
same questions (Allen-Zhu and Li 2023, section 3.1). Both complete the sentences that they were
trained on. The table shows which of them can also complete sentences in other words, and answer
questions: what is memorised can't always be asked. This takes two to three times as long as one
pretraining.

`compare`: each recipe trains a variant until it answers well, so that the accuracies of the problem
sheet compare unequal trainings. Here, two variants take the steps that the recipe has for the first
one, at the same pace, with two seeds each. They are then finetuned and asked about the same people.
A difference is that of the same people and seeds, so its standard error is smaller than those of
the two accuracies suggest. It doesn't include how much another seed would change: for this, compare
the rows.
"""

from __future__ import annotations

import copy
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inputs import Setting, build_model, predict
from pretraining import returned
from pretraining.parameter_files import save_tensors
from submission import helper, utils
from submission.dataset import CharCorruptionDataset
from submission.model import GPT, GPTConfig
from submission.trainer import Trainer

from .estimates import Results, bars, mean, table
from .gaps import CHOICES, choices, fillings, first_is_likeliest
from .people import Person

# None of these occurs in the generated world's corpus.
UNSEEN = ("{name} came from _, as everybody knew", "{name} grew up in _, and never left")
WORDINGS_AND_STEPS = ((1, 2), (4, 1))  # the latter as multiples of the recipe's


def new_model(setting: Setting, variant: str, seed: int) -> GPT:
    """Return an untrained model of the recipe's shape, after setting the seed."""
    utils.set_seed(seed)
    config = GPTConfig(setting.dataset.vocab_size, **setting.recipe.model_of(variant))
    return build_model(variant, config, setting.device)


def pretraining(setting: Setting, dataset: CharCorruptionDataset, model: GPT) -> Trainer:
    """Return the Trainer with which the student's code would pretrain a model."""
    prepared = helper.pretrain(dataset, dataset.block_size, model, recipe=setting.recipe.name)
    return _paced(setting, returned.trainer(helper.pretrain, prepared))


def _paced(setting: Setting, trainer: Trainer) -> Trainer:
    """Let a training have the data type and the threads that the command's options name."""
    trainer.config.dtype, trainer.config.threads = setting.args.dtype, setting.args.threads
    return trainer


def finetuned_answers(
    setting: Setting, corpus: Path, people: Sequence[Person], model: GPT
) -> list[float]:
    """Finetune a pretrained model on a table; return for each person 1 if it is right, else 0."""
    dataset = setting.dataset
    with tempfile.TemporaryDirectory() as folder:
        params = str(Path(folder) / "pretrained.params")
        save_tensors(model.state_dict(), params)
        prepared = helper.finetune(
            params, str(corpus), dataset, dataset.block_size, model, recipe=setting.recipe.name
        )
    _paced(setting, returned.trainer(helper.finetune, prepared)).train()
    answers = predict(model, dataset, corpus, [person.question for person in people])
    return [float(a.place == person.place) for a, person in zip(answers, people, strict=True)]


# -- wordings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learnt:
    """What a model learnt from a number of wordings.

    `own` and `unseen` say for each sentence of the corpus, and in other words, whether the right
    place was chosen among CHOICES, 1 or 0; `own_nats` and `unseen_nats` are the losses on the
    letters of these places, in nats per letter.
    """

    wordings: int  # of each person
    steps: int  # of pretraining
    training_loss: float  # the last one that pretraining printed, in nats per character
    own: list[float]
    own_nats: list[float]
    unseen: list[float]
    unseen_nats: list[float]
    questions: list[float]  # for each person, whether the answer is right after finetuning: 1 or 0


def fill(
    model: GPT,
    dataset: CharCorruptionDataset,
    sentences: Sequence[tuple[str, Person]],
    places: set[str],
) -> tuple[list[float], list[float]]:
    """Let a pretrained model fill the gap _ in sentences with the person's place.

    Returns:
        for each sentence whether the choice is right, 1 or 0, and the loss in nats per letter.
    """
    asked = [sentence.replace("_", dataset.MASK_CHAR) for sentence, _ in sentences]
    people = [person for _, person in sentences]
    offered = choices(people, places, lambda place, own: place[0] != own[0])
    logp = fillings(model, dataset, list(zip(asked, offered, strict=True)))
    nats = [-row[0] / len(person.place) for row, person in zip(logp, people, strict=True)]
    return list(map(float, first_is_likeliest(logp))), nats


def learn(
    setting: Setting,
    corpus: Path,
    names: Sequence[str],
    people: Sequence[Person],
    wordings: int,
    factor: int,
) -> Learnt:
    """Pretrain a new model on some wordings of each person, and measure what it learnt.

    Args:
        corpus: the table to finetune on.
        names: of everybody; lines that name nobody are kept.
        people: those that are asked about.
        factor: how many times as many steps it takes as one that is pretrained on everything.
    """
    dataset = setting.dataset
    model = new_model(setting, setting.args.variant, setting.args.seed)
    own = {name: [line for line in dataset.data if name in line] for name in names}
    dropped = {line for lines in own.values() for line in lines[wordings:]}
    part = copy.copy(dataset)  # with the same vocabulary
    part.data = [line for line in dataset.data if line not in dropped]
    trainer = pretraining(setting, part, model)
    epochs, size = trainer.config.max_epochs, trainer.config.batch_size
    steps = factor * epochs * math.ceil(len(dataset.data) / size)
    trainer.config.max_epochs = max(1, round(steps / math.ceil(len(part.data) / size)))
    trainer.train()
    places = {person.place for person in people}
    seen = [
        (line.replace(person.place, "_", 1), person)
        for person in people
        for line in own[person.name][:1]
        if person.place in line
    ]
    unseen = [(words.format(name=person.name), person) for person in people for words in UNSEEN]
    return Learnt(
        wordings,
        steps,
        float(trainer.history[-1]),
        *fill(model, dataset, seen, places),
        *fill(model, dataset, unseen, places),
        finetuned_answers(setting, corpus, people, model),
    )


def report_wordings(results: Sequence[Learnt]) -> Results:
    """Return the results as a table, and what each model gets right as a picture."""
    header = ["wordings", "steps", "training loss", "own sentence", "nats"]
    header += ["other words", "nats", "questions"]
    rows, groups = [], {}
    for r in results:
        columns = [r.own, r.own_nats, r.unseen, r.unseen_nats, r.questions]
        rows.append([r.wordings, r.steps, f"{r.training_loss:.2f}", *map(mean, columns)])
        title = f"{r.wordings} wording{'s' * (r.wordings > 1)}, {r.steps} steps"
        groups[title] = [mean(r.own), mean(r.unseen), mean(r.questions)]
    text = [
        table(header, rows),
        f"A choice is one of {CHOICES}; the losses are in nats per letter of the place.",
    ]
    title = "What is right after one wording for each person, and after four"
    names = ["own sentence", "other words", "questions"]
    return text, bars(title, names, groups, "share of right answers")


# -- compare --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A variant after its training with a seed."""

    variant: str
    seed: int
    parameters: int
    steps: int  # of pretraining
    step_s: float  # the seconds that each took
    right: list[float]  # for each person, whether the answer is right after finetuning: 1 or 0


def train_all(
    setting: Setting,
    variants: Sequence[str],
    seeds: Sequence[int],
    corpus: Path,
    people: Sequence[Person],
) -> Iterator[Trained]:
    """Train each variant with each seed, for the steps and at the pace of the very first training.

    Args:
        corpus: the table to finetune on.
        people: those that are asked about.
    """
    epochs = pace = None
    for seed in seeds:
        for variant in variants:
            trainer = pretraining(setting, setting.dataset, new_model(setting, variant, seed))
            config = trainer.config
            config.max_epochs = epochs = epochs or config.max_epochs
            if pace is not None:
                config.dtype, config.threads = pace.dtype, pace.threads
            started = time.perf_counter()
            trainer.train()
            step_s = (time.perf_counter() - started) / len(trainer.history)
            pace = trainer.pace
            parameters = sum(p.numel() for p in trainer.model.parameters())
            right = finetuned_answers(setting, corpus, people, trainer.model)
            yield Trained(variant, seed, parameters, len(trainer.history), step_s, right)


def report_comparison(results: Sequence[Trained]) -> Results:
    """Return all trainings as a table, the difference between the variants, and a picture."""
    header = ["variant", "seed", "parameters", "steps", "seconds a step", "right on dev"]
    rows = [
        [r.variant, r.seed, f"{r.parameters:,}", r.steps, f"{r.step_s:.3f}", mean(r.right)]
        for r in results
    ]
    rights: dict[str, list[list[float]]] = {}
    for r in results:
        rights.setdefault(r.variant, []).append(r.right)
    first, second = (
        [sum(person) / len(person) for person in zip(*by_seed, strict=True)]
        for by_seed in rights.values()
    )
    names, seeds = list(rights), dict.fromkeys(r.seed for r in results)
    difference = mean([b - a for a, b in zip(first, second, strict=True)])
    text = f"{names[1]} minus {names[0]}, person by person, mean of the seeds: {difference}"
    groups = {name: list(map(mean, by_seed)) for name, by_seed in rights.items()}
    title = f"After {results[0].steps} steps of pretraining each, and finetuning"
    picture = bars(title, [f"seed {seed}" for seed in seeds], groups, "right on dev")
    return [table(header, rows), text], picture
