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
import itertools
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from inputs import Setting, build_model, predict, read_answered
from pretraining import returned
from pretraining.parameter_files import save_tensors
from submission import helper, utils
from submission.dataset import CharCorruptionDataset
from submission.model import GPT, GPTConfig
from submission.trainer import Trainer

from .estimates import Results, bars, mean, table
from .gaps import CHOICES, choices, fillings, first_is_likeliest
from .people import DEV, TEST, TRAIN, Person, names_in, people_in

# None of these occurs in the generated world's corpus.
UNSEEN = ("{name} came from {gap}, as everybody knew", "{name} grew up in {gap}, and never left")
WORDINGS_AND_STEPS = ((1, 2), (4, 1))  # the latter as multiples of the recipe's


def new_model(setting: Setting, variant: str, seed: int) -> GPT:
    """Set the seed, and return an untrained model of the recipe's shape."""
    utils.set_seed(seed)
    config = GPTConfig(setting.dataset.vocab_size, **setting.recipe.model_of(variant))
    return build_model(variant, config, setting.device)


def trainer_of(setting: Setting, function: Callable, *arguments: Any) -> Trainer:
    """Return the Trainer that a function of the student's helper prepares with these arguments.

    It has the data type and the threads that the command's options name.
    """
    trainer = returned.trainer(function, function(*arguments, recipe=setting.recipe.name))
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
        given = params, str(corpus), dataset, dataset.block_size, model
        trainer = trainer_of(setting, helper.finetune, *given)
    trainer.train()
    answers = predict(model, dataset, corpus, [person.question for person in people])
    return [float(a.place == person.place) for a, person in zip(answers, people, strict=True)]


# -- wordings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Learnt:
    """What a model learnt from a number of wordings.

    `own` and `unseen` say for each person whether the right place was chosen among CHOICES, 1 or 0,
    in the sentence of the corpus, and on average in other words; `own_nats` and `unseen_nats` are
    the losses on the letters of these places, in nats per letter.
    """

    wordings: int  # of each person
    steps: int  # of pretraining
    training_loss: float  # of the last step of pretraining, in nats per character
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
    """Let a pretrained model fill the gap in sentences, a MASK, with the person's place.

    Returns:
        for each sentence whether the choice is right, 1 or 0, and the loss in nats per letter.
    """
    people = [person for _, person in sentences]
    offered = choices(people, places, lambda place, own: place[0] != own[0])
    asked = [(text, some) for (text, _), some in zip(sentences, offered, strict=True)]
    logp = fillings(model, dataset, asked)
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
    trainer = trainer_of(setting, helper.pretrain, part, part.block_size, model)
    epochs, size = trainer.config.max_epochs, trainer.config.batch_size
    steps = factor * epochs * math.ceil(len(dataset.data) / size)
    trainer.config.max_epochs = max(1, round(steps / math.ceil(len(part.data) / size)))
    trainer.train()
    places, mask = {person.place for person in people}, dataset.MASK_CHAR
    seen = [
        (line.replace(person.place, mask, 1), person)
        for person in people
        for line in own[person.name][:1]
        if person.place in line
    ]
    asked = [(words.format(name=p.name, gap=mask), p) for p in people for words in UNSEEN]
    filled = torch.tensor(fill(model, dataset, asked, places)).unflatten(1, (-1, len(UNSEEN)))
    unseen, unseen_nats = filled.mean(dim=2).tolist()
    return Learnt(
        wordings,
        steps,
        trainer.history[-1],
        *fill(model, dataset, seen, places),
        unseen,
        unseen_nats,
        finetuned_answers(setting, corpus, people, model),
    )


def run_wordings(setting: Setting) -> Results:
    """Pretrain on one wording and on four, finetune both, and ask about the dev people."""
    corpus, _, _ = read_answered(setting.args.finetune_corpus_path or TRAIN)
    people = people_in(setting.args.eval_corpus_path)
    names = [name for file in (TRAIN, DEV, TEST) for name in names_in(file)]
    header = ["wordings", "steps", "training loss", "own sentence", "nats"]
    header += ["other words", "nats", "questions"]
    rows, groups = [], {}
    for count, factor in WORDINGS_AND_STEPS:
        r = learn(setting, corpus, names, people, count, factor)
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


def run_compare(setting: Setting) -> Results:
    """Pretrain two variants with two seeds each, finetune them, and ask about the dev people.

    All take the steps and the pace of the very first training.
    """
    args, dataset = setting.args, setting.dataset
    corpus, _, _ = read_answered(args.finetune_corpus_path or TRAIN)
    people = people_in(args.eval_corpus_path)
    variants, seeds = (args.variant, args.second_variant), (args.seed, args.seed + 1)
    rows, epochs, pace = [], None, None
    rights: dict[str, list[list[float]]] = {variant: [] for variant in variants}
    for seed, variant in itertools.product(seeds, variants):
        model = new_model(setting, variant, seed)
        trainer = trainer_of(setting, helper.pretrain, dataset, dataset.block_size, model)
        config = trainer.config
        config.max_epochs = epochs = epochs or config.max_epochs
        if pace is not None:
            config.dtype, config.threads = pace.dtype, pace.threads
        started = time.perf_counter()
        trainer.train()
        steps, taken_s, pace = len(trainer.history), time.perf_counter() - started, trainer.pace
        right = finetuned_answers(setting, corpus, people, trainer.model)
        print(f"{variant}, seed {seed}: {int(sum(right))} of {len(people)} right", flush=True)
        parameters = f"{sum(p.numel() for p in trainer.model.parameters()):,}"
        rows.append([variant, seed, parameters, steps, f"{taken_s / steps:.3f}", mean(right)])
        rights[variant].append(right)
    header = ["variant", "seed", "parameters", "steps", "seconds a step", "right on dev"]
    first, second = (torch.tensor(by_seed).mean(dim=0) for by_seed in rights.values())
    text = (
        f"{args.second_variant} minus {args.variant}, person by person, mean of the seeds: "
        f"{mean(second - first)}"
    )
    groups = {variant: list(map(mean, by_seed)) for variant, by_seed in rights.items()}
    title = f"After {steps} steps of pretraining each, and finetuning"
    picture = bars(title, [f"seed {seed}" for seed in seeds], groups, "right on dev")
    return [table(header, rows), text], picture
