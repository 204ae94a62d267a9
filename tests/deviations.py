"""Measure how far results of variants are from the reference's, where the grader compares numbers.

    python -m tests.deviations --seeds 5 --threads 2

prints JSON: for each variant of the synthesizer and of RoPE, each seed and each test that compares,
the largest difference of two numbers and the tolerance that applies. Used by
tests/test_tolerances.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from grading import worker

from .benches import Bench
from .variants import Variant, all_variants

# Tests whose verdict depends on the comparison alone.
TESTS = ("values", "full_length", "single_precision", "gradients", "whole_model", "any_angles")
TOPICS = ("synthesizer", "rope")


class Recorder:
    """Replaces the comparison: records differences, and lets everything pass."""

    def __init__(self) -> None:
        self.largest: dict[str, tuple[float, float]] = {}  # test -> (difference, tolerance)

    def __call__(
        self, case: Any, got: Any, wanted: np.ndarray, tolerance: float, sentence: str, *, id: str
    ) -> None:
        fits = isinstance(got, np.ndarray) and got.shape == wanted.shape
        difference = float(np.abs(got - wanted).max()) if fits else float("inf")
        before = self.largest.get(case.spec.name, (0.0, tolerance))[0]
        # Not max(), which may drop a NaN.
        worst = before if difference <= before else float(np.nan_to_num(difference, nan=np.inf))
        self.largest[case.spec.name] = (worst, tolerance)


def measure(variants: list[Variant], seeds: int, threads: int) -> Iterator[dict]:
    """Yield the differences of variants from the reference, for each seed and test."""
    worker.preload(with_torch=True)
    torch.set_num_threads(threads)  # instead of a worker's single one
    worker.preload = lambda with_torch: None
    with tempfile.TemporaryDirectory(prefix="deviations-") as work:
        bench = Bench(Path(work))
        for variant, seed in itertools.product(variants, range(seeds)):
            recorder = Recorder()
            for name in ("tolerances", "synthesizer", "rope"):
                sys.modules[f"hidden.{name}"].expect_close = recorder
            tests = [t for t in variant.tests(bench.tests) if t.spec.name in TESTS]
            bench.verdicts(variant, tests, seed)
            for test, (difference, tolerance) in recorder.largest.items():
                yield {
                    "variant": variant.name,
                    "right": variant.is_right,
                    "seed": seed,
                    "test": test,
                    "difference": difference,
                    "tolerance": tolerance,
                }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.deviations")
    parser.add_argument("pattern", nargs="?", default="", help="part of the variants' names")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args(arguments)
    chosen = [v for v in all_variants() if v.topic in TOPICS and asked.pattern in v.name]
    json.dump(list(measure(chosen, asked.seeds, asked.threads)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
