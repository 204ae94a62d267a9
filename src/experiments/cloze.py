"""Ask a pretrained model, before finetuning, where people were born, in several wordings.

    python src/run.py cloze vanilla wiki.txt --reading_params_path vanilla.pretrain.params

A cloze sentence has a gap: "Ada Byron was born in ⁇." To a model that was pretrained on corrupted
documents (prefix MASK suffix MASK masked_content), this is a prefix and a suffix, and a second MASK
after them asks for the missing text. The spans of pretraining begin and end anywhere, so the model
may well fill in more than a place. It is therefore given a choice: which of several places does it
consider the likeliest beginning of the missing text?
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pretraining.errors import InputError
from pretraining.given import GPT, CharCorruptionDataset

from .inspection import continuations
from .people import Person, encode

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
    found = []
    for person in people:
        others = [
            place
            for place in known
            if not place.startswith(person.place) and not person.place.startswith(place)
        ]
        drawn = generator.sample(others, min(CHOICES - 1, len(others)))
        found.append([person.place, *drawn])
    return found


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
    model.eval()
    corpus = "\n".join(dataset.data)
    asked = {name: group[:PEOPLE] for name, group in groups.items()}
    people = [person for group in asked.values() for person in group]
    offered = choices(people, (person.place for group in groups.values() for person in group))
    for wording in wordings:
        right = _choose(model, dataset, wording, people, offered)
        known = [sentence_of(wording, person.name, person.place) in corpus for person in people]
        splits, start = {}, 0
        for name, group in asked.items():
            splits[name] = _score(right[start : start + len(group)])
            start += len(group)
        yield Wording(
            wording,
            splits,
            _score([ok for ok, said in zip(right, known, strict=True) if said]),
            _score([ok for ok, said in zip(right, known, strict=True) if not said]),
        )


def _choose(
    model: GPT,
    dataset: CharCorruptionDataset,
    wording: str,
    people: Sequence[Person],
    offered: Sequence[list[str]],
) -> list[bool]:
    """Return for each person whether the model prefers the right place, which comes first."""
    longest, mask = model.get_block_size(), dataset.MASK_CHAR
    pairs = []
    for person, places in zip(people, offered, strict=True):
        prompt = sentence_of(wording, person.name, mask) + mask
        if len(prompt) + max(map(len, places)) > longest:
            raise InputError(
                f"got a sentence of {len(prompt)} characters, {prompt!r}, and a place of up to "
                f"{max(map(len, places))}, expected at most {longest} together, the model's "
                "block_size"
            )
        ids = encode(dataset, prompt)
        pairs += [(ids, encode(dataset, place)) for place in places]
    logp = iter(continuations(model, pairs))
    right = []
    for places in offered:
        first, *others = (next(logp) for _ in places)
        right.append(all(first > other for other in others))
    return right


def _score(right: Sequence[bool]) -> Score:
    return Score(sum(right), len(right))


def lines(results: Iterable[Wording], groups: Sequence[str]) -> Iterator[str]:
    """Return the results as lines of a table, each as soon as it is ready.

    Args:
        groups: the names of the groups of people, in order.
    """
    first = max(len(wording.format(name="NAME")) for wording in WORDINGS)

    def line(cells: Sequence[str]) -> str:
        return cells[0].ljust(first) + "".join(cell.rjust(16) for cell in cells[1:])

    yield line(["wording", *groups, "in these words", "in others"])
    for one in results:
        scores = [*one.splits.values(), one.verbatim, one.otherwise]
        yield line([one.text.format(name="NAME"), *map(str, scores)])
