"""What a test may use, and the resource limits that a worker takes on itself."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass

MEMORY_BYTES = 2 << 30
WALL_FACTOR = 6  # a default Gradescope container has half a CPU, and may be busy


@dataclass(frozen=True)
class Limits:
    """A test's limits.

    CPU seconds count from when the worker has imported its libraries; the wall-clock limit is a
    backstop for code that sleeps or waits.
    """

    cpu_s: float
    wall_s: float
    memory_bytes: int  # resident, of all the test's processes together
    address_space_bytes: int = 8 << 30  # torch reserves far more than it touches
    file_bytes: int = 256 << 20
    open_files: int = 256
    stack_bytes: int = 64 << 20
    processes: int = 64

    @classmethod
    def for_test(cls, cpu_s: float, left_s: float = float("inf")) -> Limits:
        """The limits of a test that may take `cpu_s`, in a run that has `left_s` left."""
        wall_s = max(0.1, min(cpu_s * WALL_FACTOR, left_s))
        return cls(cpu_s=cpu_s, wall_s=wall_s, memory_bytes=MEMORY_BYTES)

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def take(limits: Limits) -> None:
    """Limit this process and its children, where the platform can."""
    try:
        import resource
    except ImportError:  # Windows: the parent's watch on wall time is all there is
        return
    # What importing the libraries took doesn't count. The watchdog is finer than whole seconds;
    # this is its backstop.
    cpu_s = math.ceil(time.process_time() + limits.cpu_s) + 1
    wanted = {
        "RLIMIT_CPU": cpu_s,
        "RLIMIT_AS": limits.address_space_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_STACK": limits.stack_bytes,
        "RLIMIT_CORE": 0,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue
