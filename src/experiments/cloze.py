"""Ask a pretrained model, before finetuning, where people were born, in several wordings.

    python src/run.py cloze vanilla wiki.txt --reading_params_path vanilla.pretrain.params

A cloze sentence has a gap: "Ada Byron was born in ⁇." The spans of pretraining begin and end
anywhere, so the model may well fill in more than a place. It is therefore given a choice: which of
several places does it consider the likeliest beginning of the missing text?
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pretraining import GPT, CharCorruptionDataset

from .people import Person, fillings

GAP = "_"
# The first five are wordings of the generated world's corpus; the others do not occur in it.
WORDINGS = (
    "{name} was born in _",
    "{name} was a native of _",
    "{name}'s birthplace: _",
    "{name}, _-born, lived in",
    "Born in _, {name} was",
    "{name} came from _",
    "{name} was born and died in _",
    "Where was {name} born? _",
)
PEOPLE = 100  # per group, at most: a share then has a standard deviation of .05 or less
CHOICES = 10  # places, including the right one
SEED = 0  # for the other places, so that all models choose among the same ones


@dataclass(frozen=True)
class Score:
    """The number of right choices, and of all choices."""

    right: int
    total: int

    def __str__(self) -> str:
        return f"{self.right / self.total:.0%} of {self.total}" if self.total else "-"


@dataclass(frozen=True)
class Wording:
    """The results of one wording.

    Attributes:
        text: with {name}, and _ for the gap.
        splits: the score of each group of people, by the group's name.
        verbatim, otherwise: the scores of people for whom the corpus contains exactly these words
            with their place in the gap, and of all others.
    """

    text: str
    splits: dict[str, Score]
    verbatim: Score
    otherwise: Score


def sentence_of(wording: str, name: str, filling: str) -> str:
    """Return a sentence with something in its gap: a place, or a MASK.

    Example: ("{name}, _-born, lived in", "Ada", "Rome") gives "Ada, Rome-born, lived in".
    """
    before, after = (part.format(name=name) for part in wording.split(GAP))
    return before + filling + after


def choices(people: Sequence[Person], places: Iterable[str]) -> list[list[str]]:
    """Return the places from which each person's is to be chosen, the right one first.

    The others, CHOICES - 1 or fewer, are drawn from `places`. None of them begins with the right
    one, or the right one with it: as the beginning of the missing text, the shorter of the two
    would always be the likelier.
    """
    generator, known = random.Random(SEED), sorted(set(places))
    offered = []
    for person in people:
        others = [
            place
            for place in known
            if not place.startswith(person.place) and not person.place.startswith(place)
        ]
        drawn = generator.sample(others, min(CHOICES - 1, len(others)))
        offered.append([person.place, *drawn])
    return offered


def ask(
    model: GPT,
    dataset: CharCorruptionDataset,
    groups: dict[str, list[Person]],
    wordings: Sequence[str] = WORDINGS,
) -> Iterator[Wording]:
    """Ask about the first PEOPLE people of each group, in one wording after the other.

    Args:
        model: pretrained, on any device.
        dataset: the dataset of its pretraining.
        groups: people by the name of their group.

    Yields:
        a Wording for each of `wordings`, in order.

    Raises:
        InputError: a sentence has a character that the corpus lacks, or is too long.
    """
    corpus = "\n".join(dataset.data)
    people = [(name, person) for name, group in groups.items() for person in group[:PEOPLE]]
    offered = choices(
        [person for _, person in people], (p.place for group in groups.values() for p in group)
    )
    for wording in wordings:
        sentences = [
            (sentence_of(wording, person.name, dataset.MASK_CHAR), places)
            for (_, person), places in zip(people, offered, strict=True)
        ]
        logp = fillings(model, dataset, sentences)
        right = [all(first > other for other in others) for first, *others in logp]
        known = [sentence_of(wording, person.name, person.place) in corpus for _, person in people]

        def score(chosen: Iterable[bool], right: list[bool] = right) -> Score:
            own = [ok for ok, each in zip(right, chosen, strict=True) if each]
            return Score(sum(own), len(own))

        splits = {name: score(each == name for each, _ in people) for name in groups}
        yield Wording(wording, splits, score(known), score(not said for said in known))


def lines(results: Iterable[Wording], groups: Sequence[str]) -> Iterator[str]:
    """Return the results as lines of a table, each as soon as it is ready.

    Args:
        groups: the names of the groups of people, in order.
    """
    first = max(len(wording.format(name="NAME")) for wording in WORDINGS)

    def line(cells: Sequence[object]) -> str:
        return str(cells[0]).ljust(first) + "".join(str(cell).rjust(16) for cell in cells[1:])

    yield line(["wording", *groups, "in these words", "in others"])
    for one in results:
        scores = [*one.splits.values(), one.verbatim, one.otherwise]
        yield line([one.text.format(name="NAME"), *scores])
