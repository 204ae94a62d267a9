"""Measure answering 500 questions in batches, as run.py does, compared with one by one.

    python -m benchmarks.decoding [--repeat 3]

Checks that both give the same answers. The models are untrained, so every answer has 32 characters,
the maximum length.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

from . import reference

ROOT = Path(__file__).resolve().parent.parent
reference.come_first()

from inputs import build_model  # noqa: E402
from pretraining.decoding import ANSWER_STEPS  # noqa: E402
from pretraining.recipes import load_recipe  # noqa: E402
from submission import utils  # noqa: E402
from submission.dataset import CharCorruptionDataset  # noqa: E402
from submission.model import GPTConfig  # noqa: E402

from .training import machine  # noqa: E402

QUESTIONS = 500


def one_by_one(model, dataset, questions: list[str]) -> list[str]:
    """Sample each answer and cut it at the second MASK, as the public course's run.py does."""
    mask = dataset.MASK_CHAR
    answers = []
    for question in questions:
        ids = torch.tensor([[dataset.stoi[ch] for ch in question + mask]])
        written = utils.sample(model, ids, ANSWER_STEPS)[0, ids.size(1) :]
        answers.append("".join(dataset.itos[int(i)] for i in written).split(mask)[0])
    return answers


def batched(model, dataset, questions: list[str]) -> list[str]:
    """Answer in batches, as our run.py does."""
    return [each.place for each in utils.predict_places(model, dataset, questions)]


def main() -> int:
    """Print both times and their ratio for each variant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    torch.set_num_threads(1)
    data = ROOT / "src" / "data"
    text = (data / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    recipe = load_recipe("laptop")
    dataset = CharCorruptionDataset(text, recipe.model["block_size"])
    known, _ = utils.read_places(data / "birth_places_train.tsv")
    questions = (known * QUESTIONS)[:QUESTIONS]
    print(f"{machine()}, torch {torch.__version__}; {QUESTIONS} questions, one thread")
    for name in ("vanilla", "synthesizer"):
        utils.set_seed(0)
        model = build_model(
            name, GPTConfig(dataset.vocab_size, **recipe.model_of(name)), torch.device("cpu")
        )
        times = {one_by_one: [], batched: []}
        answers = {}
        for _ in range(repeat):
            for way, took in times.items():
                started = time.perf_counter()
                answers[way] = way(model, dataset, questions)
                took.append(time.perf_counter() - started)
        assert answers[one_by_one] == answers[batched]
        slow, fast = (statistics.median(took) for took in times.values())
        print(f"{name}: {slow:.1f} s one by one, {fast:.2f} s batched, {slow / fast:.0f} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
