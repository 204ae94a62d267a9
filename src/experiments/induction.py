"""Grow an induction head: associative recall with letters and digits at positions of their own.

    python src/run.py induction vanilla

An input is four pairs of a letter and a digit, in any order, then one of the letters again. The
answer is the digit that followed it:

    B 2 D 4 A 1 C 1 A   ->   1

Here a pair takes two positions, so that no single step finds the answer: the digit has to learn
which letter stood before it, and only then can the last letter find the digit. In a model with two
layers, the first does the one and the second the other: an induction head (Elhage et al. 2021;
Olsson et al. 2022).

Digits may repeat. With `--digits permutation` each occurs once, as in `run.py recall`; some models
then find another way, which the induction score shows.

Glossary of shapes: B, T, C, nh as in submission/attention.py; T is 2 PAIRS + 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
import torch.nn as nn
import torch.nn.functional as F

from pretraining.errors import InputError
from pretraining.optimizers import AdamW

from . import figures
from .estimates import table
from .inspection import weights_passed

PAIRS = 4
T = 2 * PAIRS + 1
SHAPE: dict[str, Any] = {"block_size": T + 1, "n_embd": 64}
DROPOUT: dict[str, Any] = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
DIGITS = ("repeated", "permutation")
HELD_OUT = 5  # one input in so many is never trained on
BATCH_SIZE, STEPS, LEARNING_RATE = 256, 1_000, 3e-3
CHECKED_AFTER = 100  # steps between two evaluations
CHECKED = 2_000  # inputs in an evaluation
LOOKED_AT = 200  # inputs on which attention is read
ENOUGH = 0.999  # right answers with which a training ends


class Scores(Protocol):
    """The two functions of submission/induction_scores.py."""

    def previous_token_score(self, weights: torch.Tensor) -> torch.Tensor:
        """Map weights, (nh, T, T), to scores, (nh,)."""

    def induction_score(self, weights: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Map weights, (nh, T, T), and tokens, (T,), to scores, (nh,)."""


@dataclass(frozen=True)
class Inputs:
    """Inputs and their answers.

    Attributes:
        tokens: (B, T), long; letters are 0 to 3, digits 4 to 7.
        answers: (B,), long, 0 to 3.
    """

    tokens: torch.Tensor
    answers: torch.Tensor

    def rows(self, chosen: torch.Tensor) -> Inputs:
        """Return some of the inputs."""
        return Inputs(self.tokens[chosen], self.answers[chosen])


def all_inputs(digits: str = "repeated") -> Inputs:
    """Return every input once: 24,576 with digits that may repeat, 2,304 with permutations."""
    orders = list(itertools.permutations(range(PAIRS)))
    rows = (
        orders if digits == "permutation" else list(itertools.product(range(PAIRS), repeat=PAIRS))
    )
    tokens, answers = [], []
    for letters, numbers, last in itertools.product(orders, rows, range(PAIRS)):
        pairs = zip(letters, (PAIRS + number for number in numbers), strict=True)
        tokens.append([*itertools.chain(*pairs), last])
        answers.append(numbers[letters.index(last)])
    return Inputs(torch.tensor(tokens), torch.tensor(answers))


def split(inputs: Inputs, seed: int = 0) -> tuple[Inputs, Inputs]:
    """Return four fifths of the inputs, to train on, and the fifth that is held out."""
    order = torch.randperm(len(inputs.answers), generator=torch.Generator().manual_seed(seed))
    count = len(order) // HELD_OUT
    return inputs.rows(order[count:]), inputs.rows(order[:count])


