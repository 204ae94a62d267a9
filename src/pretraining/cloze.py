"""Ask a pretrained model, before it is finetuned, where people were born: in several wordings.

    python src/run.py cloze vanilla wiki.txt --reading_params_path vanilla.pretrain.params

A cloze sentence has a gap: "Ada Byron was born in ⁇." To a model that was pretrained on corrupted
documents (prefix MASK suffix MASK masked_content) this is prefix and suffix, and a second MASK
behind them asks it for what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .batches import TextExamples
from .checkpoints import random_states, restore_random_states
from .decoding import ANSWER_STEPS, greedy_answers
from .errors import InputError
from .inspection import encode

if TYPE_CHECKING:
    from submission.dataset import CharCorruptionDataset
    from submission.model import GPT

GAP = "_"
# The first five are wordings of the generated world's corpus, the others occur in no line of it.
WORDINGS = (
    "{name} was born in _.",
    "{name} was a native of _.",
    "{name}'s birthplace: _.",
    "Born in _, {name} was",
    "_-born {name} was",
    "{name} came from _.",
    "{name} was born and died in _.",
    "Where was {name} born? _.",
)
QUESTION = re.compile(r"Where was (.+) born\?")
LOOKED_AT = 32  # examples, to see whether they end in a MASK


@dataclass(frozen=True)
class Person:
    """Someone whose birth place is known."""

    name: str
    place: str


@dataclass(frozen=True)
class Score:
    """How many answers are right, and of how many."""

    right: int
    total: int

    def __str__(self) -> str:
        return f"{self.right / self.total:.0%} of {self.total}" if self.total else "-"


@dataclass(frozen=True)
class Wording:
    """What came of one wording.

    Attributes:
        text: with {name}, and _ for the gap.
        splits: the score of each group of people, by the group's name.
        verbatim, otherwise: the scores of people about whom the corpus has a line with this very
            wording, and of all others.
    """

    text: str
    splits: dict[str, Score]
    verbatim: Score
    otherwise: Score


def people_of(questions: Sequence[str], places: Sequence[str]) -> list[Person]:
    """Return the people of a table `Where was NAME born?<TAB>PLACE`.

    Raises:
        InputError: a question is none of these.
    """
    people = []
    for number, (question, place) in enumerate(zip(questions, places, strict=True), start=1):
        found = QUESTION.fullmatch(question)
        if not found:
            raise InputError(f"line {number}: got {question!r}, expected 'Where was NAME born?'")
        people.append(Person(found[1], place))
    return people


def sentence_of(wording: str, name: str, filling: str) -> str:
    """Return a sentence with something in its gap: a place, or a MASK.

    Example: ("{name} was born in _.", "Ada", "Rome") gives "Ada was born in Rome.".
    """
    before, after = (part.format(name=name) for part in wording.split(GAP))
    return before + filling + after


def ends_with_mask(dataset: TextExamples) -> bool:
    """Return whether the examples that a model was pretrained on have a third MASK at their end.

    It is optional; without one, a model never learnt where an answer ends.
    """
    mask, states = dataset.stoi[dataset.MASK_CHAR], random_states()
    masks = []
    for number in range(min(LOOKED_AT, len(dataset))):
        x, y = dataset[number]
        masks.append([*x.tolist(), int(y[-1])].count(mask))
    restore_random_states(states)
    return max(masks) > 2


def ask(
    model: GPT,
    dataset: CharCorruptionDataset,
    groups: dict[str, list[Person]],
    wordings: Sequence[str] = WORDINGS,
) -> list[Wording]:
    """Ask about all people in all wordings.

    Args:
        model: pretrained, on any device.
        dataset: what it was pretrained on.
        groups: people by the name of their group.

    Returns:
        a Wording for each of `wordings`, in order.

    Raises:
        InputError: a sentence has a character that the corpus lacks, or is too long.
    """
    corpus = "\n".join(dataset.data)
    people = [person for group in groups.values() for person in group]
    exact = ends_with_mask(dataset)
    results = []
    for wording in wordings:
        right = _answers(model, dataset, wording, people, exact)
        known = [sentence_of(wording, person.name, person.place) in corpus for person in people]
        splits, start = {}, 0
        for name, group in groups.items():
            splits[name] = _score(right[start : start + len(group)])
            start += len(group)
        results.append(
            Wording(
                wording,
                splits,
                _score([ok for ok, said in zip(right, known, strict=True) if said]),
                _score([ok for ok, said in zip(right, known, strict=True) if not said]),
            )
        )
    return results


def _answers(
    model: GPT, dataset: TextExamples, wording: str, people: list[Person], exact: bool
) -> list[bool]:
    """Return for each person whether the answer is right."""
    prompts = []
    longest = model.get_block_size() - ANSWER_STEPS
    for person in people:
        text = sentence_of(wording, person.name, dataset.MASK_CHAR) + dataset.MASK_CHAR
        if len(text) > longest:
            raise InputError(
                f"got a sentence of {len(text)} characters, {text!r}, expected at most {longest}: "
                f"the model reads {model.get_block_size()}, and {ANSWER_STEPS} may be the answer"
            )
        prompts.append(encode(dataset, text))
    answers = greedy_answers(model, prompts, dataset.stoi[dataset.MASK_CHAR], ANSWER_STEPS)
    found = ["".join(dataset.itos[i] for i in ids) for ids, _ in answers]
    return [
        answer == person.place if exact else answer.startswith(person.place)
        for answer, person in zip(found, people, strict=True)
    ]


def _score(right: Sequence[bool]) -> Score:
    return Score(sum(right), len(right))


def table(results: Sequence[Wording]) -> str:
    """Return the results as text, a line for each wording."""
    groups = list(results[0].splits)
    rows = [["wording", *groups, "in these words", "in others"]]
    for one in results:
        scores = [*one.splits.values(), one.verbatim, one.otherwise]
        rows.append([one.text.format(name="NAME"), *map(str, scores)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
