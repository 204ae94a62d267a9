"""The users that tests run as, if the grader is root: one of its own for each test (Linux)."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from .leftovers import CLEANUP_S, reap

FIRST_UID, UIDS = 61_000, 4_000  # beyond adduser's; systemd's dynamic users lie among them
CLAIMS = Path("/run/grading-uids")  # which of these are in use; root's alone


def claim(first: int) -> tuple[int, int]:
    """Claim a uid that nothing else uses; return it, and the descriptor that holds the claim.

    At the end of a test, everything that runs as its uid is killed, so two tests must never share
    one. A claim is a lock on a byte of CLAIMS: the kernel grants it to one open file, and frees it
    when the last process that has this file open has closed it or ended: the grader, or a guardian
    that outlives it. It is a file because a name (such as an abstract socket) belongs to a
    namespace: a grader on the machine itself reaches the processes of one in a container, so both
    must see the same claims (`tools/container.py`). Users that make no claims, such as services,
    are recognized by their processes.

    Args:
        first: where to begin; uids follow each other in a circle.

    Raises:
        OSError: all are in use, or claims can't be recorded.
    """
    claims = os.open(CLAIMS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    uids = (FIRST_UID + (first + number) % UIDS for number in range(UIDS))
    for uid in uids:
        if _lock_byte(claims, uid) and not processes_of(uid):
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


def kill_all(uid: int) -> bool:
    """Kill everything that runs as `uid`, until nothing is left; return whether that succeeded."""
    deadline = time.monotonic() + CLEANUP_S
    while time.monotonic() < deadline:
        _kill_as(uid)
        if not processes_of(uid):
            return True
        reap()
        time.sleep(0.002)
    return False


def _kill_as(uid: int) -> None:
    """Send SIGKILL to everything that runs as `uid`.

    `kill(-1)` from that uid reaches all of its processes at once, including daemons in their own
    sessions; becoming that uid needs root.
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
    os.waitpid(killer, 0)


def processes_of(uid: int) -> list[int]:
    """Return the processes that run as `uid`, except those waiting to be reaped."""
    number, found = str(uid).encode(), []
    for pid, status in _processes():
        if number not in status:
            continue  # true of nearly all processes, and quick to find out
        fields = _fields(status)
        # A process whose first thread has ended looks like a zombie as long as the others live.
        ended = fields[b"State"][0] in (b"Z", b"X") and int(fields[b"Threads"][0]) < 2
        if number in fields[b"Uid"] and not ended:
            found.append(pid)
    return found


def tasks_of(uid: int) -> int:
    """Count the processes and threads of a real user, as RLIMIT_NPROC does."""
    known = [_fields(status) for _, status in _processes()]
    # One that has ended has no threads, and counts till it is reaped.
    threads = [int(fields[b"Threads"][0]) for fields in known if int(fields[b"Uid"][0]) == uid]
    return sum(max(count, 1) for count in threads)


def _processes() -> Iterator[tuple[int, bytes]]:
    """Yield each process with its status, since /proc/PID belongs to root if its uid changed."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            with open(f"/proc/{pid}/status", "rb", buffering=0) as reader:
                status = reader.read(1 << 16)
            if status:
                yield int(pid), status


def _fields(status: bytes) -> dict[bytes, list[bytes]]:
    fields: dict[bytes, list[bytes]] = {}
    for line in status.splitlines():
        key, _, value = line.partition(b":")
        fields.setdefault(key, value.split())  # the name comes first, and may be anything
    return fields
