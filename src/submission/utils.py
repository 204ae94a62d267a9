"""Files of questions, sampling from a model, answering questions, saving and loading parameters.

Use this module, but do not change it.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F

from pretraining import InputError, parameter_files
from pretraining.batches import TextExamples
from pretraining.decoding import ANSWER_STEPS, greedy_answers

if TYPE_CHECKING:
    from .model import GPT


@dataclass(frozen=True)
class Prediction:
    """A model's answer, and the probability that the model gives to exactly this answer."""

    place: str
    probability: float


def set_seed(seed: int) -> None:
    """Seed every random number generator that a dataset or a model may use."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


@torch.no_grad()
def sample(
    model: GPT,
    x: torch.Tensor,
    steps: int,
    temperature: float = 1.0,
    sample: bool = False,
    top_k: int | None = None,
) -> torch.Tensor:
    """Continue sequences by `steps` characters, one at a time.

    Args:
        model: it sees at most the last block_size characters.
        x: ids to start from, shape (B, T), long, on the model's device.
        steps: the number of characters to add.
        temperature: scores are divided by it; values below 1 favour likely characters.
        sample: draw characters (True), or take the likeliest each time (False).
        top_k: draw only from this many of the likeliest characters.

    Returns:
        shape (B, T + steps), long: x and the added ids.
    """
    block_size = model.get_block_size()
    model.eval()
    for _ in range(steps):
        logits, _ = model(x[:, -block_size:])
        logits = logits[:, -1, :] / temperature  # (B, V)
        if top_k is not None:
            least = torch.topk(logits, min(top_k, logits.size(-1)))[0][:, -1:]
            logits = logits.masked_fill(logits < least, float("-inf"))
        if sample:
            chosen = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
        else:
            chosen = logits.argmax(dim=-1, keepdim=True)  # (B, 1)
        x = torch.cat((x, chosen), dim=1)
    return x


def predict_places(model: GPT, dataset: TextExamples, questions: list[str]) -> list[Prediction]:
    """Let a finetuned model answer questions, taking the likeliest character each time.

    An answer is the text between the first MASK, which is added after the question, and the
    second, which the model writes; or all 32 characters if it writes no MASK.

    Args:
        model: on any device.
        dataset: has the meaning of the ids: stoi, itos, MASK_CHAR.
        questions: such as "Where was Ada Byron born?".

    Returns:
        a Prediction for each question, in order.

    Raises:
        InputError: a question is too long for the model, or has a character that it never saw.
    """
    block_size = model.get_block_size()
    prompts = []
    for number, question in enumerate(questions, start=1):
        unknown = sorted(set(question) - set(dataset.stoi))
        if unknown:
            raise InputError(
                f"line {number}: got the characters {''.join(unknown)!r}, expected only those of "
                "the pretraining corpus (does this file belong to that corpus?)"
            )
        if len(question) >= block_size:
            raise InputError(
                f"line {number}: got a question of {len(question)} characters, expected fewer "
                f"than the model's block_size, {block_size}"
            )
        prompts.append([dataset.stoi[ch] for ch in question + dataset.MASK_CHAR])
    mask_id = dataset.stoi[dataset.MASK_CHAR]
    answers = greedy_answers(model, prompts, mask_id, ANSWER_STEPS)
    return [Prediction("".join(dataset.itos[i] for i in ids), p) for ids, p in answers]


def read_text(filepath: str | os.PathLike) -> str:
    """Return the contents of a UTF-8 file.

    Raises:
        InputError: it is not UTF-8.
    """
    try:
        return Path(filepath).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(
            f"{filepath}, line {line}: got bytes that are not UTF-8, expected UTF-8 text (was "
            "the file saved by a program with another encoding?)"
        ) from None


def read_places(filepath: str | os.PathLike) -> tuple[list[str], list[str] | None]:
    """Read a file of questions, with or without answers.

    Returns:
        questions, and their places (None if the file has none).

    Raises:
        InputError: a line is neither a question nor a question, a tab and a place.
    """
    text = read_text(filepath)
    rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
    columns = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) != columns or columns > 2 or not all(row):
            expected = "a question" if columns == 1 else "a question, one tab, a place"
            raise InputError(
                f"{filepath}, line {number}: got {chr(9).join(row)!r}, expected {expected}"
            )
    questions = [row[0] for row in rows]
    return questions, [row[1] for row in rows] if columns == 2 else None


def evaluate_places(filepath: str | os.PathLike, predicted_places: list[str]) -> tuple[int, int]:
    """Compare predictions with the answers in a file.

    Args:
        filepath: lines `Where was NAME born?<TAB>PLACE`, UTF-8.
        predicted_places: a place for each line, in order.

    Returns:
        (total, correct): the number of lines, and of exact predictions. If the file has no
        answers, a line says so, and the result is (0, 0).

    Raises:
        InputError: there are more or fewer predictions than lines.
    """
    questions, places = read_places(filepath)
    if places is None:
        print(f"{filepath} has no answers: nothing to score.")
        return 0, 0
    if len(predicted_places) != len(places):
        raise InputError(
            f"got {len(predicted_places)} predictions, expected {len(places)}, one for each line "
            f"of {filepath}"
        )
    correct = sum(got == place for got, place in zip(predicted_places, places, strict=True))
    return len(places), correct


def save_parameters(model: torch.nn.Module, path: str | os.PathLike) -> None:
    """Write a model's parameters, as tensors on the CPU, so that any machine can read them."""
    state = model.state_dict()
    parameter_files.save_tensors(
        {parameter_files.short(name): tensor.cpu() for name, tensor in state.items()}, path
    )


def load_parameters(path: str | os.PathLike, model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Read parameters and check that they fit a model, which is not changed.

    Returns:
        the argument for model.load_state_dict.

    Raises:
        InputError: the file has no parameters, or some do not fit; the message names the first.
    """
    return parameter_files.fitted(path, model)
