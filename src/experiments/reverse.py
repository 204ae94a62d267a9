"""Ask a pretrained model a fact in both directions: where X was born, and who was born in Y.

    python src/run.py reverse vanilla wiki.txt --reading_params_path vanilla.pretrain.params

Forward, the model fills the gap in "Ada Byron was born in ⁇" with one of ten places; backward, the
gap in "⁇ was born in London" with one of ten people. Models that know the first often don't know
the second (Berglund et al. 2023, "The Reversal Curse"; Allen-Zhu and Li 2023, section 3.2).

A long or rare name is unlikely in any sentence, so each candidate's score is reduced by its mean
over the ten sentences of its group: what is left is what the sentence says about the candidate.

In the generated world, lines with the city before the name ("Born in London, Ada Byron was ...")
are dealt to people at random, so that comparing people with and without such a line is a natural
experiment.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pretraining.errors import InputError
from pretraining.given import GPT, CharCorruptionDataset

from . import figures
from .estimates import Estimate, mean, table
from .inspection import continuations
from .people import Person, encode

CANDIDATES = 10
FORWARD = "{name} was born in {mask}"
BACKWARD = "{mask} was born in {place}"


@dataclass(frozen=True)
class Choice:
    """Whether a model chose right about a person.

    Attributes:
        person: who was to be found, or whose place was.
        forward, backward: whether the choice was right.
        has_reversed_line: whether a line of the corpus has this person's city before the name.
    """

    person: Person
    forward: bool
    backward: bool
    has_reversed_line: bool


def groups_of(people: Sequence[Person], seed: int = 0) -> list[list[Person]]:
    """Return groups of CANDIDATES people with different places, none of which begins another's.

    Raises:
        InputError: there is no such group.
    """
    left, groups = random.Random(seed).sample(list(people), len(people)), []
    while True:
        group: list[Person] = []
        for person in left:
            if not any(_is_alike(person.place, other.place) for other in group):
                group.append(person)
            if len(group) == CANDIDATES:
                break
        if len(group) < CANDIDATES:
            break
        groups.append(group)
        left = [person for person in left if person not in group]
    if not groups:
        raise InputError(f"expected {CANDIDATES} people who were born in different places")
    return groups


def _is_alike(place: str, other: str) -> bool:
    return place.startswith(other) or other.startswith(place)


def reversed_lines(corpus: Sequence[str], person: Person) -> int:
    """Return how many lines of a corpus have a person's place before the name."""
    return sum(
        person.place in line.partition(person.name)[0] for line in corpus if person.name in line
    )


@torch.no_grad()
def choose(
    model: GPT, dataset: CharCorruptionDataset, groups: Sequence[Sequence[Person]]
) -> list[Choice]:
    """Let a pretrained model choose places and people.

    Raises:
        InputError: a sentence is too long for the model, or has an unknown character.
    """
    model.eval()
    choices = []
    for group in groups:
        forward = _scores(model, dataset, group, FORWARD)  # (names, places)
        backward = _scores(model, dataset, group, BACKWARD).T  # (names, places)
        places = (forward - forward.mean(dim=0)).argmax(dim=1)
        people = (backward - backward.mean(dim=1, keepdim=True)).argmax(dim=0)
        for number, person in enumerate(group):
            has_line = reversed_lines(dataset.data, person) > 0
            is_right = int(places[number]) == number, int(people[number]) == number
            choices.append(Choice(person, *is_right, has_line))
    return choices


def _scores(
    model: GPT, dataset: CharCorruptionDataset, group: Sequence[Person], sentence: str
) -> torch.Tensor:
    """Return the log-probability of each candidate in each sentence: (sentences, candidates)."""
    mask, pairs = dataset.MASK_CHAR, []
    for asked in group:
        prompt = sentence.format(name=asked.name, place=asked.place, mask=mask) + mask
        for candidate in group:
            filling = candidate.place if sentence == FORWARD else candidate.name
            pairs.append((encode(dataset, prompt), encode(dataset, filling)))
    longest = max(len(read) + len(follows) for read, follows in pairs)
    if longest > model.get_block_size():
        raise InputError(
            f"got a sentence of {longest} characters, expected at most {model.get_block_size()}, "
            "the model's block_size"
        )
    scores = torch.tensor(continuations(model, pairs), dtype=torch.float64)
    return scores.view(len(group), len(group))


def share(choices: Sequence[Choice], direction: str) -> Estimate:
    """Return the share of right choices: direction is "forward" or "backward"."""
    return mean([float(getattr(choice, direction)) for choice in choices])


def effect(choices: Sequence[Choice], direction: str) -> Estimate:
    """Return the share among people with a reversed line minus that among the others."""
    with_line = share([c for c in choices if c.has_reversed_line], direction)
    without = share([c for c in choices if not c.has_reversed_line], direction)
    error = (with_line.error**2 + without.error**2) ** 0.5  # of different people
    return Estimate(with_line.value - without.value, error)


DIRECTIONS = {"forward": "forward: which place?", "backward": "backward: who?"}


def _groups(choices: Sequence[Choice]) -> dict[str, Sequence[Choice]]:
    return {
        "all": choices,
        "with a line that names the city first": [c for c in choices if c.has_reversed_line],
        "without such a line": [c for c in choices if not c.has_reversed_line],
    }


def lines(choices: Sequence[Choice]) -> list[str]:
    """Return the results as a table."""
    rows = [
        [f"{name} ({len(some)})", *(share(some, direction) for direction in DIRECTIONS)]
        for name, some in _groups(choices).items()
    ]
    rows.append(["difference", *(effect(choices, direction) for direction in DIRECTIONS)])
    return [
        table(["people", *DIRECTIONS.values()], rows),
        f"Each choice is one of {CANDIDATES}; by chance, {1 / CANDIDATES:.2f} are right.",
    ]


def draw(choices: Sequence[Choice]) -> str:
    """Return a picture of the shares."""
    groups = {
        name: [share(some, direction) for direction in DIRECTIONS]
        for name, some in _groups(choices).items()
    }
    return figures.bars(
        "The same facts in both directions", list(DIRECTIONS.values()), groups, "share right"
    )
