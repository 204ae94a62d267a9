"""Switch parts of a model off, and see what it can still answer.

    python src/run.py ablate vanilla wiki.txt --reading_params_path vanilla.finetune.params

Each head, each block's attention and each block's MLP is replaced in three ways:

- *zero*: its output is 0, which the blocks above may never have met;
- *mean*: its output is the mean over all people and positions;
- *slot*: its output is the mean over people at the same slot: at the same letter of "Where was",
  anywhere in the first name, at the MASK, at the n-th letter of the answer, and so on. What
  the part says about *this* person is lost, and what it says about everybody is kept.

The model reads each question with its own person's place behind it, and is right if the likeliest
next letter is the place's at each step; that is also when it would write this place.

The worst head of a table is there partly by luck. It is therefore chosen by one half of the people,
and what it does is measured on the other half.

Glossary of shapes: B, T, C, hs as in submission/attention.py; B is the number of people here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.hooks import RemovableHandle

from inputs import Setting
from pretraining import GPT, InputError
from pretraining.batches import PAD_ID, TextExamples

from .estimates import Estimate, Results, bars, mean, table
from .inspection import ROLES, attention_of, stacked
from .people import Person, encode, people_in

KINDS = ("zero", "mean", "slot")
LOOKED_AT = 30  # people on whose questions the weights of heads are averaged


@dataclass(frozen=True)
class Part:
    """A head (its number counts from 1 in each block), an attention or an MLP; head is 0 then."""

    kind: str
    block: int
    head: int = 0

    def __str__(self) -> str:
        return f"block {self.block} {self.kind}" + (f" {self.head}" if self.head else "")


@dataclass(frozen=True)
class Answers:
    """How a model answers, (B,) each."""

    right: torch.Tensor  # whether each person's place is right, bool
    nats: torch.Tensor  # its loss, double


Ablated = dict[Part, dict[str, Answers]]  # the answers without a part, for each of KINDS


@dataclass(frozen=True)
class Worst:
    """The head whose loss harms most, chosen on one half of the people and judged on the other."""

    part: Part
    runner_up: Part  # the second worst
    harm: Estimate  # how many nats the loss of an answer rises without it, on the other half
    lead: Estimate  # the same, minus that of the runner-up, person by person


class Questions:
    """Questions with their answers as one batch.

    Attributes:
        ids: question, MASK, place and MASK, padded at the end, (B, T), long.
        asked: whether what follows a position, but for the last, is of the answer: one of its
            letters or its MASK, (B, T - 1), bool.
        slots: the number of each position's slot, (B, T), long; what is padding has one, too.
    """

    def __init__(self, dataset: TextExamples, people: Sequence[Person], device: torch.device):
        """Encode the questions; an InputError says which characters the corpus lacks."""
        mask = dataset.MASK_CHAR
        texts = [f"{person.question}{mask}{person.place}{mask}" for person in people]
        rows = [torch.tensor(encode(dataset, text)) for text in texts]
        # Attention is causal, so that padding behind a row changes nothing in it.
        self.ids = pad_sequence(rows, batch_first=True, padding_value=PAD_ID).to(device)
        T = self.ids.size(1)
        names = [p.slots + ["padding"] * (T - len(p.slots)) for p in people]
        numbers: dict[str, int] = {}
        slots = [[numbers.setdefault(name, len(numbers)) for name in row] for row in names]
        self.slots = torch.tensor(slots, device=device)
        asked = [[name.startswith("answer") for name in row[1:]] for row in names]
        self.asked = torch.tensor(asked, device=device)


def losses(model: GPT, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a model's logits for each next id, (B, T - 1, V), and its losses, (B, T - 1)."""
    logits = model(ids)[0][:, :-1]
    return logits, F.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")


@torch.no_grad()
def answers(model: GPT, questions: Questions) -> Answers:
    """Let a model write each place, one letter after the other, and compare."""
    logits, loss = losses(model, questions.ids)
    right = (logits.argmax(dim=-1) == questions.ids[:, 1:]) | ~questions.asked
    return Answers(right.all(dim=1).cpu(), (loss * questions.asked).sum(dim=1).double().cpu())


def heads_of(model: GPT) -> list[Part]:
    """Return all heads of a model, block by block."""
    blocks, heads = range(len(model.blocks)), range(model.config.n_head)
    return [Part("head", b + 1, h + 1) for b in blocks for h in heads]


