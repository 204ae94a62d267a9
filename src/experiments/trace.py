"""Paste what a model has computed about one person into a question about another.

    python src/run.py trace vanilla wiki.txt --reading_params_path vanilla.finetune.params

The model reads the question about B. After some block, its residual stream at some letters is
replaced by the one from the same letters of the question about A, and the blocks above go on with
it (causal tracing, Meng et al. 2022; activation patching). If the answer moves from B's place to
A's, then what these letters held decides the answer.

What moves is measured at the MASK, where the answer's first letter is written: the difference d of
the logits of A's first letter and B's. Anything that destroys B's answer moves d half of the way to
A's, so nothing is said without a control: the same paste from a third person, C. Each number is a
slope over many such trios, of what A's paste does to d more than C's, on d(A) - d(C) without any
paste: at 0 it makes no difference whose stream was pasted, at 1 the model answers as for A or C.

Glossary of shapes: N, the number of trios; T, C, V as in submission/model.py.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pretraining import GPT, InputError
from pretraining.batches import TextExamples

from .estimates import Estimate, curves, slope, table
from .people import Person, encode

TRIOS = 300  # at most
LEAST_TRIOS = 20
START = len("Where was ")
SITES = ("first name", "surname", "whole name", "MASK")


@dataclass(frozen=True)
class Trio:
    """People whose names are of the same shape: whose question is asked, and who is pasted.

    Attributes:
        b: the person that the question is about.
        a: another one, whose place begins with a different letter.
        c: a third one, whose place begins with neither letter.
    """

    a: Person
    b: Person
    c: Person


@dataclass(frozen=True)
class Traced:
    """The effect of a paste after one block at one site.

    Attributes:
        block: 0 for the embeddings, otherwise the number of the block after which is pasted.
        site: one of SITES.
        share: the slope.
        is_fixed: whether the result follows from how a Transformer is built, whatever it learnt.
    """

    block: int
    site: str
    share: Estimate
    is_fixed: bool

    def __str__(self) -> str:
        return f"({self.share.value:.2f})" if self.is_fixed else str(self.share)


def shape_of(person: Person) -> tuple[int, int]:
    """Return the lengths of the first name and of the rest of the name."""
    first, _, rest = person.name.partition(" ")
    return len(first), len(rest)


def trios(people: Sequence[Person], most: int = TRIOS, seed: int = 0) -> list[Trio]:
    """Return trios of people, drawn from all that fit.

    Raises:
        InputError: there are fewer than LEAST_TRIOS.
    """
    rng, fitting = random.Random(seed), []
    people = [person for person in people if " " in person.name]  # with a surname
    for b in people:
        alike = [p for p in people if p.name != b.name and shape_of(p) == shape_of(b)]
        for a in alike:
            letters = {a.place[0], b.place[0]}
            others = [p for p in alike if p is not a and p.place[0] not in letters]
            if len(letters) == 2 and others:
                fitting.append(Trio(a, b, rng.choice(others)))
    if len(fitting) < LEAST_TRIOS:
        raise InputError(
            f"got {len(fitting)} trios of people with names of equal lengths and places that begin "
            f"with different letters, expected at least {LEAST_TRIOS}: the table has too few people"
        )
    return rng.sample(fitting, min(most, len(fitting)))


def letters_of(site: str, person: Person) -> slice:
    """Return the positions of a site in the question about a person."""
    first, rest = shape_of(person)
    end, mask = START + first + 1 + rest, len(person.question)
    return {
        "first name": slice(START, START + first),
        "surname": slice(START + first + 1, end),
        "whole name": slice(START, end),
        "MASK": slice(mask, mask + 1),
    }[site]


def streams(model: GPT, ids: torch.Tensor) -> list[torch.Tensor]:
    """Return the residual stream below the first block and after each: (N, T, C) each, float."""
    kept: list[torch.Tensor] = []
    hooks = [model.blocks[0].register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))]
    for block in model.blocks:
        hooks.append(block.register_forward_hook(lambda _, inputs, output: kept.append(output)))
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return kept


def finish(model: GPT, x: torch.Tensor, block: int) -> torch.Tensor:
    """Return the logits at the last position, (N, V), given the stream after a block."""
    for each in list(model.blocks)[block:]:
        x = each(x)
    return model.head(model.ln_f(x[:, -1]))


@torch.no_grad()
def trace(model: GPT, dataset: TextExamples, chosen: Sequence[Trio]) -> list[Traced]:
    """Measure the effect of each paste.

    Raises:
        InputError: a question has a character that the corpus lacks.
    """
    model.eval()
    last = len(model.blocks)
    groups: dict[tuple[int, int], list[Trio]] = {}
    for trio in chosen:
        groups.setdefault(shape_of(trio.b), []).append(trio)
    parts = [_effects(model, dataset, group) for group in groups.values()]
    numbers = {trio.b.name: number for number, trio in enumerate(chosen)}
    cluster = [numbers[trio.b.name] for group in groups.values() for trio in group]
    whole = torch.cat([effects[last, "MASK"] for effects in parts])  # d(A) - d(C)
    rows = []
    for block, site in parts[0]:
        moved = torch.cat([effects[block, site] for effects in parts])
        is_fixed = block == last or (block == 0 and site in ("whole name", "MASK"))
        rows.append(Traced(block, site, slope(whole, moved, cluster), is_fixed))
    return rows


def _effects(
    model: GPT, dataset: TextExamples, group: Sequence[Trio]
) -> dict[tuple[int, str], torch.Tensor]:
    """Return what A's paste does to d more than C's, (N,), after each block at each site.

    The names in a group have the same shape, so that their letters correspond.
    """
    device, mask = next(model.parameters()).device, dataset.MASK_CHAR
    questions = [[encode(dataset, getattr(t, p).question + mask) for t in group] for p in "abc"]
    of_a, of_b, of_c = (streams(model, torch.tensor(ids, device=device)) for ids in questions)
    rows = torch.arange(len(group), device=device)
    first_a, first_b = (
        torch.tensor([dataset.stoi[getattr(t, p).place[0]] for t in group], device=device)
        for p in "ab"
    )
    effects = {}
    for block in range(len(model.blocks) + 1):
        for site in SITES:
            d = []
            for source in (of_a, of_c):
                pasted = of_b[block].clone()
                where = letters_of(site, group[0].b)
                pasted[:, where] = source[block][:, where]
                logits = finish(model, pasted, block)
                d.append((logits[rows, first_a] - logits[rows, first_b]).double().cpu())
            effects[block, site] = d[0] - d[1]
    return effects


def report(
    trained: Sequence[Traced], untrained: Sequence[Traced], trios: int
) -> tuple[list[str], str]:
    """Return the results as a table, in which cells that are fixed are in parentheses, and drawn.

    The picture shows each site by block, and the untrained MASK.
    """
    rows = []
    for control in untrained:
        if control.site == "MASK":
            name = f"block {control.block}" if control.block else "embeddings"
            rows.append([name, *(t for t in trained if t.block == control.block), control])
    text = [
        table(["pasted after", *SITES, "untrained: MASK"], rows),
        f"Shares with standard errors, over {trios} trios. What stands in parentheses follows from "
        "how a Transformer is built, whatever it has learnt.",
    ]

    def series(results: Sequence[Traced], site: str) -> tuple[list[float], list[Estimate]]:
        own = [each for each in results if each.site == site]
        return [each.block for each in own], [each.share for each in own]

    shown = {site: series(trained, site) for site in SITES if site != "whole name"}
    shown["MASK, untrained"] = series(untrained, "MASK")
    title = "What decides the answer, after each block"
    below, label = "pasted after block (0: embeddings)", "share of the answer that moves"
    return text, curves(title, {below: shown}, label)
