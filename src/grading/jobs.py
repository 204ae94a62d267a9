"""Shared by all ways of starting workers: a job, its environment, and how it ended."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import schema
from .errors import GradingError, WireError
from .frames import Finished
from .guardian import REASONS, Ending
from .limits import Limits
from .paths import SRC
from .sandbox import Confinement

START_S = 120.0  # importing torch from a cold disk
GRACE_S = 10.0  # for the guardian, after the wall-clock limit

ENDING = {
    "code": int,
    "signal": int,
    "reason": schema.Where(str, lambda reason: reason in REASONS, "a limit's name or none"),
    "cpu_s": float,
    "wall_s": float,
    "memory_bytes": int,
    "import_s": float,
    "clean": bool,
}
FLAGS = ("-P", "-s", "-B", "-X", "utf8")


@dataclass(frozen=True)
class Job:
    """One probe to run in one worker."""

    torch: bool
    request: dict[str, Any]
    limits: Limits
    scratch: Path
    confinement: Confinement = Confinement()
    claims_fd: int | None = None  # the guardian keeps it open, and so the claim on the job's uid


class Pool(Protocol):
    """Runs jobs, each in a process of its own."""

    def run(self, job: Job) -> Finished: ...

    def warm(self, with_torch: bool) -> None: ...

    def abandon(self) -> None:
        """End the running jobs, in whatever threads."""

    def close(self) -> None: ...


def clean_environment(hash_seed: int) -> dict[str, str]:
    """Build an environment from nothing: none of the user's variables reach student code."""
    environment = {
        "PYTHONHASHSEED": str(hash_seed % 2**32),
        "LC_ALL": "C.UTF-8",
        "PATH": os.defpath,
        # One thread everywhere, for reproducible sums and safe forks.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # What torch.compile is given is run as it is: compiling takes longer than a test may.
        "TORCHDYNAMO_DISABLE": "1",
    }
    for name in ("SYSTEMROOT", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        if name in os.environ:  # Windows can't start without the first; tests set the others
            environment[name] = os.environ[name]
    return environment


def command(code: str) -> list[str]:
    """Return the command that runs `code`, which can import `grading` but nothing of the user's."""
    return [sys.executable, *FLAGS, "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {code}"]


def join(*threads: threading.Thread) -> None:
    """Wait for all threads together; they end with the processes that hold the other ends."""
    deadline = time.monotonic() + GRACE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def read_ending(status: bytes | bytearray) -> Ending:
    """Read the guardian's report; if it is incomplete, the guardian was killed."""
    try:
        report = json.loads(status)
        if "failed" in report:
            raise GradingError(f"the guardian failed: {report['failed']}")
        schema.check(report, ENDING)
        return Ending(**report)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, WireError):
        return Ending(0, 9, "unknown", 0.0, 0.0, 0)
