"""The confinement that a worker takes on before it reads a line of student code (Linux).

Three independent layers:
1. limits (`limits.py`), a session of its own, an environment built from nothing, the guardian's
   watch: everywhere;
2. no_new_privs, Landlock and a seccomp filter (`kernel.py`): for any Linux user,
   whose tests may start threads but no processes, since these would count as the user's own;
3. a uid of the test's own, in a range that nothing else uses: only for root.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import signal
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from grading.limits import Limits

from .. import paths
from . import kernel

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
FIRST_UID, UIDS = 61_000, 4_000  # beyond adduser's; systemd's dynamic users lie among them
CLAIMS = Path("/run/grading-uids")  # which of these are in use; root's alone
LIBRARIES = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")
# Not /dev/zero: what is mapped from it is shared memory without a file, see system_calls.MMAP.
DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")
FACTS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system", "/proc/self")
CLEANUP_S = 5.0


@dataclass(frozen=True)
class Confinement:
    """Which layers a worker takes besides limits, and which files it may access.

    Attributes:
        uid: the user to become, or None to remain the same user.
        landlock, seccomp: whether to use them.
        readable: files, and folders below which the worker may read.
        writable: files and folders where it may also write: its scratch folder and /dev/null.
        most_tasks: how many processes and threads its user may have in total; None: any number.
    """

    uid: int | None = None
    landlock: bool = False
    seccomp: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    most_tasks: int | None = None

    def as_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Layers:
    """What this machine and this user offer.

    Attributes:
        root: whether tests can have uids of their own: we are root, and other users can access
            the interpreter and its libraries (otherwise a worker's late imports would fail).
        landlock_abi: the kernel's Landlock version, 0 for none.
        seccomp: whether filters work.
        obstacle: why root is False, in words.
    """

    root: bool
    landlock_abi: int
    seccomp: bool
    obstacle: str = "needs root"

    def names(self) -> list[str]:
        """List the layers in words, for the result's facts and for --doctor."""
        found = ["processes of their own", "limits"]
        if self.landlock_abi or self.seccomp or self.root:
            found.append("no_new_privs")
        if self.landlock_abi:
            found.append(f"Landlock (ABI {self.landlock_abi})")
        if self.seccomp:
            found.append("seccomp")
        if self.root:
            found.append("a uid for each test")
        return found

    def missing(self) -> list[str]:
        """List the layers that are missing on this machine or for this user."""
        lacking = [] if self.landlock_abi else ["Landlock"]
        lacking += [] if self.seccomp else ["seccomp"]
        return lacking + ([] if self.root else [f"a uid for each test ({self.obstacle})"])


def detect() -> Layers:
    """Find the layers that work here: none if this is not Linux."""
    if sys.platform != "linux":
        return Layers(False, 0, False)
    obstacle = "needs root" if os.geteuid() else _closed_folder()
    return Layers(not obstacle, kernel.landlock_abi(), kernel.has_seccomp(), obstacle)


def _closed_folder() -> str:
    """Name the first folder on the path to the interpreter that others can't enter, or ""."""
    for path in interpreter_folders():
        for folder in (Path(path), *Path(path).parents):
            if not folder.stat().st_mode & 0o001:
                return f"other users can't enter {folder}, on the path to this Python"
    return ""


class UidPool:
    """Hands out a fresh uid for each test, one that no other grader on this machine is using.

    At the end of a test, everything that runs as its uid is killed, so two tests must never share
    one. A claim is a lock on a byte of CLAIMS: the kernel grants it to one open file, and frees it
    when the last process that has this file open ends, however it ends. Guardians also keep it
    open, since they may outlive a grader that was killed. It is a file because a name (such as an
    abstract socket) belongs to a namespace: a grader on the machine itself reaches the processes of
    one in a container, so both must see the same claims (`tools/container.py`). Users that make no
    claims, such as services, are recognized by their processes.
    """

    def __init__(self) -> None:
        self._next = secrets.randbelow(UIDS)
        self._lock = threading.Lock()
        self._others: set[int] = set()
        self.claims_fd: int | None = None  # open once a uid has been taken
        self._closing: weakref.finalize | None = None

    def take(self) -> int:
        """Claim a uid until `release`.

        Raises:
            OSError: all are in use, or claims can't be recorded.
        """
        with self._lock:
            if self.claims_fd is None:
                self.claims_fd = os.open(CLAIMS, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                self._closing = weakref.finalize(self, os.close, self.claims_fd)
                self._others = users_of_processes()
            for _ in range(UIDS):
                self._next = (self._next + 1) % UIDS
                uid = FIRST_UID + self._next
                if uid not in self._others and _lock_byte(self.claims_fd, uid, taken=True):
                    return uid
        raise OSError(f"all {UIDS} uids for tests are in use")

    def release(self, uid: int | None) -> None:
        """Give a uid back once nothing of it is left."""
        with self._lock:
            if uid is not None and self.claims_fd is not None:
                _lock_byte(self.claims_fd, uid, taken=False)

    def close(self) -> None:
        """Give back all uids; guardians that still work keep theirs."""
        with self._lock:
            if self._closing is not None:
                self._closing()
            self.claims_fd = None


def _lock_byte(claims_fd: int, uid: int, taken: bool) -> bool:
    """Take or free a claim; return False if another open file, of any process, holds it."""
    import fcntl  # not on Windows, where this never runs

    kind = fcntl.F_WRLCK if taken else fcntl.F_UNLCK
    wanted = struct.pack("hhqqi", kind, os.SEEK_SET, uid, 1, 0)  # struct flock, 64 bits
    try:
        fcntl.fcntl(claims_fd, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):  # POSIX allows either
        return False
    return True


def interpreter_folders() -> list[str]:
    """List the folders of this interpreter and its libraries, with links resolved.

    A folder of `sys.path` that contains the solutions (the root, with `python -m`) is left out.
    """
    interpreter = (sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(sys.executable))
    real = os.path.dirname(os.path.realpath(sys.executable))
    return list(_folders_of((*interpreter, real), tuple(sys.path), paths.SOLUTIONS))


@functools.lru_cache(maxsize=1)
def _folders_of(
    interpreter: tuple[str, ...], path: tuple[str, ...], solutions: Path
) -> tuple[str, ...]:
    found = set(interpreter)
    secret = os.path.realpath(solutions)
    for folder in filter(os.path.isdir, path):
        if os.path.commonpath([secret, os.path.realpath(folder)]) != os.path.realpath(folder):
            found.add(folder)
    return tuple(sorted({os.path.realpath(folder) for folder in found} | found))


def readable_by_all() -> tuple[str, ...]:
    """Return what every worker may read: libraries, and what they need to know of the machine."""
    return (*LIBRARIES, *DEVICES, *FACTS, *interpreter_folders())


def for_worker(layers: Layers, uids: UidPool | None, staged: Path, scratch: Path) -> Confinement:
    """Return the confinement of one worker that runs student code."""
    readable = (*readable_by_all(), str(staged))
    uid = uids.take() if layers.root and uids is not None else None
    return Confinement(
        uid=uid,
        landlock=bool(layers.landlock_abi),
        seccomp=layers.seccomp,
        readable=readable,
        writable=(str(scratch), "/dev/null"),
        most_tasks=_most_tasks(uid, layers),
    )


def _most_tasks(uid: int | None, layers: Layers) -> int | None:
    """Return a worker's RLIMIT_NPROC, which counts all tasks of its user on this machine.

    A uid of its own has no other tasks. Without one, the filter of system calls refuses processes;
    if that is missing, too, the limit is relative to the user's present number, because a fixed
    limit would be too low on one machine and useless on another.
    """
    if uid is not None:
        return Limits.processes
    if layers.seccomp or sys.platform != "linux":
        return None
    return tasks_of(os.getuid()) + Limits.processes


def tasks_of(uid: int) -> int:
    """Count the processes and threads of a real user, as RLIMIT_NPROC does."""
    count = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, KeyError):  # it has ended
            fields = _status(entry)
            if int(fields[b"Uid"][0]) == uid:
                count += max(int(fields[b"Threads"][0]), 1)  # one that has ended counts till reaped
    return count


def prepare(confinement: Confinement) -> int | None:
    """Make what `take` needs, in the process that will fork the one to confine.

    Each page of memory that a process touches after it was forked is copied first, so half of the
    work of `take` was copying; this process does the same work without.

    Returns:
        a descriptor for `take`, which this process closes after the fork, or None.

    Raises:
        OSError: a layer that should work doesn't.
    """
    if confinement.seccomp:
        kernel.prepare_filter(processes=confinement.uid is not None)
    if confinement.landlock:
        return kernel.make_ruleset(confinement.readable, confinement.writable)
    return None


def take(confinement: Confinement, ruleset: int | None = None) -> None:
    """Confine this process permanently.

    Args:
        ruleset: what `prepare` returned.

    Raises:
        OSError: a layer that should work doesn't; no student code may then run.
    """
    if confinement.most_tasks is not None:
        import resource  # not on Windows, where this never runs

        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = confinement.most_tasks
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    if confinement.uid is not None:
        os.setgroups([])
        os.setresgid(confinement.uid, confinement.uid, confinement.uid)
        os.setresuid(confinement.uid, confinement.uid, confinement.uid)
    if confinement.uid is not None or confinement.landlock or confinement.seccomp:
        kernel.prctl(PR_SET_NO_NEW_PRIVS, 1)
    if confinement.landlock:
        if ruleset is None:
            ruleset = kernel.make_ruleset(confinement.readable, confinement.writable)
        kernel.enforce(ruleset, confinement.readable)
    if confinement.seccomp:
        kernel.install_filter(os.getpid(), processes=confinement.uid is not None)


def hide_memory() -> None:
    """Keep processes of the same user from reading this one's memory or environment."""
    if sys.platform == "linux":
        kernel.prctl(PR_SET_DUMPABLE, 0)


def kill_user(uid: int, kill: Callable[[int], None] | None = None) -> bool:
    """Kill everything that runs as `uid`, until nothing is left; return whether that succeeded.

    Args:
        kill: sends SIGKILL to all of its processes at once; by default, `kill_as`.
    """
    deadline = time.monotonic() + CLEANUP_S
    while time.monotonic() < deadline:
        (kill or kill_as)(uid)
        if not processes_of(uid):
            return True
        _reap()
        time.sleep(0.002)
    return False


def kill_as(uid: int) -> None:
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
    """Return the processes whose real user is `uid`, except those waiting to be reaped."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                if _lives_as(uid, entry):
                    found.append(int(entry))
            except (OSError, ValueError, LookupError):
                continue
    return found


def users_of_processes() -> set[int]:
    """Return the uids of all present processes."""
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, KeyError):  # it has ended
            found |= set(map(int, _status(entry)[b"Uid"]))
    return found


def _lives_as(uid: int, pid: str) -> bool:
    """Return whether a process runs as `uid`.

    This reads its `status`, since /proc/PID belongs to root if a process has changed its uid.
    """
    if str(uid).encode() not in _status_of(pid):
        return False  # true of nearly all processes, and quick to find out
    fields = _status(pid)
    # A process whose first thread has ended looks like a zombie as long as the others live.
    ended = fields[b"State"][0] in (b"Z", b"X") and int(fields[b"Threads"][0]) < 2
    return str(uid).encode() in fields[b"Uid"] and not ended


def _status_of(pid: str) -> bytes:
    with open(f"/proc/{pid}/status", "rb", buffering=0) as reader:
        return reader.read(1 << 16)


def _status(pid: str) -> dict[bytes, list[bytes]]:
    fields: dict[bytes, list[bytes]] = {}
    for line in _status_of(pid).splitlines():
        key, _, value = line.partition(b":")
        fields.setdefault(key, value.split())  # the name comes first, and may be anything
    return fields


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