def changed(
    model: GPT, part: Part, change: Callable[[torch.Tensor], torch.Tensor]
) -> RemovableHandle:
    """Replace the output of a part, (B, T, C) or for a head (B, T, hs), inside `with`.

    A head's output is what enters `proj`, which mixes the heads.
    """
    block = model.blocks[part.block - 1]
    if part.kind != "head":
        module = block.attn if part.kind == "attention" else block.mlp
        return module.register_forward_hook(lambda _, inputs, output: change(output))

    def with_head(_: torch.nn.Module, inputs: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
        hs = inputs[0].size(-1) // model.config.n_head
        own = slice((part.head - 1) * hs, part.head * hs)
        y = inputs[0].clone()
        y[..., own] = change(y[..., own])
        return (y,)

    proj = getattr(block.attn, "proj", None)
    if not isinstance(proj, torch.nn.Module):
        proj = torch.nn.Identity()  # which nothing passes through
    return proj.register_forward_pre_hook(with_head)


def replacement(output: torch.Tensor, questions: Questions, kind: str) -> torch.Tensor:
    """Return what replaces an output in one of KINDS; both are (B, T, C) or (B, T, hs), float."""
    if kind == "zero":
        return torch.zeros_like(output)
    if kind == "mean":
        return output[questions.ids != PAD_ID].mean(dim=0).expand_as(output)
    flat, number = output.flatten(0, 1), questions.slots.flatten()
    count = torch.bincount(number)  # (slots,); each slot occurs
    sums = flat.new_zeros(len(count), flat.size(-1)).index_add(0, number, flat)
    return (sums / count[:, None])[number].view_as(output)


def ablate(model: GPT, questions: Questions) -> Ablated:
    """Answer all questions without each part in turn.

    Raises:
        InputError: the attention is built in a way that hides its heads.
    """
    model.eval()
    results: Ablated = {}
    blocks = range(1, len(model.blocks) + 1)
    others = [Part(kind, block) for kind in ("attention", "MLP") for block in blocks]
    for part, kind in itertools.product([*heads_of(model), *others], KINDS):
        calls: list[str] = []

        def replace(
            output: torch.Tensor, kind: str = kind, calls: list[str] = calls
        ) -> torch.Tensor:
            calls.append(kind)
            return replacement(output, questions, kind)

        with changed(model, part, replace):
            results.setdefault(part, {})[kind] = answers(model, questions)
        if len(calls) != 1:
            raise InputError(
                f"the output of {part} is computed {len(calls)} times, expected once (a head's is "
                "what enters the attention's proj)"
            )
    return results


def worst_heads(results: Ablated, whole: Answers) -> list[Worst]:
    """Return the worst head by each half of the people, judged on the other half."""
    heads = [part for part in results if part.kind == "head"]
    harm = torch.stack([results[part]["slot"].nats - whole.nats for part in heads])  # (heads, B)
    halves = torch.arange(harm.size(1)) % 2
    worst = []
    for half in (0, 1):
        first, second, *_ = harm[:, halves == half].mean(dim=1).argsort(descending=True).tolist()
        judged = harm[:, halves != half]
        lead = mean(judged[first] - judged[second])
        worst.append(Worst(heads[first], heads[second], mean(judged[first]), lead))
    return worst


@torch.no_grad()
def roles(model: GPT, dataset: TextExamples, people: Sequence[Person]) -> dict[Part, torch.Tensor]:
    """Return each head's weights on ROLES, (B, roles), double.

    The weights are those of the MASK's row, but for "letter before": that is the mean over all
    letters of the name, of the weight that a letter gives to the one before it.
    """
    looks = []
    for person in people:
        ids = encode(dataset, person.question + dataset.MASK_CHAR)
        weights = stacked(attention_of(model, ids)).double().flatten(0, 1)  # (heads, T, T)
        name = person.positions("first name", "space", "surname")
        before = weights[:, name, [i - 1 for i in name]].mean(dim=1)  # (heads,)
        mask = weights[:, -1]  # (heads, T)
        slots = ("first name", "surname", "MASK")
        seen = [mask[:, person.positions(slot)].sum(dim=1) for slot in slots]
        looks.append(torch.stack([before, *seen, 1 - torch.stack(seen).sum(dim=0)], dim=1))
    return dict(zip(heads_of(model), torch.stack(looks, dim=1), strict=True))


def run(setting: Setting) -> Results:
    """Ask about the dev people without each part: two tables, sentences, and a picture."""
    people = people_in(setting.args.eval_corpus_path)
    questions = Questions(setting.dataset, people, setting.device)
    whole = answers(setting.model.eval(), questions)
    results = ablate(setting.model, questions)
    looks = roles(setting.model, setting.dataset, people[:LOOKED_AT])
    everything = mean(whole.right.double())
    rows: list[list[object]] = [["nothing", *[everything] * len(KINDS), ""]]
    groups: dict[str, list[Estimate]] = {kind: [] for kind in KINDS}
    for part, without in results.items():
        for kind in KINDS:
            groups[kind].append(mean(without[kind].right.double()))
        shares = [group[-1] for group in groups.values()]
        rows.append([part, *shares, mean(without["slot"].nats - whole.nats)])
    heads = [
        [part, *(f"{each:.2f}" for each in weights.mean(dim=0).tolist())]
        for part, weights in looks.items()
    ]
    text = [
        f"Right answers of {len(people)} without a part, and what an answer then costs more, in "
        "nats, with standard errors:",
        table(["without", *KINDS, "nats (slot)"], rows),
        "",
        "Where heads look. First column: from a letter of the name to the letter before it; the "
        "others: from the MASK.",
        table(["", *ROLES], heads),
        "",
    ]
    for half, head in zip(("odd", "even"), worst_heads(results, whole), strict=True):
        verdict = "stands out from" if head.lead.is_clear else "can't be told from"
        text.append(
            f"Worst by the people in {half} lines: {head.part}. For the others, an answer costs "
            f"{head.harm} nats more without it, and the difference from {head.runner_up}, the "
            f"next, is {head.lead}: it {verdict} it."
        )
    title = f"Right answers without a part ({everything.value:.0%} with all of them)"
    return text, bars(title, list(map(str, results)), groups, "share of right answers")
