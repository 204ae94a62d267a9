"""People and what is known of them: what the experiments ask models about.

Glossary of shapes: B, the number of sequences; T, their length; V, the size of the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pretraining.batches import TextExamples
from pretraining.errors import InputError

QUESTION = re.compile(r"Where was (.+) born\?")


@dataclass(frozen=True)
class Person:
    """Someone whose birth place is known."""

    name: str
    place: str

    @property
    def question(self) -> str:
        """Return the question about this person, as in the tables."""
        return f"Where was {self.name} born?"


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


def encode(dataset: TextExamples, text: str) -> list[int]:
    """Return the ids of a text.

    Raises:
        InputError: it has a character that the pretraining corpus lacks.
    """
    unknown = sorted(set(text) - set(dataset.stoi))
    if unknown:
        raise InputError(
            f"got the characters {''.join(unknown)!r}, expected only those of the pretraining "
            "corpus"
        )
    return [dataset.stoi[character] for character in text]


def padded(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """Return rows of ids as one tensor, (B, T), long, with zeros, the padding, at their ends.

    Attention is causal, so that what stands behind a row's end changes nothing in it.
    """
    T = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (T - len(row))] for row in rows])
