"""Ask a pretrained model, before finetuning, to fill the gap in a sentence.

    python src/run.py cloze vanilla wiki.txt --reading_params_path vanilla.pretrain.params
    python src/run.py reverse vanilla wiki.txt --reading_params_path vanilla.pretrain.params

`cloze` asks where people were born, in several wordings: "Ada Byron was born in ⁇." The spans of
pretraining begin and end anywhere, so the model may well fill in more than a place. It is therefore
given a choice: which of several places does it consider the likeliest beginning of the missing
text?

`reverse` asks a fact in both directions. Forward, the model fills the gap in "Ada Byron was born in
⁇" with one of ten places; backward, the gap in "⁇ was born in London" with one of ten people.
Models that know the first often don't know the second (Berglund et al. 2023, "The Reversal Curse";
Allen-Zhu and Li 2023, section 3.2). A long or rare name is unlikely in any sentence, so each
candidate's score is reduced by its mean over the ten sentences of its group: what is left is what
the sentence says about the candidate. In the generated world, lines with the city before the name
("Born in London, Ada Byron was ...") are dealt to people at random, so that comparing people with
and without such a line is a natural experiment.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch

from pretraining import GPT, CharCorruptionDataset, InputError

from .estimates import Estimate, Results, bars, mean, table
from .people import Person, continuations, encode

GAP = "_"
CHOICES = 10  # places or people, including the right one
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
DIRECTIONS = {"forward": "forward: which place?", "backward": "backward: who?"}


def fillings(
    model: GPT, dataset: CharCorruptionDataset, sentences: Sequence[tuple[str, Sequence[str]]]
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


def differ(place: str, other: str) -> bool:
    """Return whether neither begins with the other.

    As the beginning of a missing text, the shorter of the two would always be the likelier.
    """
    return not place.startswith(other) and not other.startswith(place)


def choices(
    people: Iterable[Person],
    places: Iterable[str],
    is_apart: Callable[[str, str], bool] = differ,
) -> list[list[str]]:
    """Return the places from which each person's is to be chosen, the right one first.

    The others, CHOICES - 1 or fewer, are drawn from `places`, the same ones for all models.
    """
    generator, known, offered = random.Random(0), sorted(set(places)), []
    for person in people:
        others = [place for place in known if is_apart(place, person.place)]
        drawn = generator.sample(others, min(CHOICES - 1, len(others)))
        offered.append([person.place, *drawn])
    return offered


def first_is_likeliest(logp: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each sentence whether the first text is likelier than all others."""
    return [all(first > other for other in others) for first, *others in logp]


# -- cloze ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """The number of right choices, and of all choices."""

    right: int
    total: int

    def __str__(self) -> str:
        return f"{self.right / self.total:.0%} of {self.total}" if self.total else "-"


@dataclass(frozen=True)
class Wording:
    """The results of one wording."""

    text: str  # with {name}, and _ for the gap
    splits: dict[str, Score]  # by the name of the group of people
    verbatim: Score  # of people for whom the corpus has exactly these words, place included
    otherwise: Score  # of all others


def sentence_of(wording: str, name: str, filling: str) -> str:
    """Return a sentence with something in its gap: a place, or a MASK.

    Example: ("{name}, _-born, lived in", "Ada", "Rome") gives "Ada, Rome-born, lived in".
    """
    before, after = (part.format(name=name) for part in wording.split(GAP))
    return before + filling + after


def ask(
    model: GPT,
    dataset: CharCorruptionDataset,
    groups: dict[str, list[Person]],
    wordings: Sequence[str] = WORDINGS,
) -> Iterator[Wording]:
    """Ask about the first PEOPLE people of each group; yield each wording's results, in order.

    Args:
        model: pretrained, on any device.
        groups: people by the name of their group.

    Raises:
        InputError: a sentence has a character that the corpus lacks, or is too long.
    """
    corpus = "\n".join(dataset.data)
    people = [(name, person) for name, group in groups.items() for person in group[:PEOPLE]]
    places = (person.place for group in groups.values() for person in group)
    offered = choices((person for _, person in people), places)
    for wording in wordings:
        asked = [sentence_of(wording, person.name, dataset.MASK_CHAR) for _, person in people]
        logp = fillings(model, dataset, list(zip(asked, offered, strict=True)))
        right = first_is_likeliest(logp)
        known = [sentence_of(wording, person.name, person.place) in corpus for _, person in people]

        def score(chosen: Iterable[bool], right: list[bool] = right) -> Score:
            own = [ok for ok, each in zip(right, chosen, strict=True) if each]
            return Score(sum(own), len(own))

        splits = {name: score(each == name for each, _ in people) for name in groups}
        yield Wording(wording, splits, score(known), score(not said for said in known))


def lines(results: Iterable[Wording], groups: Sequence[str]) -> Iterator[str]:
    """Return the results as lines of a table, each as soon as it is ready."""
    width = max(len(wording.format(name="NAME")) for wording in WORDINGS)

    def line(first: str, *cells: object) -> str:
        return first.ljust(width) + "".join(str(cell).rjust(16) for cell in cells)

    yield line("wording", *groups, "in these words", "in others")
    for one in results:
        text = one.text.format(name="NAME")
        yield line(text, *one.splits.values(), one.verbatim, one.otherwise)


# -- reverse --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """Whether a model chose right about a person."""

    person: Person  # who was to be found, or whose place was
    forward: bool
    backward: bool
    has_reversed_line: bool  # a line of the corpus has this person's city before the name


def groups_of(people: Sequence[Person], seed: int = 0) -> list[list[Person]]:
    """Return groups of CHOICES people with different places, none of which begins another's.

    Raises:
        InputError: there is no such group.
    """
    left, groups = random.Random(seed).sample(list(people), len(people)), []
    while True:
        group: list[Person] = []
        for person in left:
            if len(group) < CHOICES and all(differ(person.place, one.place) for one in group):
                group.append(person)
        if len(group) < CHOICES:
            break
        groups.append(group)
        left = [person for person in left if person not in group]
    if not groups:
        raise InputError(f"expected {CHOICES} people who were born in different places")
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
    chosen, mask = [], dataset.MASK_CHAR
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
            chosen.append(Choice(person, *is_right, has_reversed_line(dataset.data, person)))
    return chosen


def share(choices: Sequence[Choice], direction: str) -> Estimate:
    """Return the share of right choices in one of DIRECTIONS."""
    return mean([float(getattr(choice, direction)) for choice in choices])


def effect(choices: Sequence[Choice], direction: str) -> Estimate:
    """Return the share among people with a reversed line minus that among the others."""
    with_line = share([c for c in choices if c.has_reversed_line], direction)
    without = share([c for c in choices if not c.has_reversed_line], direction)
    error = (with_line.error**2 + without.error**2) ** 0.5  # of different people
    return Estimate(with_line.value - without.value, error)


def report(choices: Sequence[Choice]) -> Results:
    """Return the results of `reverse`."""
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
        f"Each choice is one of {CHOICES}; by chance, {1 / CHOICES:.2f} are right.",
    ]
    title = "The same facts in both directions"
    return text, bars(title, list(DIRECTIONS.values()), shares, "share right")
