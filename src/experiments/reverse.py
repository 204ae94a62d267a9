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

from pretraining import GPT, CharCorruptionDataset, InputError

from .estimates import Estimate, bars, mean, table
from .people import Person, fillings

CANDIDATES = 10
DIRECTIONS = {"forward": "forward: which place?", "backward": "backward: who?"}


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
            if len(group) < CANDIDATES and not any(
                person.place.startswith(other.place) or other.place.startswith(person.place)
                for other in group
            ):
                group.append(person)
        if len(group) < CANDIDATES:
            break
        groups.append(group)
        left = [person for person in left if person not in group]
    if not groups:
        raise InputError(f"expected {CANDIDATES} people who were born in different places")
    return groups


def has_reversed_line(corpus: Sequence[str], person: Person) -> bool:
    """Return whether a line of a corpus has a person's place before the name."""
    return any(
        person.place in line.partition(person.name)[0] for line in corpus if person.name in line
    )


def choose(
    model: GPT, dataset: CharCorruptionDataset, groups: Sequence[Sequence[Person]]
) -> list[Choice]:
    """Let a pretrained model choose places and people.

    Raises:
        InputError: a sentence is too long for the model, or has an unknown character.
    """
    choices, mask = [], dataset.MASK_CHAR
    for group in groups:
        places, names = [p.place for p in group], [p.name for p in group]
        forward = [(f"{name} was born in {mask}", places) for name in names]
        backward = [(f"{mask} was born in {place}", names) for place in places]
        best = []
        for sentences in (forward, backward):
            logp = torch.tensor(fillings(model, dataset, sentences), dtype=torch.float64)
            best.append((logp - logp.mean(dim=0)).argmax(dim=1).tolist())  # of each sentence
        for number, person in enumerate(group):
            is_right = best[0][number] == number, best[1][number] == number
            choices.append(Choice(person, *is_right, has_reversed_line(dataset.data, person)))
    return choices


def share(choices: Sequence[Choice], direction: str) -> Estimate:
    """Return the share of right choices in one of DIRECTIONS."""
    return mean([float(getattr(choice, direction)) for choice in choices])


def effect(choices: Sequence[Choice], direction: str) -> Estimate:
    """Return the share among people with a reversed line minus that among the others."""
    with_line = share([c for c in choices if c.has_reversed_line], direction)
    without = share([c for c in choices if not c.has_reversed_line], direction)
    error = (with_line.error**2 + without.error**2) ** 0.5  # of different people
    return Estimate(with_line.value - without.value, error)


def report(choices: Sequence[Choice]) -> tuple[list[str], str]:
    """Return the results as a table and a picture."""
    groups = {
        "all": choices,
        "with a line that names the city first": [c for c in choices if c.has_reversed_line],
        "without such a line": [c for c in choices if not c.has_reversed_line],
    }
    shares = {name: [share(some, d) for d in DIRECTIONS] for name, some in groups.items()}
    rows = [[f"{name} ({len(groups[name])})", *both] for name, both in shares.items()]
    rows.append(["difference", *(effect(choices, direction) for direction in DIRECTIONS)])
    text = [
        table(["people", *DIRECTIONS.values()], rows),
        f"Each choice is one of {CANDIDATES}; by chance, {1 / CANDIDATES:.2f} are right.",
    ]
    title = "The same facts in both directions"
    return text, bars(title, list(DIRECTIONS.values()), shares, "share right")
