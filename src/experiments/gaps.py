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
from itertools import compress

import torch

from inputs import Setting, load
from pretraining import GPT, CharCorruptionDataset, InputError

from .estimates import Estimate, Results, bars, difference, mean, table
from .people import TRAIN, Person, continuations, encode, people_in

CHOICES = 10  # places or people, including the right one
# The first five are wordings of the generated world's corpus; the others do not occur in it.
WORDINGS = (
    "{name} was born in {gap}",
    "{name} was a native of {gap}",
    "{name}'s birthplace: {gap}",
    "{name}, {gap}-born, lived in",
    "Born in {gap}, {name} was",
    "{name} came from {gap}",
    "{name} was born and died in {gap}",
    "Where was {name} born? {gap}",
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
        InputError: a sentence is too long, or has a character that the corpus lacks; or the
            model's scores are not finite.
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
    people: Iterable[Person], places: Iterable[str], is_apart: Callable[[str, str], bool] = differ
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


def ask(
    model: GPT, dataset: CharCorruptionDataset, groups: dict[str, list[Person]]
) -> Iterator[tuple[str, dict[str, Score]]]:
    """Ask about the first PEOPLE people of each group, in each wording.

    Args:
        model: pretrained, on any device.
        groups: people by the name of their group.

    Yields:
        a wording, with NAME for the name and _ for the gap, and its scores: for each group, and
        for those people for whom the corpus has exactly these words, place included ("verbatim"),
        and all others ("otherwise").

    Raises:
        InputError: as `fillings` says.
    """
    corpus = "\n".join(dataset.data)
    people = [person for group in groups.values() for person in group[:PEOPLE]]
    group_of = [name for name, group in groups.items() for _ in group[:PEOPLE]]
    offered = choices(people, (person.place for group in groups.values() for person in group))
    for wording in WORDINGS:
        asked = [wording.format(name=p.name, gap=dataset.MASK_CHAR) for p in people]
        right = first_is_likeliest(fillings(model, dataset, list(zip(asked, offered, strict=True))))
        said = [wording.format(name=p.name, gap=p.place) in corpus for p in people]
        some = {name: [each == name for each in group_of] for name in groups}
        some |= {"verbatim": said, "otherwise": [not each for each in said]}
        scores = {name: Score(sum(compress(right, own)), sum(own)) for name, own in some.items()}
        yield wording.format(name="NAME", gap="_"), scores


def run_cloze(setting: Setting) -> None:
    """Ask a pretrained model in several wordings; print the shares of right choices."""
    args = setting.args
    groups = {
        "train": people_in(args.finetune_corpus_path or TRAIN),
        "dev": people_in(args.eval_corpus_path),
    }
    load(setting.model, args.reading_params_path)
    width = max(len(wording.format(name="NAME", gap="_")) for wording in WORDINGS)

    def show(first: str, *cells: object) -> None:
        row = [first.ljust(width), *(str(cell).rjust(16) for cell in cells)]
        print("".join(row), flush=True)  # each as soon as it is known

    show("wording", *groups, "in these words", "in others")
    for text, scores in ask(setting.model, setting.dataset, groups):
        show(text, *scores.values())
    known = {person.place for group in groups.values() for person in group}
    print(f"Each question is a choice among at most {min(CHOICES, len(known))} places.")


# -- reverse --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """Whether a model chose the place of a person, and the person born there, right."""

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
        of_places = [(f"{name} was born in {mask}", places) for name in names]
        of_names = [(f"{mask} was born in {place}", names) for place in places]
        best = []
        for sentences in (of_places, of_names):
            logp = torch.tensor(fillings(model, dataset, sentences), dtype=torch.float64)
            best.append((logp - logp.mean(dim=0)).argmax(dim=1).tolist())  # of each sentence
        for number, person in enumerate(group):
            forward, backward = (numbers[number] == number for numbers in best)
            chosen.append(Choice(forward, backward, has_reversed_line(dataset.data, person)))
    return chosen


def by_line(choices: Sequence[Choice]) -> dict[str, Sequence[Choice]]:
    """Return all choices, those about people with a reversed line, and those about the others."""
    return {
        "all": choices,
        "with a line that names the city first": [c for c in choices if c.has_reversed_line],
        "without such a line": [c for c in choices if not c.has_reversed_line],
    }


def shares(choices: Sequence[Choice]) -> list[Estimate]:
    """Return the share of right choices in each of DIRECTIONS."""
    return [mean([float(getattr(choice, d)) for choice in choices]) for d in DIRECTIONS]


def run_reverse(setting: Setting) -> Results:
    """Ask about train and dev people in both directions."""
    train = people_in(setting.args.finetune_corpus_path or TRAIN)
    people = [*train, *people_in(setting.args.eval_corpus_path)]
    groups = by_line(choose(setting.model, setting.dataset, groups_of(people)))
    right = {name: shares(some) for name, some in groups.items()}
    rows = [[f"{name} ({len(some)})", *right[name]] for name, some in groups.items()]
    _, with_line, without = right.values()
    rows.append(["difference", *map(difference, with_line, without)])
    text = [
        table(["people", *DIRECTIONS.values()], rows),
        f"Each choice is one of {CHOICES}; by chance, {1 / CHOICES:.2f} are right.",
    ]
    title = "The same facts in both directions"
    return text, bars(title, list(DIRECTIONS.values()), right, "share right")
