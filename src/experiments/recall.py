"""Associative recall: a task for one layer of attention and nothing else.

    python src/run.py recall vanilla

An input is four pairs of a letter and a digit, in any order, followed by one of the letters. The
answer is the digit that was paired with it:

    B2 D4 A1 C3 A   ->   1

A pair takes one position: its vector is the sum of the letter's, the digit's and the position's.
There are 2,304 inputs in all, and all of them are used.

Glossary of shapes: B, T, C as in submission/attention.py; T is PAIRS + 1.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

from pretraining.errors import InputError
from pretraining.optimizers import AdamW

PAIRS = 4
NO_DIGIT = PAIRS  # paired with the letter in question
# The attention's shape, as fields of GPTConfig. The block is longer than an input because in some
# earlier years a synthesizer had one column fewer than the block has positions.
SHAPE: dict[str, Any] = {"block_size": PAIRS + 2, "n_layer": 1, "n_head": 4, "n_embd": 64}
DROPOUT: dict[str, Any] = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
BATCH_SIZE = 256
STEPS = 1_500  # at most
LEARNING_RATE = 3e-3
CHECKED_AFTER = 100  # steps between two evaluations


@dataclass(frozen=True)
class Inputs:
    """Inputs and their answers: letters and digits, (B, T), and answers, (B,), all long."""

    letters: torch.Tensor
    digits: torch.Tensor
    answers: torch.Tensor

    def __len__(self) -> int:
        return len(self.answers)


def all_inputs() -> Inputs:
    """Return every input once: all orders of letters, all orders of digits, each final letter."""
    orders = list(itertools.permutations(range(PAIRS)))
    rows = list(itertools.product(orders, orders, range(PAIRS)))
    return Inputs(
        torch.tensor([[*letters, asked] for letters, _, asked in rows]),
        torch.tensor([[*digits, NO_DIGIT] for _, digits, _ in rows]),
        torch.tensor([digits[letters.index(asked)] for letters, digits, asked in rows]),
    )


class RecallModel(nn.Module):
    """Embeddings, one attention layer and a linear map of its output at the last position.

    There is no layer norm, no residual connection and no MLP, so everything that it learns is
    done by the attention.
    """

    def __init__(self, attn: nn.Module):
        """
        Args:
            attn: maps (B, T, C) to (B, T, C), for the C in SHAPE.
        """
        super().__init__()
        C = SHAPE["n_embd"]
        self.letters = nn.Embedding(PAIRS, C)
        self.digits = nn.Embedding(PAIRS + 1, C)
        self.positions = nn.Embedding(PAIRS + 1, C)
        self.attn = attn
        self.head = nn.Linear(C, PAIRS)
        for module in attn.modules():
            # A GPT starts with weights of standard deviation .02, which suit a stack of blocks.
            if isinstance(module, nn.Linear):
                module.reset_parameters()

    def forward(self, letters: torch.Tensor, digits: torch.Tensor) -> torch.Tensor:
        """Return logits of the answer, (B, PAIRS), float, for letters and digits, (B, T), long.

        Raises:
            InputError: the attention returns something of another shape.
        """
        positions = torch.arange(letters.size(1), device=letters.device)
        x = self.letters(letters) + self.digits(digits) + self.positions(positions)  # (B, T, C)
        y = self.attn(x)
        if not torch.is_tensor(y) or y.shape != x.shape:
            got = f"shape {tuple(y.shape)}" if torch.is_tensor(y) else type(y).__name__
            raise InputError(
                f"the attention's forward returned {got}, expected shape {tuple(x.shape)}, that of "
                "its input (does it return y, with the heads side by side?)"
            )
        return self.head(y[:, -1])


@dataclass(frozen=True)
class Score:
    """The number of right answers, the number of inputs, and the mean loss over them, in nats."""

    right: int
    total: int
    loss: float

    def __str__(self) -> str:
        share = self.right / self.total
        return f"{self.right:,} of {self.total:,} inputs, {share:.1%}; mean loss {self.loss:.3f}"


@torch.no_grad()
def score(model: RecallModel, inputs: Inputs) -> Score:
    """Return a model's score on inputs."""
    model.eval()
    logits = model(inputs.letters, inputs.digits)  # (B, PAIRS)
    model.train()
    right = int((logits.argmax(dim=-1) == inputs.answers).sum())
    return Score(right, len(inputs), float(F.cross_entropy(logits, inputs.answers)))


def learn(attn: nn.Module, device: torch.device, say: Callable[[str], None] = print) -> Score:
    """Train one layer of attention on recall, until all answers are right or STEPS are done.

    Args:
        attn: see RecallModel; it is trained, too.
        device: where to train.
        say: is called with a line from time to time.

    Returns:
        the final score on all inputs.

    Raises:
        InputError: the attention's output has the wrong shape, or the loss is not finite.
    """
    every = all_inputs()
    inputs = Inputs(every.letters.to(device), every.digits.to(device), every.answers.to(device))
    model = RecallModel(attn).to(device)
    optimizer = AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0)  # that is, Adam
    started, found = time.monotonic(), score(model, inputs)
    for step in range(1, STEPS + 1):
        rows = torch.randint(len(inputs), (BATCH_SIZE,), device=device)
        logits = model(inputs.letters[rows], inputs.digits[rows])
        loss = F.cross_entropy(logits, inputs.answers[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % CHECKED_AFTER == 0:
            found = score(model, inputs)
            if not math.isfinite(found.loss):
                raise InputError(
                    f"the loss is {found.loss} after {step} steps, expected a finite number"
                )
            say(f"{step:5} steps, {time.monotonic() - started:3.0f} s: {found}")
            if found.right == found.total:
                break
    return found
