"""The tolerances of hidden tests are far above rounding errors and far below mistakes.

Errors are measured against float64, on the variants in tests/golden/synthesizer and rope, with one
and two threads, with the processor's own instructions and with AVX2 only, as most laptops have.
"""

import json
import os
from collections.abc import Callable

import pytest

# The instructions that torch and its library for matrix products may use.
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
# Waiting threads sleep: on a busy machine, this is ten times faster.
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}
MACHINES = {
    "one thread": (1, {}),
    "two threads": (2, {}),
    "one thread, AVX2": (1, AVX2),
    "two threads, AVX2": (2, AVX2),
}
SEEDS = 2  # each draws weights and inputs anew; `python -m tests.deviations` takes more


def deviations(run_python: Callable, kind: str, machine: str, topic: str) -> list[dict]:
    """Return differences of a topic's "right" or "wrong" variants from the reference."""
    threads, environment = MACHINES[machine]
    arguments = (f"{topic}/{kind}", "--seeds", SEEDS, "--threads", threads)
    environment = {**os.environ, **PATIENT, **environment}
    done = run_python("-m", "tests.deviations", *arguments, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "topic, machine", [*(("synthesizer", name) for name in MACHINES), ("rope", "one thread")]
)
def test_tolerances_are_ten_times_the_rounding_of_right_codes(topic, machine, run_python):
    rows = deviations(run_python, "right", machine, topic)
    assert rows
    assert not [row for row in rows if 10 * row["difference"] > row["tolerance"]]


@pytest.mark.parametrize("topic", ["synthesizer", "rope"])
def test_tolerances_are_a_tenth_of_what_mistakes_change(topic, run_python):
    """Wrong code is off by far more, or not at all in what the test compares."""
    rows = deviations(run_python, "wrong", "one thread", topic)
    far = [row for row in rows if row["difference"] >= 10 * row["tolerance"]]
    near = [row for row in rows if row["tolerance"] < 10 * row["difference"]]
    assert len({row["variant"] for row in far}) >= 12
    assert [row for row in near if row not in far] == []
