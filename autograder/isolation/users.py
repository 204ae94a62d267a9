"""The users that tests run as, if the grader is root: one of its own for each test (Linux)."""

import contextlib
import os
import signal
import struct
from collections.abc import Iterator
from pathlib import Path

FIRST_UID, UIDS = 61_000, 4_000  # beyond adduser's; systemd's dynamic users lie among them
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
        if _lock_byte(claims, uid) and not _is_used(uid):
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


def _is_used(uid: int) -> bool:
    """Return whether any process, by one of its uids, is this user's."""
    return any(str(uid).encode() in fields[b"Uid"] for fields in _processes(uid))


def tasks_of(uid: int) -> int:
    """Count the processes and threads of a real user, as RLIMIT_NPROC does."""
    known = [fields for fields in _processes(uid) if int(fields[b"Uid"][0]) == uid]
    # One that has ended has no threads, and counts till it is reaped.
    return sum(max(int(fields[b"Threads"][0]), 1) for fields in known)


def _processes(uid: int) -> Iterator[dict[bytes, list[bytes]]]:
    """Yield the fields of the status of at least a user's processes.

    They tell whose it is; /proc/PID itself belongs to root if the process has changed its uid.
    """
    number = str(uid).encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            with open(f"/proc/{pid}/status", "rb", buffering=0) as reader:
                status = reader.read(1 << 16)
            if number in status:  # false of nearly all processes, and quick to find out
                fields: dict[bytes, list[bytes]] = {}
                for line in status.splitlines():
                    key, _, value = line.partition(b":")
                    fields.setdefault(key, value.split())  # the name comes first
                yield fields
