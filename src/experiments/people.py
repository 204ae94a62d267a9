"""People, and what experiments ask models about them: a question, or a sentence with a gap.

Glossary of shapes: B, the number of sequences; T, their length; V, the size of the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from pretraining import GPT, InputError
from pretraining.batches import TextExamples
from pretraining.decoding import BATCH_SIZE

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


def log_probabilities(model: GPT, ids: list[list[int]], last: int) -> torch.Tensor:
    """Return the log-probability of each id after each of the last `last` positions.

    Returns:
        shape (B, last, V), double, on the CPU.

    Raises:
        InputError: the model's scores are not finite.
    """
    x = torch.tensor(ids, device=next(model.parameters()).device)  # (B, T)
    logits = model(x)[0][:, -last:].double().cpu()  # (B, last, V)
    if not torch.isfinite(logits).all():
        raise InputError(
            "the model's scores are nan or infinite, expected finite numbers (did its training "
            "diverge, or does its attention divide by 0?)"
        )
    return F.log_softmax(logits, dim=-1)


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
            logp = log_probabilities(model, [rows[i] for i in batch], last)  # (B, last, V)
            for i, row in zip(batch, logp.numpy(), strict=True):
                follows = pairs[i][1]
                values[i] = float(row[range(last - len(follows), last), follows].sum())
    return values


def fillings(
    model: GPT, dataset: TextExamples, sentences: Sequence[tuple[str, Sequence[str]]]
) -> list[list[float]]:
    """Return the log-probability, in nats, of each text in each sentence's gap.

    To a model that was pretrained on corrupted documents (prefix MASK suffix MASK masked_content),
    a sentence is a prefix and a suffix, and a second MASK asks for the missing text.

    Args:
        model: a pretrained one, on any device.
        sentences: each with a MASK for its gap, and the texts that might fill it.

    Raises:
        InputError: a sentence is too long, or has a character that the corpus lacks.
    """
    model.eval()
    pairs, longest = [], model.get_block_size()
    for sentence, texts in sentences:
        prompt, most = sentence + dataset.MASK_CHAR, max(map(len, texts))
        if len(prompt) + most > longest:
            raise InputError(
                f"got a sentence of {len(prompt)} characters, {prompt!r}, and up to {most} for its "
                f"gap, expected at most {longest} together, the model's block_size"
            )
        ids = encode(dataset, prompt)
        pairs += [(ids, encode(dataset, text)) for text in texts]
    values = iter(continuations(model, pairs))
    return [[next(values) for _ in texts] for _, texts in sentences]
