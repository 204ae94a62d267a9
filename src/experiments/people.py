"""People, and what experiments ask models about them.

Glossary of shapes: B, the number of sequences; T, their length; V, the size of the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from inputs import find_data, read_answered
from pretraining import GPT, InputError
from pretraining.batches import TextExamples
from pretraining.decoding import BATCH_SIZE
from submission import utils

# The tables in which people are looked up unless an option names others.
TRAIN, DEV, TEST = "birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv"
QUESTION = re.compile(r"Where was (.+) born\?")


@dataclass(frozen=True)
class Person:
    """Someone whose birth place is known."""

    name: str
    place: str

    @property
    def question(self) -> str:
        """The question about this person, as in the tables."""
        return f"Where was {self.name} born?"

    @property
    def shape(self) -> tuple[int, int]:
        """The lengths of the first name and of the rest of the name."""
        first, _, rest = self.name.partition(" ")
        return len(first), len(rest)

    @property
    def slots(self) -> list[str]:
        """What each character of question, MASK, place and MASK is: its slot."""
        first, rest = self.shape
        slots = [f"where {i}" for i in range(len("Where was "))] + ["first name"] * first
        slots += ["space"] + ["surname"] * rest if rest else []
        slots += [f"born {i}" for i in range(len(" born?"))] + ["MASK"]
        return slots + [f"answer {i}" for i in range(len(self.place) + 1)]

    def positions(self, *slots: str) -> list[int]:
        """Return the positions of some slots."""
        return [i for i, slot in enumerate(self.slots) if slot in slots]


def people_of(questions: Sequence[str], places: Sequence[str]) -> list[Person]:
    """Return the people of a table `Where was NAME born?<TAB>PLACE`.

    Raises:
        InputError: a question has a different form.
    """
    people = []
    for number, (question, place) in enumerate(zip(questions, places, strict=True), start=1):
        match = QUESTION.fullmatch(question)
        if not match:
            raise InputError(f"line {number}: got {question!r}, expected 'Where was NAME born?'")
        people.append(Person(match[1], place))
    return people


def people_in(file: str | None) -> list[Person]:
    """Return the people of a table with answers; of dev if there is none."""
    path, questions, places = read_answered(file or DEV)
    try:
        return people_of(questions, places)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def names_in(file: str) -> list[str]:
    """Return the names in a table, with or without answers."""
    questions, _ = utils.read_places(find_data(file))
    return [person.name for person in people_of(questions, [""] * len(questions))]


def encode(dataset: TextExamples, text: str) -> list[int]:
    """Return the ids of a text; an InputError says which characters the corpus lacks."""
    unknown = sorted(set(text) - set(dataset.stoi))
    if unknown:
        raise InputError(
            f"got the characters {''.join(unknown)!r}, expected only those of the pretraining "
            "corpus"
        )
    return [dataset.stoi[character] for character in text]


def finite_logits(model: GPT, ids: list[list[int]], last: int) -> torch.Tensor:
    """Return a model's logits after the last positions: (B, last, V), double, on the CPU.

    Raises:
        InputError: they are not finite.
    """
    x = torch.tensor(ids, device=next(model.parameters()).device)  # (B, T)
    logits = model(x)[0][:, -last:].double().cpu()  # (B, last, V)
    if not torch.isfinite(logits).all():
        raise InputError(
            "the model's scores are nan or infinite, expected finite numbers (did its training "
            "diverge, or does its attention divide by 0?)"
        )
    return logits


@torch.no_grad()
def continuations(model: GPT, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
    """Return the log-probability, in nats, that a model continues some ids with others.

    Only rows of equal length form a batch, so that nothing depends on padding.

    Args:
        model: on any device, in eval mode.
        pairs: the ids that are read, at least one, and those that should follow; without the last
            one, they must fit into the model's block together.

    Raises:
        InputError: the model's scores are not finite.
    """
    values = [0.0] * len(pairs)
    rows = [read + follows[:-1] for read, follows in pairs]
    for length in sorted({len(row) for row in rows}):
        same = [number for number, row in enumerate(rows) if len(row) == length]
        for start in range(0, len(same), BATCH_SIZE):
            batch = same[start : start + BATCH_SIZE]
            last = max(len(pairs[i][1]) for i in batch)
            logits = finite_logits(model, [rows[i] for i in batch], last)  # (B, last, V)
            for i, row in zip(batch, F.log_softmax(logits, dim=-1).numpy(), strict=True):
                follows = pairs[i][1]
                values[i] = float(row[range(last - len(follows), last), follows].sum())
    return values
