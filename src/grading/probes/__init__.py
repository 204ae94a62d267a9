"""Probes: functions that exercise a submission in a worker and return plain data.

A module a topic. A probe takes a `worker.Context` and plain arguments; it imports `submission`
inside the function, never at the top. It judges nothing.
"""

from __future__ import annotations

import importlib

TORCH_FREE = ("attention", "canary")
NEED_TORCH = (
    "building_blocks",
    "evidence",
    "prediction",
    "rotary",
    "span_corruption",
    "synthesizer",
    "training",
)


def load(with_torch: bool) -> None:
    """Import the probe modules that a worker may be asked for."""
    for name in TORCH_FREE + (NEED_TORCH if with_torch else ()):
        importlib.import_module(f"{__name__}.{name}")
