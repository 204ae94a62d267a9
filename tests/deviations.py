"""Measure how far results of variants are from the reference's, where the grader compares numbers.

    python -m tests.deviations --seeds 5 --threads 2

prints JSON: for each variant of the synthesizer and of RoPE, each seed and each test that compares,
the largest difference of two numbers and the tolerance that applies, for tests/test_tolerances.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from grading import worker

from .benches import Bench
from .variants import Variant, all_variants

# Tests whose verdict depends on the comparison alone.
TESTS = ("values", "full_length", "single_precision", "gradients", "whole_model", "any_angles")
TOPICS = ("synthesizer", "rope")


def measure(variants: list[Variant], seeds: int, threads: int) -> Iterator[dict]:
    """Yield the largest difference of each variant from the reference, for each seed and test."""
    worker.preload(with_torch=True)
    torch.set_num_threads(threads)  # instead of a worker's single one
    worker.preload = lambda with_torch: None
    rows: dict[str, dict] = {}  # by test

    def record(case, outputs: list, right: list, tolerance: float, sentence: str, *, id: str):
        """Replace the comparison: let everything pass."""
        for got, wanted in zip(outputs, right, strict=True):
            fits = isinstance(got, np.ndarray) and got.shape == wanted.shape
            difference = float(np.abs(got - wanted).max()) if fits else np.inf
            difference = np.inf if np.isnan(difference) else difference
            if difference >= rows.get(case.spec.name, {"difference": 0.0})["difference"]:
                rows[case.spec.name] = {"difference": difference, "tolerance": tolerance}

    with tempfile.TemporaryDirectory(prefix="deviations-") as work:
        bench = Bench(Path(work))
        for name in ("tolerances", "synthesizer", "rope"):
            sys.modules[f"hidden.{name}"].expect_close = record
        for variant, seed in itertools.product(variants, range(seeds)):
            rows.clear()
            tests = [t for t in variant.tests(bench.tests) if t.spec.name in TESTS]
            bench.verdicts(variant, tests, seed)
            for test, row in rows.items():
                yield {"variant": variant.name, "right": variant.is_right, "test": test, **row}


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
