"""Associative recall: what one layer of attention can do, and what only two can.

    python src/run.py recall vanilla
    python src/run.py induction vanilla

An input is four pairs of a letter and a digit, in any order, followed by one of the letters. The
answer is the digit that was paired with it:

    B2 D4 A1 C3 A   ->   1

In `recall`, a pair takes one position: its vector is the sum of the letter's, the digit's and the
position's. One layer learns it, with no layer norm, residual connection or MLP, so that everything
is done by its attention. There are 2,304 inputs in all, and all of them are used.

In `induction`, a pair takes two positions, so that no single step finds the answer: the digit has
to learn which letter stood before it, and only then can the last letter find the digit. In a model
with two layers, the first does the one and the second the other: an induction head (Elhage et al.
2021; Olsson et al. 2022). Digits may repeat. With `--digits permutation` each occurs once, as in
`recall`; some models then find another way, which the induction score shows.

Glossary of shapes: B, T, C, nh as in submission/attention.py; T is PAIRS + 1, or 2 PAIRS + 1.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset
from torch.utils.hooks import RemovableHandle

from inputs import Setting, build_model
from pretraining import InputError
from pretraining.optimizers import AdamW
from submission.model import Block, GPTConfig

from .estimates import Estimate, Results, bars, mean, table
from .inspection import stacked, weights_passed

PAIRS = 4
C = 64
NO_DIGIT = PAIRS  # paired with the letter in question
# The attentions' shapes, as fields of GPTConfig. A block is longer than an input because in some
# earlier years a synthesizer had one column fewer than the block has positions.
SHAPE: dict[str, Any] = {"n_layer": 1, "n_embd": C, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
ONE_LAYER = SHAPE | {"block_size": PAIRS + 2, "n_head": 4}
TWO_LAYERS = SHAPE | {"block_size": 2 * PAIRS + 2}
DIGITS = ("repeated", "permutation")
BATCH_SIZE, LEARNING_RATE = 256, 3e-3
CHECKED_AFTER = 100  # steps between two evaluations
RECALL_STEPS, INDUCTION_STEPS = 1_500, 1_000  # at most
# Of `induction`.
HELD_OUT = 5  # one input in so many is never trained on
CHECKED = 2_000  # inputs in an evaluation
ENOUGH = 0.999  # right answers
LOOKED_AT = 200  # inputs on which attention is read


def all_inputs(digits: str = "permutation", together: bool = False) -> TensorDataset:
    """Return every input once: 24,576 with digits that may repeat, 2,304 with permutations.

    Args:
        digits: one of DIGITS.
        together: whether a letter and its digit share a position.

    Returns:
        tokens, long, in which letters are 0 to 3: (B, T), where digits are 4 to 7, or together
        (B, T, 2), where they are 0 to 3 or NO_DIGIT; and answers, (B,), long, 0 to 3.
    """
    orders = list(itertools.permutations(range(PAIRS)))
    repeated = list(itertools.product(range(PAIRS), repeat=PAIRS))
    choices = orders if digits == "permutation" else repeated
    rows, answers = [], []
    for letters, numbers, last in itertools.product(orders, choices, range(PAIRS)):
        rows.append([*zip(letters, numbers, strict=True), (last, NO_DIGIT)])
        answers.append(numbers[letters.index(last)])
    tokens = torch.tensor(rows)  # (inputs, PAIRS + 1, 2)
    if not together:
        tokens[..., 1] += PAIRS
        tokens = tokens.flatten(1)[:, :-1]  # (inputs, 2 PAIRS + 1)
    return TensorDataset(tokens, torch.tensor(answers))


class RecallModel(nn.Module):
    """Embeddings, layers of attention, and a linear map of what is at the last position; no MLP.

    With `together`, the layers have neither norms nor residual connections.
    """

    def __init__(self, layers: list[nn.Module], together: bool = False):
        super().__init__()
        kinds = (PAIRS, PAIRS + 1, PAIRS + 1) if together else (2 * PAIRS, 2 * PAIRS + 1)
        self.embeddings = nn.ModuleList([nn.Embedding(count, C) for count in kinds])
        norms = [nn.Identity() if together else nn.LayerNorm(C) for _ in layers]
        self.norms, self.together = nn.ModuleList(norms), together
        self.head = nn.Linear(C, PAIRS)
        self.layers = nn.ModuleList(layers)
        for module in self.layers.modules():
            # A GPT starts with weights of standard deviation .02, which suit a stack of blocks.
            if isinstance(module, nn.Linear):
                module.reset_parameters()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return logits of the answer, (B, PAIRS), float, for tokens as of `all_inputs`."""
        read = tokens.unbind(dim=-1) if self.together else [tokens]
        read = [*read, torch.arange(tokens.size(1), device=tokens.device)]  # and positions
        x = sum(embed(ids) for embed, ids in zip(self.embeddings, read, strict=True))  # (B, T, C)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            y = layer(norm(x))
            x = y if self.together else x + y
        return self.head(x[:, -1])


