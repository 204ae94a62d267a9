"""Compare variations of our training step with the step as it is: what was tried to make it faster.

    python -m benchmarks.step_attempts [--repeat 15] [--dtype float32] [--variant NAME]

All steps use the same model and batches, alternately, with two threads and AdamW. Ratios are ratios
of medians; below 1, a variation is slower. --compile needs a C compiler, and a few minutes.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import torch
import torch.nn.functional as F

from . import steps  # which finds the two below

from pretraining import fast  # noqa: E402  isort: skip
from pretraining.batches import BatchOrder, load  # noqa: E402  isort: skip

WARM_UP = 3  # batches
Attempt = Callable[[], AbstractContextManager]


def fused(attn, x: torch.Tensor, layer_past: object = None) -> torch.Tensor:
    """Compute CausalSelfAttention.forward with torch's fused kernel."""
    B, T, C = x.size()
    layers = (attn.query, attn.key, attn.value)
    q, k, v = (layer(x).view(B, T, attn.n_head, -1).transpose(1, 2) for layer in layers)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return attn.proj(y.transpose(1, 2).reshape(B, T, C))


def attempts(compiled: bool) -> dict[str, Attempt]:
    """Return each variation as a context for making and running a step."""
    changed: dict[str, Attempt] = {
        "as it is": nullcontext,
        "padding in all layers": lambda: patch.object(fast, "can_pack", lambda model: False),
        "microbatches of 16 rows": lambda: patch.object(fast, "CPU_ROWS", 16),
        "microbatches of 64 rows": lambda: patch.object(fast, "CPU_ROWS", 64),
        "lengths that aren't multiples of 8": lambda: patch.object(fast, "COLUMNS", 1),
        "sums of LayerNorm's gradients in the model's dtype": lambda: patch.object(
            fast, "normalized", lambda norm, x: norm(x)
        ),
        "torch's fused attention": lambda: patch.object(fast, "attend", fused),
        "GELU approximated by tanh": lambda: patch.object(
            torch.nn.GELU, "forward", lambda gelu, x: F.gelu(x, approximate="tanh")
        ),
    }
    if compiled:
        features = torch.compile(fast.features, dynamic=True)
        changed["torch.compile"] = lambda: patch.object(fast, "features", features)
    return changed


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--recipe", default="laptop")
    parser.add_argument("--dtype", choices=steps.DTYPES, default="bfloat16")
    parser.add_argument("--variant", default="vanilla")
    parser.add_argument("--compile", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    model, dataset, config = steps.prepared(asked.recipe, asked.variant)
    made = {}
    for name, changes in attempts(asked.compile).items():
        with changes():
            pace = fast.Pace(asked.dtype, threads=2)
            made[name] = changes, steps.OurStep(model, config, pace, muon=False)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    count = asked.repeat + WARM_UP
    batches = load(dataset, BatchOrder(len(dataset), config.batch_size, count), 0)
    for number, (x, y) in enumerate(itertools.islice(batches, count)):
        names = list(made)
        first = number % len(names)  # no step always comes after the same one
        for name in names[first:] + names[:first]:
            changes, step = made[name]
            with changes():
                started = time.perf_counter()
                took = steps.measure(step, x, y)
            if number == 0:
                print(f"{name}: {time.perf_counter() - started:.1f} s for the first step")
            if number >= WARM_UP:
                times[name].append(took)
    wall, cpu = medians(times["as it is"])
    print(f"{steps.machine()}, torch {torch.__version__}, {asked.dtype}, {asked.repeat} batches")
    print("\n| step | wall | CPU |\n|---|---|---|")
    for name in made:
        own_wall, own_cpu = medians(times[name])
        print(f"| {name} | {wall / own_wall:.2f} | {cpu / own_cpu:.2f} |")
    return 0


def medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the median wall and CPU seconds."""
    wall, cpu = (statistics.median(each) for each in zip(*times, strict=True))
    return wall, cpu


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    sys.exit(main())
