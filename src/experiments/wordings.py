"""Pretrain on one wording for each person, and on four: what is memorised can't always be asked.

    python src/run.py wordings vanilla wiki.txt --finetune_corpus_path birth_places_train.tsv

The corpus says in four sentences where somebody was born. One model is pretrained on a single one
of them, for twice as many steps, and another on all four; then both are finetuned on the same
questions (Allen-Zhu and Li 2023, section 3.1). Both complete the sentences that they were trained
on. The table shows which of them can also complete sentences in other words, and answer questions.

This trains two models, which takes two to three times as long as one pretraining.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pretraining import GPT, CharCorruptionDataset, Trainer

from .estimates import bars, mean, table
from .people import Person, fillings

CANDIDATES = 10
# None of these occurs in the generated world's corpus.
UNSEEN = ("{name} came from _, as everybody knew", "{name} grew up in _, and never left")
WORDINGS_AND_STEPS = ((1, 2), (4, 1))  # the latter as multiples of the recipe's


@dataclass(frozen=True)
class Learnt:
    """What a model learnt from a number of wordings.

    Attributes:
        wordings, steps: of each person, and of pretraining.
        training_loss: the last one that pretraining printed, in nats per character.
        own, unseen: for each sentence of the corpus, and in other words, whether the right place
            was chosen among CANDIDATES: 1 or 0.
        own_nats, unseen_nats: the loss on the letters of these places, in nats per letter.
        questions: for each person, whether the answer is right after finetuning: 1 or 0.
    """

    wordings: int
    steps: int
    training_loss: float
    own: list[float]
    own_nats: list[float]
    unseen: list[float]
    unseen_nats: list[float]
    questions: list[float]


def fill(
    model: GPT,
    dataset: CharCorruptionDataset,
    sentences: Sequence[tuple[str, Person]],
    places: set[str],
) -> tuple[list[float], list[float]]:
    """Let a pretrained model fill the gap in sentences with a place.

    Args:
        sentences: with _ for the gap, and whose place belongs there.
        places: from which the others are drawn.

    Returns:
        for each sentence whether the choice among CANDIDATES is right, 1 or 0, and the loss in
        nats per letter.
    """
    rng, asked = random.Random(0), []
    for sentence, person in sentences:
        others = sorted(p for p in places if p[0] != person.place[0])
        drawn = rng.sample(others, min(CANDIDATES - 1, len(others)))
        asked.append((sentence.replace("_", dataset.MASK_CHAR), [person.place, *drawn]))
    logp = fillings(model, dataset, asked)
    right = [float(all(first > other for other in others)) for first, *others in logp]
    nats = [-row[0] / len(person.place) for row, (_, person) in zip(logp, sentences, strict=True)]
    return right, nats


def learn(
    wordings: int,
    factor: int,
    names: Sequence[str],
    people: Sequence[Person],
    dataset: CharCorruptionDataset,
    model: GPT,
    pretrain: Callable[[CharCorruptionDataset, GPT], Trainer],
    ask: Callable[[GPT], Sequence[bool]],
) -> Learnt:
    """Pretrain a new model on some wordings of each person, and measure what it learnt.

    Args:
        factor: how many times as many steps it takes as one that is pretrained on everything.
        names: of everybody; lines that name nobody are kept.
        people: those that are asked about.
        pretrain: prepares a Trainer for a dataset and a model.
        ask: finetunes a model, and returns which of its answers are right.
    """
    own = {name: [line for line in dataset.data if name in line] for name in names}
    dropped = {line for lines in own.values() for line in lines[wordings:]}
    part = copy.copy(dataset)  # with the same vocabulary
    part.data = [line for line in dataset.data if line not in dropped]
    trainer = pretrain(part, model)
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
        [float(right) for right in ask(model)],
    )


def report(results: Sequence[Learnt]) -> tuple[list[str], str]:
    """Return the results as a table, and what each model gets right as a picture."""
    header = ["wordings", "steps", "training loss", "own sentence", "nats"]
    header += ["other words", "nats", "questions"]
    rows = [
        [r.wordings, r.steps, f"{r.training_loss:.2f}"]
        + list(map(mean, (r.own, r.own_nats, r.unseen, r.unseen_nats, r.questions)))
        for r in results
    ]
    text = [
        table(header, rows),
        f"A choice is one of {CANDIDATES}; the losses are in nats per letter of the place.",
    ]
    groups = {
        f"{r.wordings} wording{'s' * (r.wordings > 1)}, {r.steps} steps": list(
            map(mean, (r.own, r.unseen, r.questions))
        )
        for r in results
    }
    title = "What is right after one wording for each person, and after four"
    names = ["own sentence", "other words", "questions"]
    return text, bars(title, names, groups, "share of right answers")
