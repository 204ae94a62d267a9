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
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from pretraining import GPT, InputError
from pretraining.batches import TextExamples

from .estimates import Estimate, Results, curves, slope, table
from .people import Person, encode

TRIOS = 300  # at most
LEAST_TRIOS = 20
SITES = {  # with their slots
    "first name": ("first name",),
    "surname": ("surname",),
    "whole name": ("first name", "space", "surname"),
    "MASK": ("MASK",),
}


@dataclass(frozen=True)
class Trio:
    """People whose names are of the same shape, and whose places begin with different letters."""

    a: Person  # who is pasted
    b: Person  # whose question is asked
    c: Person  # who is pasted as a control


Traced = dict[tuple[int, str], Estimate]  # the slope, by block (0: embeddings) and site


def trios(people: Sequence[Person], most: int = TRIOS, seed: int = 0) -> list[Trio]:
    """Return trios of people, drawn from all that fit.

    Raises:
        InputError: there are fewer than LEAST_TRIOS.
    """
    rng, fitting = random.Random(seed), []
    people = [person for person in people if " " in person.name]  # with a surname
    for b in people:
        alike = [p for p in people if p.name != b.name and p.shape == b.shape]
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


def streams(model: GPT, ids: torch.Tensor) -> list[torch.Tensor]:
    """Return the residual stream below the first block and after each: (N, T, C) each, float."""
    kept: list[torch.Tensor] = []
    with ExitStack() as hooks:
        below = model.blocks[0].register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
        hooks.enter_context(below)
        for block in model.blocks:
            after = block.register_forward_hook(lambda _, inputs, output: kept.append(output))
            hooks.enter_context(after)
        model(ids)
    return kept


def finish(model: GPT, x: torch.Tensor, block: int) -> torch.Tensor:
    """Return the logits at the last position, (N, V), given the stream after a block."""
    for each in list(model.blocks)[block:]:
        x = each(x)
    return model.head(model.ln_f(x[:, -1]))


@torch.no_grad()
def trace(model: GPT, dataset: TextExamples, chosen: Sequence[Trio]) -> Traced:
    """Measure the effect of each paste.

    Raises:
        InputError: a question has a character that the corpus lacks.
    """
    model.eval()
    last = len(model.blocks)
    groups: dict[tuple[int, int], list[Trio]] = {}
    for trio in chosen:
        groups.setdefault(trio.b.shape, []).append(trio)
    parts = [_effects(model, dataset, group) for group in groups.values()]
    numbers = {trio.b.name: number for number, trio in enumerate(chosen)}
    cluster = [numbers[trio.b.name] for group in groups.values() for trio in group]
    whole = torch.cat([effects[last, "MASK"] for effects in parts])  # d(A) - d(C)
    return {
        key: slope(whole, torch.cat([effects[key] for effects in parts]), cluster)
        for key in parts[0]
    }


def is_fixed(block: int, site: str, last: int) -> bool:
    """Return whether a slope follows from how a Transformer is built, whatever it has learnt."""
    return block == last or (block == 0 and site in ("whole name", "MASK"))


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
        for site, slots in SITES.items():
            where, d = group[0].b.positions(*slots), []
            for source in (of_a, of_c):
                pasted = of_b[block].clone()
                pasted[:, where] = source[block][:, where]
                logits = finish(model, pasted, block)
                d.append((logits[rows, first_a] - logits[rows, first_b]).double().cpu())
            effects[block, site] = d[0] - d[1]
    return effects


def report(trained: Traced, untrained: Traced, trios: int) -> Results:
    """Return a table, in which what is fixed is in parentheses, and each site drawn by block."""
    blocks = sorted({block for block, _ in trained})

    def cell(results: Traced, block: int, site: str) -> str:
        share = results[block, site]
        return f"({share.value:.2f})" if is_fixed(block, site, blocks[-1]) else str(share)

    rows = []
    for block in blocks:
        cells = [cell(trained, block, site) for site in SITES]
        name = f"block {block}" if block else "embeddings"
        rows.append([name, *cells, cell(untrained, block, "MASK")])
    text = [
        table(["pasted after", *SITES, "untrained: MASK"], rows),
        f"Shares with standard errors, over {trios} trios. What stands in parentheses follows from "
        "how a Transformer is built, whatever it has learnt.",
    ]
    shown = {site: (blocks, [trained[block, site] for block in blocks]) for site in SITES}
    del shown["whole name"]
    shown["MASK, untrained"] = blocks, [untrained[block, "MASK"] for block in blocks]
    title = "What decides the answer, after each block"
    below, label = "pasted after block (0: embeddings)", "share of the answer that moves"
    return text, curves(title, {below: shown}, label)