class InductionModel(nn.Module):
    """Embeddings, layers of attention with residual connections, and a linear head; no MLP."""

    def __init__(self, layers: list[nn.Module]):
        """
        Args:
            layers: each maps (B, T, C) to (B, T, C), for the C in SHAPE.
        """
        super().__init__()
        C = SHAPE["n_embd"]
        self.tokens = nn.Embedding(2 * PAIRS, C)
        self.positions = nn.Embedding(T, C)
        self.norms = nn.ModuleList([nn.LayerNorm(C) for _ in layers])
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(C, PAIRS)
        for module in self.layers.modules():
            # A GPT starts with weights of standard deviation .02, which suit a stack of blocks.
            if isinstance(module, nn.Linear):
                module.reset_parameters()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits of the answer, (B, PAIRS), float, for tokens, (B, T), long.

        Raises:
            InputError: an attention returns something of another shape.
        """
        positions = torch.arange(tokens.size(1), device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions)  # (B, T, C)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            y = layer(norm(x))
            if not torch.is_tensor(y) or y.shape != x.shape:
                got = f"shape {tuple(y.shape)}" if torch.is_tensor(y) else type(y).__name__
                raise InputError(
                    f"the attention's forward returned {got}, expected shape {tuple(x.shape)}, "
                    "that of its input (does it return y, with the heads side by side?)"
                )
            x = x + y
        return self.head(x[:, -1])


@torch.no_grad()
def accuracy(model: InductionModel, inputs: Inputs) -> float:
    """Return the share of right answers."""
    right = 0
    for rows in torch.arange(len(inputs.answers)).split(4096):
        batch = inputs.rows(rows)
        right += int((model(batch.tokens).argmax(dim=-1) == batch.answers).sum())
    return right / len(inputs.answers)


def learn(model: InductionModel, inputs: Inputs, seed: int) -> int:
    """Train until nearly all answers are right, or STEPS are done; return the number of steps."""
    optimizer = AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)  # that is, Adam
    generator = torch.Generator().manual_seed(seed)
    some = inputs.rows(torch.arange(CHECKED).clamp(max=len(inputs.answers) - 1))
    for step in range(1, STEPS + 1):
        rows = torch.randint(len(inputs.answers), (BATCH_SIZE,), generator=generator)
        batch = inputs.rows(rows)
        loss = F.cross_entropy(model(batch.tokens), batch.answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % CHECKED_AFTER == 0 and accuracy(model, some) >= ENOUGH:
            return step
    return STEPS


@torch.no_grad()
def weights_of(model: InductionModel, tokens: torch.Tensor) -> list[torch.Tensor]:
    """Return the attention weights of each layer for one input, (T,), long: (nh, T, T) each.

    Raises:
        InputError: an attention has none that can be read.
    """
    n_head = cast("int", model.layers[0].n_head)
    found = weights_passed([*model.layers], lambda: model(tokens[None]), n_head, T)
    for layer in found:
        if layer.weights is None:
            raise InputError(layer.note)
    return [layer.weights for layer in found if layer.weights is not None]


@contextmanager
def without_the_answers_digit(model: InductionModel, inputs: Inputs) -> Iterator[None]:
    """Let the last layer's last position not see the digit that it is to name.

    Its weight goes to the other positions in proportion. Where it was 1, nothing is left to see.
    """
    at = answers_position(inputs.tokens)  # (B,)

    def cut(module: nn.Module, args: tuple, weights: torch.Tensor) -> torch.Tensor:
        cut = weights.clone()
        cut[torch.arange(len(at)), :, -1, at] = 0.0
        return cut / cut.sum(dim=-1, keepdim=True).clamp(min=1e-9)

    drop = cast("nn.Module", model.layers[-1].attn_drop)
    hook = drop.register_forward_hook(cut)
    try:
        yield
    finally:
        hook.remove()


def answers_position(tokens: torch.Tensor) -> torch.Tensor:
    """Return where the digit to be named stands: (B,), long, for tokens (B, T)."""
    letters = tokens[:, 0:-1:2]  # (B, PAIRS)
    return 2 * (letters == tokens[:, -1:]).long().argmax(dim=1) + 1


@dataclass(frozen=True)
class Grown:
    """A trained model.

    Attributes:
        layers, heads, steps: its shape, and how long it was trained.
        held_out: the share of right answers among the inputs that were held out.
        cut: the same where the last layer can't see the digit.
        previous, induction: the best head's scores in the first and in the last layer.
    """

    layers: int
    heads: int
    steps: int
    held_out: float
    cut: float
    previous: float
    induction: float


def grow(
    build: Callable[[int], nn.Module],
    scores: Scores | None,
    layers: int,
    heads: int,
    digits: str,
    seed: int,
) -> Grown:
    """Train a model and look at its attention.

    Args:
        build: makes an attention with a number of heads.
        scores: the student's functions; without them, the model has no scores.
    """
    torch.manual_seed(seed)
    model = InductionModel([build(heads) for _ in range(layers)])
    trained, held_out = split(all_inputs(digits), seed)
    steps = learn(model, trained, seed)
    few = held_out.rows(torch.arange(LOOKED_AT))
    previous, found = torch.zeros(heads), torch.zeros(heads)
    for tokens in few.tokens:
        if scores is None:
            break
        weights = weights_of(model, tokens)
        previous += scores.previous_token_score(weights[0])
        found += scores.induction_score(weights[-1], tokens)
    with without_the_answers_digit(model, few):
        cut = accuracy(model, few)
    best = (float(sums.max()) / LOOKED_AT if scores else math.nan for sums in (previous, found))
    return Grown(layers, heads, steps, accuracy(model, held_out), cut, *best)


def grow_all(
    build: Callable[[int], nn.Module],
    scores: Scores | None,
    digits: str = "repeated",
    seed: int = 0,
) -> Iterator[Grown]:
    """Grow models of one and two layers, with one and four heads."""
    for layers, heads in itertools.product((1, 2), (1, 4)):
        yield grow(build, scores, layers, heads, digits, seed)


def lines(grown: Sequence[Grown]) -> list[str]:
    """Return the results as a table."""
    header = ["layers", "heads", "steps", "held out", "digit cut", "previous token", "induction"]
    rows = [
        [g.layers, g.heads, g.steps, f"{g.held_out:.1%}", f"{g.cut:.1%}"]
        + [f"{g.previous:.2f}", f"{g.induction:.2f}"]
        for g in grown
    ]
    return [
        table(header, rows),
        "held out: right answers on inputs that were never trained on. digit cut: the same where "
        "the last layer can't see the digit that it is to name; by chance, a quarter is right.",
    ]


def draw(grown: Sequence[Grown]) -> str:
    """Return a picture of the accuracies and the scores."""
    names = ["held out", "digit cut", "previous token", "induction"]
    groups = {
        f"{g.layers} layer{'s' * (g.layers > 1)}, {g.heads} head{'s' * (g.heads > 1)}": [
            g.held_out,
            g.cut,
            g.previous,
            g.induction,
        ]
        for g in grown
    }
    return figures.bars("Recall with one layer and with two", names, groups, "share")
