"""Compare our training step, at each pace, with the public trainer's: CPU and wall time.

    python -m benchmarks.steps [--repeat 15] [--recipe laptop] [--dtypes float32]

The plain step follows the description of the public trainer: untrimmed batches, float32, logits and
loss at all positions, and AdamW. Both steps use the same model and batches, alternately. Ours is
measured both with AdamW and with the recipe's optimizer. Ratios are ratios of medians.

GFLOP/s are those of a step's matrix products, forward and backward, without the optimizer's. The
processor's peak is the fastest of several products of two large matrices, with torch's own threads.
"""

from __future__ import annotations

import argparse
import copy
import math
import os
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch.utils.flop_counter import FlopCounterMode

from . import reference

reference.come_first()

from inputs import build_model, read_corpus  # noqa: E402
from pretraining import optimizers  # noqa: E402
from pretraining.batches import BatchOrder, load  # noqa: E402
from pretraining.fast import FORMATS, Engine, Pace  # noqa: E402
from pretraining.recipes import load_recipe, trainer_settings  # noqa: E402
from submission import utils  # noqa: E402
from submission.dataset import CharCorruptionDataset  # noqa: E402
from submission.model import GPT, GPTConfig  # noqa: E402
from submission.trainer import TrainerConfig  # noqa: E402

from .training import machine  # noqa: E402

DTYPES = ["float32", "bfloat16"]
Step = Callable[[torch.Tensor, torch.Tensor], None]


def stepper(model, config, pace: Pace | None = None, muon: bool = False) -> Step:
    """Return a function that takes a step on a copy of a model.

    It is ours at a pace, with the recipe's optimizers if `muon` is set and with AdamW otherwise;
    without a pace, the public trainer's.
    """
    model = copy.deepcopy(model)
    engine = None if pace is None else Engine(model, pace)
    if muon:
        used = optimizers.build_optimizers(model, config, pace)
    else:
        fused = None if engine is None else True  # torch's default, as the public trainer's
        used = [torch.optim.AdamW(model.parameters(), lr=1e-3, fused=fused)]

    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        if engine is not None:
            engine.backward(x, y)
        else:
            _, loss = model(x, y)
            model.zero_grad()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_norm_clip)
        for optimizer in used:
            optimizer.step()

    return step


def measure(step: Step, x, y) -> tuple[float, float]:
    """Return the wall and CPU seconds of a step."""
    wall, cpu = time.perf_counter(), time.process_time()
    step(x, y)
    return time.perf_counter() - wall, time.process_time() - cpu


def count(step: Step, x, y) -> float:
    """Return the floating-point operations of a step's matrix products, in GFLOP."""
    with FlopCounterMode(display=False) as counter:
        step(x, y)
    return counter.get_total_flops() / 1e9


def peak(pace: Pace, size: int = 4096, repeat: int = 5) -> float:
    """Return the GFLOP/s of the fastest of several products of two (size, size) matrices."""
    torch.set_num_threads(pace.threads)
    a, b = torch.randn(2, size, size).to(FORMATS[pace.dtype])
    best = math.inf
    for _ in range(repeat + 1):
        started = time.perf_counter()
        torch.mm(a, b)
        best = min(best, time.perf_counter() - started)
    torch.set_num_threads(1)
    return 2 * size**3 / best / 1e9


def main() -> int:
    """Print a table for each variant."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--recipe", default="laptop")
    parser.add_argument(
        "--dtypes", nargs="+", choices=DTYPES, default=DTYPES, help="bfloat16 is slow with AVX2"
    )
    asked = parser.parse_args()
    paces = [Pace(dtype, threads) for dtype in asked.dtypes for threads in (1, 2)]
    torch.set_num_threads(1)
    print(f"{machine()}, torch {torch.__version__}")
    print("peak in GFLOP/s:", ", ".join(f"{pace} {peak(pace):.0f}" for pace in paces))
    for variant in ("vanilla", "synthesizer"):
        model, dataset, config = prepared(asked.recipe, variant)
        print(f"\n{variant}: ", end="")
        compare(model, dataset, config, paces, asked.repeat)
    return 0


def prepared(name: str, variant: str) -> tuple[GPT, CharCorruptionDataset, TrainerConfig]:
    """Return a recipe's model, corpus and settings of pretraining."""
    recipe = load_recipe(name)
    utils.set_seed(0)
    dataset = read_corpus("wiki.txt", recipe.model["block_size"])
    config = GPTConfig(dataset.vocab_size, **recipe.model_of(variant))
    model = build_model(variant, config, torch.device("cpu"))
    sizes = len(dataset), dataset.block_size
    settings = trainer_settings(recipe, "pretrain", *sizes, variant)
    return model, dataset, TrainerConfig(**settings)


def compare(model, dataset, config, paces: list[Pace], repeat: int) -> None:
    """Time all steps alternately on the same batches, and print their ratios to the plain step."""
    steps = {"the public trainer's": stepper(model, config)}
    steps |= {f"{pace}": stepper(model, config, pace) for pace in paces}
    steps |= {f"{pace}, Muon": stepper(model, config, pace, muon=True) for pace in paces}
    counted = stepper(model, config, paces[0])  # in one thread: counters see only one
    work = []  # GFLOP of each batch
    times = {name: [] for name in steps}
    batches = load(dataset, BatchOrder(len(dataset), config.batch_size, repeat), 0)
    for number, (x, y) in enumerate(batches):
        if number > repeat:
            break
        if number > 0:
            work.append(count(counted, x, y))
        names = list(steps)
        first = number % len(names)  # no step always comes after the same one
        for name in names[first:] + names[:first]:
            took = measure(steps[name], x, y)
            if number > 0:  # the first batch warms up
                times[name].append(took)
    plain_wall, plain_cpu = (
        statistics.median(t) for t in zip(*times[next(iter(steps))], strict=True)
    )
    print(f"speedup over {next(iter(steps))}")
    print(f"({plain_cpu:.2f} s of CPU per step), {repeat} batches of {config.batch_size}")
    print(f"our step needs {statistics.median(work):.0f} GFLOP\n")
    print("| step | CPU | wall | GFLOP/s |\n|---|---|---|---|")
    for name, each in list(times.items())[1:]:
        wall, cpu = (statistics.median(t) for t in zip(*each, strict=True))
        speed = statistics.median(work) / wall
        print(f"| {name} | {plain_cpu / cpu:.1f} | {plain_wall / wall:.1f} | {speed:.0f} |")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
