"""The tolerances of hidden tests are far above rounding errors and far below mistakes.

Errors are measured against float64, on the variants in tests/golden/synthesizer and rope, with one
and two threads, with the processor's own instructions and with AVX2 only, as most laptops have.
"""

import json
import os
from collections.abc import Callable
from functools import cache

import pytest

pytestmark = pytest.mark.long

# The instructions that torch and its library for matrix products may use.
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
# Waiting threads sleep: on a busy machine, this is ten times faster.
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
RIGHT = "synthesizer/right"
MACHINES = {  # threads, environment, and what is measured there in the same call
    "one thread": (1, {}, ("{topic}", 1)),  # all variants
    "two threads": (2, {}, (RIGHT, 2)),
    "one thread, AVX2": (1, AVX2, (RIGHT, 1, 2)),
    "two threads, AVX2": (2, AVX2, (RIGHT, 1, 2)),
}
SEEDS = 2  # each draws weights and inputs anew; `python -m tests.deviations` takes more


@pytest.fixture(scope="module")
def deviations(run_python) -> Callable[[str, str, bool], list[dict]]:
    """deviations(machine, topic, right): differences of these variants from the reference."""

    @cache
    def measured(pattern: str, *threads: int, avx2: bool) -> list[dict]:
        arguments = (pattern, "--seeds", SEEDS, "--threads", *threads)
        environment = {**os.environ, **PATIENT, **(AVX2 if avx2 else {})}
        done = run_python("-m", "tests.deviations", *arguments, env=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def of(machine: str, topic: str, right: bool) -> list[dict]:
        threads, environment, asked = MACHINES[machine]
        pattern, *counts = asked
        rows = measured(pattern.format(topic=topic), *counts, avx2=environment is AVX2)
        ours = f"{topic}/{'right' if right else 'wrong'}/"
        return [r for r in rows if r["threads"] == threads and r["variant"].startswith(ours)]

    return of


@pytest.mark.parametrize(
    "topic, machine",
    [
        *(("synthesizer", name) for name in MACHINES),
        ("rope", "one thread"),
    ],
)
def test_tolerances_are_ten_times_the_rounding_of_right_codes(topic, machine, deviations):
    rows = deviations(machine, topic, True)
    assert rows
    assert not [row for row in rows if 10 * row["difference"] > row["tolerance"]]


@pytest.mark.parametrize("topic", ["synthesizer", "rope"])
def test_tolerances_are_a_tenth_of_what_mistakes_change(topic, deviations):
    """Wrong code is off by far more, or not at all in what the test compares."""
    rows = deviations("one thread", topic, False)
    far = [row for row in rows if row["difference"] >= 10 * row["tolerance"]]
    near = [row for row in rows if row["tolerance"] < 10 * row["difference"]]
    assert len({row["variant"] for row in far}) >= 12
    assert [row for row in near if row not in far] == []
