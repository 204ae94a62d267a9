"""The limits that the kernel enforces for a confined worker, and what a container leaves for it."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from pathlib import Path

from grading.limits import MEMORY_BYTES, Limits

SPARE_BYTES = 96 << 20  # of a container: libraries' pages in use, and what the grader may need
LEAST_BYTES = 256 << 20  # no correct solution needs this much; file caches are freed for it
CGROUPS = (  # versions 2 and 1: the limit, and the usage without file caches
    ("memory.max", "memory.stat", ("anon", "shmem")),
    ("memory/memory.limit_in_bytes", "memory/memory.stat", ("total_rss", "total_shmem")),
)
OOM_SCORE = "/proc/self/oom_score_adj"


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
