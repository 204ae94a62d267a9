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
Where A was born where B was, d has C's letter in place of B's.

Glossary of shapes: N, the number of trios; T, C, V as in submission/model.py.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

import torch

from inputs import Setting, build_model
from pretraining import GPT, InputError
from pretraining.batches import TextExamples

from .estimates import Estimate, Results, Slope, curves, table
from .people import Person, encode, people_in

TRIOS = 300  # at most
LEAST_TRIOS = 20
SITES = {  # with their slots
    "first name": ("first name",),
    "surname": ("surname",),
    "whole name": ("first name", "space", "surname"),
    "MASK": ("MASK",),
}


class Trio(NamedTuple):
    """People whose names are of the same shape, and whose places begin with different letters.

    As another control, A may also have B's place.
    """

    a: Person  # who is pasted
    b: Person  # whose question is asked
    c: Person  # who is pasted as a control


Traced = dict[tuple[int, str], Slope]  # by block (0: embeddings) and site


def trios(people: Sequence[Person], most: int = TRIOS, same_place: bool = False) -> list[Trio]:
    """Return trios of people, drawn from all that fit; with `same_place`, A has that of B.

    Raises:
        InputError: there are fewer than LEAST_TRIOS.
    """
    rng, fitting = random.Random(0), []
    people = [person for person in people if " " in person.name]  # with a surname
    for b in people:
        alike = [p for p in people if p.name != b.name and p.shape == b.shape]
        for a in alike:
            letters = {a.place[0], b.place[0]}
            others = [p for p in alike if p is not a and p.place[0] not in letters]
            if others and (a.place == b.place if same_place else len(letters) == 2):
                fitting.append(Trio(a, b, rng.choice(others)))
    if len(fitting) < LEAST_TRIOS:
        raise InputError(
            f"got {len(fitting)} trios of people with names of equal lengths and places that begin "
            f"with different letters, expected at least {LEAST_TRIOS}: the table has too few people"
        )
    drawn = rng.sample(fitting, min(most, len(fitting)))
    return sorted(drawn, key=lambda trio: trio.b.shape)  # so that few batches have them all


def members(chosen: Sequence[Trio]) -> list[set[str]]:
    """Return the names in each trio: those with one in common depend on each other."""
    return [{person.name for person in trio} for trio in chosen]


def streams(model: GPT, ids: torch.Tensor) -> list[torch.Tensor]:
    """Return the residual stream below the first block and after each: (N, T, C) each, float."""
    kept: list[torch.Tensor] = []
    with ExitStack() as hooks:
        for module in (*model.blocks, model.ln_f):
            hook = module.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
            hooks.enter_context(hook)
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
        InputError: a question, or a place's first letter, isn't in the corpus's characters.
    """
    model.eval()
    groups = [list(group) for _, group in itertools.groupby(chosen, lambda trio: trio.b.shape)]
    parts = [_effects(model, dataset, group) for group in groups]
    effects = {key: torch.cat([part[key] for part in parts]) for key in parts[0]}
    whole = effects[len(model.blocks), "MASK"]  # d(A) - d(C)
    return {key: Slope.of(whole, effect) for key, effect in effects.items()}


def is_fixed(block: int, site: str, last: int) -> bool:
    """Return whether a slope follows from how a Transformer is built, whatever it has learnt."""
    return block == last or (block == 0 and site in ("whole name", "MASK"))


def _effects(
    model: GPT, dataset: TextExamples, group: Sequence[Trio]
) -> dict[tuple[int, str], torch.Tensor]:
    """Return what A's paste does to d more than C's, (N,), after each block at each site.

    The names in a group have the same shape, so that their letters correspond.
    """
    read, first = [], []  # of all A, all B and all C: streams, and ids of places' first letters
    for people in zip(*group, strict=True):
        ids = [encode(dataset, person.question + dataset.MASK_CHAR) for person in people]
        read.append(streams(model, torch.tensor(ids, device=next(model.parameters()).device)))
        first.append(encode(dataset, "".join(person.place[0] for person in people)))
    of_a, of_b, of_c = read
    a, b, c = torch.tensor(first)
    other = torch.where(a == b, c, b)
    rows, effects = torch.arange(len(group)), {}
    for block in range(len(model.blocks) + 1):
        for site, slots in SITES.items():
            where, d = group[0].b.positions(*slots), []
            for source in (of_a, of_c):
                pasted = of_b[block].clone()
                pasted[:, where] = source[block][:, where]
                logits = finish(model, pasted, block)
                d.append((logits[rows, a] - logits[rows, other]).double().cpu())
            effects[block, site] = d[0] - d[1]
    return effects


def run(setting: Setting) -> Results:
    """Trace the dev people's answers, in the model and in an untrained one.

    The table has what is fixed in parentheses; the picture shows each site by block.
    """
    chosen = trios(people_in(setting.args.eval_corpus_path))
    blank = build_model(setting.args.variant, setting.model.config, setting.device)
    who = members(chosen)
    trained, untrained = (
        {key: each.estimate(who) for key, each in trace(m, setting.dataset, chosen).items()}
        for m in (setting.model, blank)
    )
    blocks = sorted({block for block, _ in trained})

    def cell(results: dict[tuple[int, str], Estimate], block: int, site: str) -> str:
        share = results[block, site]
        return f"({share.value:.2f})" if is_fixed(block, site, blocks[-1]) else str(share)

    rows = []
    for block in blocks:
        cells = [cell(trained, block, site) for site in SITES]
        name = f"block {block}" if block else "embeddings"
        rows.append([name, *cells, cell(untrained, block, "MASK")])
    text = [
        table(["pasted after", *SITES, "untrained: MASK"], rows),
        f"Shares with standard errors, over {len(chosen)} trios. What stands in parentheses "
        "follows from how a Transformer is built, whatever it has learnt.",
    ]
    shown = {site: (blocks, [trained[block, site] for block in blocks]) for site in SITES}
    del shown["whole name"]
    shown["MASK, untrained"] = blocks, [untrained[block, "MASK"] for block in blocks]
    title = "What decides the answer, after each block"
    below, label = "pasted after block (0: embeddings)", "share of the answer that moves"
    return text, curves(title, {below: shown}, label)
