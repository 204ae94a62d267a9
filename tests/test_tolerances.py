"""The tolerances of hidden tests are far above the rounding errors of right codes.

    python -m tests.test_tolerances rope/wrong 5 2    measure mistakes, 5 seeds, with 2 threads

Errors are measured against float64, on the variants in tests/golden/synthesizer and rope, with one
and two threads, with the processor's own instructions and with AVX2 only, as most laptops have.
"""

import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from grading import worker
from tests.benches import Bench
from tests.interpreter import python
from tests.variants import ROOT, all_variants

pytestmark = pytest.mark.long

# The instructions that torch and its library for matrix products may use.
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
# Waiting threads sleep: on a busy machine, this is ten times faster.
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
SEEDS = 2  # each draws weights and inputs anew
# Tests whose verdict depends on the comparison alone.
TESTS = ("values", "full_length", "single_precision", "gradients", "whole_model", "any_angles")
TOPICS = ("synthesizer", "rope")


def measure(pattern: str, seeds: int, threads: int) -> Iterator[dict]:
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

    chosen = [v for v in all_variants() if v.topic in TOPICS and pattern in v.name]
    with tempfile.TemporaryDirectory(prefix="deviations-") as work:
        bench = Bench(Path(work))
        for name in ("tolerances", *TOPICS):
            sys.modules[f"hidden.{name}"].expect_close = record
        for variant, seed in itertools.product(chosen, range(seeds)):
            rows.clear()
            tests = [t for t in variant.tests(bench.tests) if t.spec.name in TESTS]
            bench.verdicts(variant, tests, seed)
            for test, row in rows.items():
                yield {"variant": variant.name, "test": test, **row}


@pytest.mark.parametrize(
    "pattern, threads, avx2",
    [
        ("synthesizer/right", 1, False),
        ("synthesizer/right", 2, False),
        ("synthesizer/right", 1, True),
        ("synthesizer/right", 2, True),
        ("rope/right", 1, False),
    ],
)
def test_tolerances_are_ten_times_the_rounding_of_right_codes(pattern, threads, avx2):
    """Measure in a process of its own."""
    words = ("-m", "tests.test_tolerances", pattern, str(SEEDS), str(threads))
    done = python(ROOT, *words, env=os.environ | PATIENT | (AVX2 if avx2 else {}))
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert rows
    assert not [row for row in rows if 10 * row["difference"] > row["tolerance"]]


if __name__ == "__main__":
    json.dump([*measure(sys.argv[1], *map(int, sys.argv[2:]))], sys.stdout)