@torch.no_grad()
def score(model: nn.Module, inputs: TensorDataset) -> tuple[torch.Tensor, float]:
    """Return which of a model's answers are right, (B,), double, and its mean loss in nats."""
    tokens, answers = inputs.tensors
    model.eval()
    logits = torch.cat([model(some) for some in tokens.split(4096)])  # (B, PAIRS)
    model.train()
    right = (logits.argmax(dim=-1) == answers).double()
    return right, float(F.cross_entropy(logits, answers))


def share(model: nn.Module, inputs: TensorDataset) -> Estimate:
    """Return the share of a model's right answers."""
    return mean(score(model, inputs)[0])


def learn(
    model: nn.Module, inputs: TensorDataset, steps: int, generator: torch.Generator | None = None
) -> Iterator[int]:
    """Train a model for `steps` at most; yield their number so far after every CHECKED_AFTER.

    `generator` draws the batches; None: torch's own.

    Raises:
        InputError: the loss is not finite.
    """
    optimizer = AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)  # that is, Adam
    device = inputs.tensors[0].device
    for step in range(1, steps + 1):
        rows = torch.randint(len(inputs), (BATCH_SIZE,), generator=generator, device=device)
        tokens, answers = inputs[rows]
        loss = F.cross_entropy(model(tokens), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % CHECKED_AFTER == 0:
            if not torch.isfinite(loss):
                raise InputError(
                    f"the loss is {loss.item()} after {step} steps, expected a finite number"
                )
            yield step


def attention(setting: Setting, shape: dict[str, Any], device: torch.device) -> nn.Module:
    """Return the variant's attention, new, of a model's shape."""
    config = GPTConfig(vocab_size=1, **shape)
    return cast("Block", build_model(setting.args.variant, config, device).blocks[0]).attn


# -- one layer ------------------------------------------------------------------------------------


def run_recall(setting: Setting) -> None:
    """Train one layer of a variant's attention until all answers are right; print its scores."""
    attn = attention(setting, ONE_LAYER, setting.device)
    parameters, name = sum(p.numel() for p in attn.parameters()), type(attn).__name__
    print(f"recall {setting.args.variant}: one layer of {name}, {parameters:,} parameters")
    inputs = TensorDataset(*(each.to(setting.device) for each in all_inputs(together=True).tensors))
    model = RecallModel([attn], together=True).to(setting.device)
    started = time.monotonic()
    for step in learn(model, inputs, RECALL_STEPS):
        answers, loss = score(model, inputs)
        right = int(answers.sum())
        now = (
            f"{right:,} of {len(inputs):,} inputs, {right / len(inputs):.1%}; mean loss {loss:.3f}"
        )
        print(f"{step:5} steps, {time.monotonic() - started:3.0f} s: {now}")
        if right == len(inputs):
            break
    print(f"Right: {now} nats")


# -- two layers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grown:
    """A trained model."""

    layers: int
    heads: int
    steps: int  # of training
    held_out: Estimate  # the share of right answers among the inputs that were held out
    cut: Estimate  # the same for LOOKED_AT of them, where the last layer can't see the digit
    previous: float  # the best head's score in the first layer
    induction: float  # the best head's score in the last layer


def split(inputs: TensorDataset, seed: int) -> tuple[TensorDataset, TensorDataset]:
    """Return four fifths of the inputs, to train on, and the fifth that is held out."""
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(seed))
    count = len(order) // HELD_OUT
    return TensorDataset(*inputs[order[count:]]), TensorDataset(*inputs[order[:count]])


@torch.no_grad()
def weights_of(model: RecallModel, tokens: torch.Tensor, heads: int) -> torch.Tensor:
    """Return the weights of a model's attention for one input, (T,), long: (layers, nh, T, T).

    Raises:
        InputError: an attention has none that can be read.
    """
    return stacked(weights_passed([*model.layers], lambda: model(tokens[None]), heads, len(tokens)))


