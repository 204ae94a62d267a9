"""The tolerances of hidden tests are far above rounding errors and far below mistakes.

Errors are measured against float64, on the variants in tests/golden/synthesizer and rope, with one
and two threads, with the processor's own instructions and with AVX2 only, as most laptops have.
"""

import json
import os
from functools import cache

import pytest

pytestmark = pytest.mark.long

# The instructions that torch and its library for matrix products may use.
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
# Waiting threads sleep: on a busy machine, this is ten times faster.
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
SEEDS = 2  # each draws weights and inputs anew; `python -m tests.deviations` takes more


@pytest.fixture(scope="module")
def deviations(run_python):
    """deviations(pattern, threads, avx2): differences of these variants from the reference."""

    @cache
    def measured(pattern: str, threads: int, avx2: bool) -> list[dict]:
        arguments = (pattern, "--seeds", SEEDS, "--threads", threads)
        environment = {**os.environ, **PATIENT, **(AVX2 if avx2 else {})}
        done = run_python("-m", "tests.deviations", *arguments, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return measured


@pytest.mark.parametrize(
    "pattern, threads, avx2",
    [
        ("synthesizer", 1, False),
        ("synthesizer/right", 2, False),
        ("synthesizer/right", 1, True),
        ("synthesizer/right", 2, True),
        ("rope", 1, False),
    ],
)
def test_tolerances_are_ten_times_the_rounding_of_right_codes(pattern, threads, avx2, deviations):
    rows = [row for row in deviations(pattern, threads, avx2) if row["right"]]
    assert rows
    assert not [row for row in rows if 10 * row["difference"] > row["tolerance"]]


@pytest.mark.parametrize("topic", ["synthesizer", "rope"])
def test_tolerances_are_a_tenth_of_what_mistakes_change(topic, deviations):
    """Wrong code is off by far more, or not at all in what the test compares."""
    rows = [row for row in deviations(topic, 1, False) if not row["right"]]
    far = [row for row in rows if row["difference"] >= 10 * row["tolerance"]]
    near = [row for row in rows if row["tolerance"] < 10 * row["difference"]]
    assert len({row["variant"] for row in far}) >= 12
    assert [row for row in near if row not in far] == []
