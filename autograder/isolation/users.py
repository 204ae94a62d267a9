"""The users that tests run as, if the grader is root: one of its own for each test (Linux)."""

import contextlib
import functools
import os
import re
import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path

FIRST_UID, UIDS = 61_000, 4_000  # beyond adduser's; systemd's dynamic users lie among them
OF_STATUS = re.compile(rb"\nUid:([\d\s]+?)\n.*\nThreads:\s*(\d+)\n", re.DOTALL)
CLAIMS = Path("/run/grading-uids")  # which of these are in use; root's alone


def claim(first: int) -> tuple[int, int]:
    """Claim a uid that nothing else uses; return it, and the descriptor that holds the claim.

    At the end of a test, everything that runs as its uid is killed, so two tests must never share
    one. A claim is a lock on a byte of CLAIMS, which the kernel frees when the last process with
    this open file has closed it or ended: the grader, or a guardian that outlives it. It is a file,
    because a name such as an abstract socket belongs to a namespace, and a grader on the machine
    itself, which reaches the processes of one in a container, must see its claims
    (`tools/container.py`). Users that make no claims, such as services, show by their processes.

    Args:
        first: where to begin; uids follow each other in a circle.

    Raises:
        OSError: all are in use, or claims can't be recorded.
    """
    claims = os.open(CLAIMS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for number in range(UIDS):
        uid = FIRST_UID + (first + number) % UIDS
        if _lock_byte(claims, uid) and uid not in _used(int(time.monotonic())):
            return uid, claims
    os.close(claims)
    raise OSError(f"all {UIDS} uids for tests are in use")


def _lock_byte(claims: int, uid: int) -> bool:
    """Take a claim; return False if another open file, of any process, holds it."""
    import fcntl  # not on Windows, where this never runs

    lock = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, uid, 1, 0)  # struct flock, 64 bits
    try:
        fcntl.fcntl(claims, fcntl.F_OFD_SETLK, lock)
    except (BlockingIOError, PermissionError):  # POSIX allows either
        return False
    return True


def kill_all(uid: int) -> None:
    """Kill everything that runs as `uid` (which needs root), also daemons in their own sessions.

    `kill(-1)` from that uid reaches all of its processes at once, before they can fork.
    """
    killer = os.fork()
    if killer == 0:
        try:
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass  # nobody there
        finally:
            os._exit(0)
    os.waitpid(killer, os.WUNTRACED)  # one that its victims have stopped ends with them


@functools.lru_cache(maxsize=1)
def _used(second: int) -> frozenset[int]:
    """Return all processes' uids of each kind, as of a second: reading them takes milliseconds."""
    return frozenset(uid for uids, _ in _processes() for uid in uids)


def tasks_of(uid: int) -> int:
    """Count the processes and threads of a real user, as RLIMIT_NPROC does."""
    # One that has ended has no threads, and counts till it is reaped.
    return sum(max(threads, 1) for uids, threads in _processes() if uids[0] == uid)


def _processes() -> Iterator[tuple[list[int], int]]:
    """Yield each process's uids, the real one first, and the number of its threads.

    Its status tells them; /proc/PID itself belongs to root if the process has changed its uid.
    """
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            with open(f"/proc/{pid}/status", "rb", buffering=0) as reader:
                status = reader.read(1 << 16)
            if found := OF_STATUS.search(status):  # as in each
                yield [int(uid) for uid in found[1].split()], int(found[2])