def without_the_answers_digit(model: RecallModel, tokens: torch.Tensor) -> RemovableHandle:
    """Inside `with`, let the last layer's last position not see the digit that it is to name.

    Its weight goes to the other positions in proportion. Where it was 1, nothing is left to see.
    """
    at = answers_position(tokens)  # (B,)

    def cut(module: nn.Module, args: tuple, weights: torch.Tensor) -> torch.Tensor:
        cut = weights.clone()
        cut[torch.arange(len(at)), :, -1, at] = 0.0
        return cut / cut.sum(dim=-1, keepdim=True).clamp(min=1e-9)

    return cast("nn.Module", model.layers[-1].attn_drop).register_forward_hook(cut)


def answers_position(tokens: torch.Tensor) -> torch.Tensor:
    """Return where the digit to be named stands: (B,), long, for tokens (B, T)."""
    letters = tokens[:, 0:-1:2]  # (B, PAIRS)
    return 2 * (letters == tokens[:, -1:]).long().argmax(dim=1) + 1


def grow(
    build: Callable[[int], nn.Module], scores: Any, layers: int, heads: int, digits: str, seed: int
) -> Grown:
    """Train a model and look at its attention.

    Args:
        build: makes an attention with a number of heads.
        scores: has the two functions of submission/induction_scores.py; None: nothing is scored.
    """
    torch.manual_seed(seed)
    model = RecallModel([build(heads) for _ in range(layers)])
    trained, held_out = split(all_inputs(digits), seed)
    some = TensorDataset(*trained[torch.arange(CHECKED).clamp(max=len(trained) - 1)])
    generator = torch.Generator().manual_seed(seed)
    lessons = learn(model, trained, INDUCTION_STEPS, generator)
    steps = next((n for n in lessons if share(model, some).value >= ENOUGH), INDUCTION_STEPS)
    few = TensorDataset(*held_out[:LOOKED_AT])
    tokens, _ = few.tensors
    sums = torch.full((2, heads), 0.0 if scores else math.nan)
    for each in tokens if scores else ():
        weights = weights_of(model, each, heads)
        sums[0] += scores.previous_token_score(weights[0])
        sums[1] += scores.induction_score(weights[-1], each)
    best = (float(total.max()) / LOOKED_AT for total in sums)
    with without_the_answers_digit(model, tokens):
        cut = share(model, few)
    return Grown(layers, heads, steps, share(model, held_out), cut, *best)


def grow_all(
    build: Callable[[int], nn.Module], scores: Any, digits: str, seed: int
) -> Iterator[Grown]:
    """Grow models of one and two layers, with one and four heads."""
    for layers, heads in itertools.product((1, 2), (1, 4)):
        yield grow(build, scores, layers, heads, digits, seed)


def run_induction(setting: Setting) -> Results:
    """Grow models of one and two layers."""
    scores: Any = None
    with contextlib.suppress(ImportError):  # an edition without their question lacks the functions
        from submission import induction_scores

        scores = induction_scores if hasattr(induction_scores, "induction_score") else None

    def build(heads: int) -> nn.Module:
        return attention(setting, TWO_LAYERS | {"n_head": heads}, torch.device("cpu"))

    header = ["layers", "heads", "steps", "held out", "digit cut", "previous token", "induction"]
    rows, groups = [], {}
    for g in grow_all(build, scores, setting.args.digits, setting.args.seed):
        print(f"layers {g.layers}, heads {g.heads}: {g.held_out.value:.1%} right", flush=True)
        means = [f"{g.previous:.2f}", f"{g.induction:.2f}"]
        rows.append([g.layers, g.heads, g.steps, g.held_out, g.cut, *means])
        name = f"{g.layers} layer{'s' * (g.layers > 1)}, {g.heads} head{'s' * (g.heads > 1)}"
        groups[name] = [g.held_out, g.cut, Estimate(g.previous), Estimate(g.induction)]
    text = [
        table(header, rows),
        "held out: right answers on inputs that were never trained on. digit cut: the same for "
        f"{LOOKED_AT} of them, where the last layer can't see the digit that it is to name; "
        "guessing gets a quarter right. Both with standard errors.",
    ]
    return text, bars("Recall with one layer and with two", header[3:], groups, "share")
