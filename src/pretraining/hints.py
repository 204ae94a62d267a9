"""Hints during training: the likely cause when a curve looks wrong, before hours are lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from .batches import Examples
from .given import is_corrupted
from .randomness import random_states, restore_random_states

if TYPE_CHECKING:
    from submission.trainer import Trainer

LOOKED_AT = 512  # examples whose masked share is measured, with a standard deviation below .01
SHARE = (0.18, 0.30)  # contains every corruption that follows the sheet; the mean is .25
LATEST = 20  # steps whose mean loss is judged
FLAT = 0.95  # of ln(vocabulary): learning only the characters' frequencies brings it to .75
LEAST_STEPS = 50
TOO_GOOD = 0.5  # of the reference's loss, which varies by .1 between seeds and right corruptions


def hint_about_data(dataset: Examples) -> str | None:
    """Return a hint unless about a quarter of a CharCorruptionDataset's characters are masked."""
    if not is_corrupted(dataset):
        return None
    states = random_states()
    masked = total = 0
    for number in range(LOOKED_AT):
        x, y = dataset[number % len(dataset)]
        lengths = part_lengths(torch.cat((x, y[-1:])), dataset.stoi[dataset.MASK_CHAR])
        masked, total = masked + lengths[-1], total + sum(lengths)
    restore_random_states(states)
    share = masked / max(total, 1)
    if SHARE[0] < share < SHARE[1]:
        return None
    return (
        f"{share:.0%} of the characters are masked in {LOOKED_AT} examples, expected about 25%. "
        "Likely cause: the length of the span is not a quarter, on average, of the truncated "
        "document's real length, or the parts are out of order (dataset.py, [span corruption])."
    )


def part_lengths(ids: torch.Tensor, mask_id: int) -> list[int]:
    """Return the lengths of prefix, suffix and masked content of an example's ids, (T,)."""
    text = ids[ids != 0].tolist()
    ends = [place for place, each in enumerate(text) if each == mask_id]
    if len(ends) < 2:
        return [len(text), 0, 0]
    third = ends[2] if len(ends) > 2 else len(text)
    return [ends[0], ends[1] - ends[0] - 1, third - ends[1] - 1]


def hint_about_loss(history: list[float], tenth: int, trainer: Trainer) -> str | None:
    """Return a hint if the loss after `tenth` tenths of training is far from what it should be.

    Args:
        history: the loss of each step so far, in nats.
        trainer: the Trainer; its config.expected_loss holds the reference's at each tenth.
    """
    if len(history) < LEAST_STEPS:
        return None
    loss = sum(history[-LATEST:]) / LATEST
    characters = getattr(trainer.train_dataset, "vocab_size", None)
    if characters is not None and tenth >= 2 and loss > FLAT * math.log(characters):
        return (
            f"the loss is {loss:.2f} after {len(history)} steps, no better than guessing among "
            f"{characters} characters (ln {characters} = {math.log(characters):.2f}): the model "
            "learns nothing. Likely cause: a learning rate that is 0 or far too high, or code that "
            "stops the gradient (detach, no_grad, .data) or ignores its input."
        )
    expected = (trainer.config.expected_loss or [])[tenth - 1 : tenth]
    if expected and loss < TOO_GOOD * expected[0]:
        return (
            f"the loss is {loss:.3f} after {len(history)} steps, and that of the reference is "
            f"{expected[0]:.2f}. This is too good: targets leak into the input. Likely cause: y is "
            "not x shifted by one (dataset.py, [span corruption]), or positions see later ones "
            "(no causal mask; attention.py, [synthesizer])."
        )
    return None
