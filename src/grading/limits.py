"""A test's limits, and the resource limits that a worker sets for itself."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

MEMORY_BYTES = 2 << 30
SPARE_BYTES = 96 << 20  # of a container: libraries' pages in use, and what the grader may need
LEAST_BYTES = 256 << 20  # no correct solution needs this much; file caches are freed for it
CGROUPS = (  # versions 2 and 1: the limit, and the usage without file caches
    ("memory.max", "memory.stat", ("anon", "shmem")),
    ("memory/memory.limit_in_bytes", "memory/memory.stat", ("total_rss", "total_shmem")),
)
OOM_SCORE = "/proc/self/oom_score_adj"
IMPORT_S = 20.0  # torch, imported on a slow computer, needs three
WALL_FACTOR = 6  # a default Gradescope container has half a CPU, and may be busy


@dataclass(frozen=True)
class Limits:
    """A test's limits.

    CPU seconds count from when the worker has imported its libraries, and don't count while it
    imports the submission (see `import_clock.py`); the wall-clock limits are a backstop for code
    that sleeps or waits.
    """

    cpu_s: float
    wall_s: float
    import_s: float  # CPU seconds and wall time of imports
    import_wall_s: float
    total_wall_s: float  # with imports; less than the two together if the run is nearly over
    memory_bytes: int  # resident, of all the test's processes together, without libraries
    address_space_bytes: int = 8 << 30  # torch reserves far more than it touches
    file_bytes: int = 256 << 20
    open_files: int = 256
    stack_bytes: int = 64 << 20
    processes: int = 64  # at a time, and orphans that have ended
    threads: int = 256  # of all of them; libraries of correct solutions start one or none
    # Of its scratch folder, which is removed after the test; this takes time, too (some
    # milliseconds per folder on slow file systems). A correct solution writes a few files.
    scratch_files: int = 1_000
    scratch_bytes: int = 512 << 20

    @classmethod
    def for_test(cls, cpu_s: float, left_s: float = float("inf")) -> Limits:
        """Return the limits of a test that may take `cpu_s`, in a run with `left_s` left."""

        def wall_s(cpu_s: float) -> float:
            return max(0.1, min(cpu_s * WALL_FACTOR, left_s))

        return cls(
            cpu_s=cpu_s,
            wall_s=wall_s(cpu_s),
            import_s=IMPORT_S,
            import_wall_s=wall_s(IMPORT_S),
            total_wall_s=wall_s(cpu_s + IMPORT_S),
            memory_bytes=memory_of_a_test(),
        )

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


def memory_of_a_test(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes that a test may use besides its libraries, fewer in a small container.

    Gradescope's smallest one has 768 MB, and would be killed as a whole.
    """
    for limit, stat, held in CGROUPS:
        try:
            lines = (cgroup / stat).read_text(encoding="ascii").splitlines()
            use = dict(line.split() for line in lines)
            # Not the cache, into which a container that has just started has read all libraries.
            used = sum(int(use.get(word, 0)) for word in held)
            free = int((cgroup / limit).read_text(encoding="ascii")) - used
        except (OSError, ValueError):  # the other version of cgroups, or no limit: "max"
            continue
        return min(MEMORY_BYTES, max(free - SPARE_BYTES, LEAST_BYTES))
    return MEMORY_BYTES


def offer(score: int) -> int:
    """Set this process's score for when a container runs out of memory; return the old score.

    The kernel acts faster than the watch. A worker (1000) should be killed first, then the zygote
    (500), which can be replaced, then guardians and the grader.
    """
    before = 0
    with suppress(OSError, ValueError), open(OOM_SCORE, "r+", encoding="ascii") as file:
        before = int(file.read())
        file.seek(0)
        file.write(str(score))
    return before


def take(limits: Limits) -> None:
    """Limit this process and its children, as far as the platform can."""
    offer(1000)
    try:
        import resource
    except ImportError:  # Windows: there is only the parent's watch on wall time
        return
    # The time for importing the libraries doesn't count. The watchdog is more precise than whole
    # seconds; this is its backstop.
    cpu_s = math.ceil(time.process_time() + limits.cpu_s + limits.import_s) + 1
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
        most = value
        if name == "RLIMIT_CPU" and (hard == resource.RLIM_INFINITY or value < hard):
            most = value + 1  # at the first limit it reports its place; the second one kills
        try:
            resource.setrlimit(kind, (value, most))
        except (ValueError, OSError):  # macOS refuses RLIMIT_AS
            continue


def allow_cpu(seconds: float) -> None:
    """End this process after so many more seconds of CPU time, where the platform can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = math.ceil(time.process_time() + max(seconds, 0.0)) + 1
    most = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
