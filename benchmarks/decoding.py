"""Answering 500 questions in batches, as run.py does, as a ratio to one by one.

    python -m benchmarks.decoding [--repeat 3]

Both give the same answers, which is checked. Untrained models answer with all of their 32
characters, which is the longest an answer can be.
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

from pretraining.decoding import ANSWER_STEPS  # noqa: E402
from pretraining.recipes import load_recipe  # noqa: E402
from submission import utils  # noqa: E402
from submission.dataset import CharCorruptionDataset  # noqa: E402
from submission.model import GPT, GPTConfig  # noqa: E402

from .training import machine  # noqa: E402

QUESTIONS = 500


def one_by_one(model, dataset, questions: list[str]) -> list[str]:
    """As the public course's run.py: sample each, cut at the second MASK."""
    mask = dataset.MASK_CHAR
    answers = []
    for question in questions:
        ids = torch.tensor([[dataset.stoi[ch] for ch in question + mask]])
        written = utils.sample(model, ids, ANSWER_STEPS)[0, ids.size(1) :]
        answers.append("".join(dataset.itos[int(i)] for i in written).split(mask)[0])
    return answers


def batched(model, dataset, questions: list[str]) -> list[str]:
    """Ours."""
    return [each.place for each in utils.predict_places(model, dataset, questions)]


def main() -> int:
    """Print both times and the ratio for each variant."""
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
    for synthesizer in (False, True):
        utils.set_seed(0)
        name = "synthesizer" if synthesizer else "vanilla"
        fields = recipe.model_of(name)
        model = GPT(GPTConfig(dataset.vocab_size, **fields, synthesizer=synthesizer))
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
