"""The guardian: a process between the zygote and a worker, which watches the worker (Linux).

It runs none of the student's code, and watches one worker after another: a fork of a process with
torch costs more than most tests do. As a child subreaper, it becomes the parent of daemonized
grandchildren. It measures what everything that the worker started uses, and its scratch folder,
kills everything at the end, and reports how the worker ended.
"""

import contextlib
import mmap
import os
import select
import signal
import stat
import struct
import time
from dataclasses import dataclass
from pathlib import Path

import host
from grading.pool import Ending
from grading.worker import Limits

from . import users
from .leftovers import CLEANUP_S, reap

TICK_S = 0.03
STACK_S = 1.0  # the time in which a worker that has timed out may report its place


# Imports, whose limit is not the test's -----------------------------------------------------------

# `grading.worker.Watchdog` says why. The worker itself says when it imports. Code that lies about
# it gets the limit of imports in addition to that of its test, and no more.

# Whether an import is under way; what to add to its present CPU and wall seconds, if so, for those
# of all imports.
NOTE = struct.Struct("=?dd")


@dataclass(frozen=True)
class Imports:
    """How many CPU and wall seconds imports have taken, and whether one is under way."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    under_way: bool = False


class Clock:
    """What a guardian knows of its worker's imports, in memory that both share.

    A byte counts the worker's notes. There is room for two, which take turns, so that a note is
    never read while it is written.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1 + 2 * NOTE.size)

    def switch(self, importing: bool) -> None:
        """Note, in the worker, that an import of the submission begins or ends."""
        _, cpu_s, wall_s = self._last()
        sign = -1 if importing else 1
        cpu_s, wall_s = cpu_s + sign * time.process_time(), wall_s + sign * time.monotonic()
        count = (self._shared[0] + 1) % 256
        NOTE.pack_into(self._shared, 1 + count % 2 * NOTE.size, importing, cpu_s, wall_s)
        self._shared[0] = count

    def read(self, cpu_now_s: float) -> Imports:
        """Return, in the guardian, what a worker noted that has used `cpu_now_s` seconds so far."""
        under_way, cpu_s, wall_s = self._last()
        if under_way:
            cpu_s, wall_s = cpu_s + cpu_now_s, wall_s + time.monotonic()
        # Whatever the worker forged, even NaN, it is no time below 0.
        return Imports(cpu_s if cpu_s > 0 else 0.0, wall_s if wall_s > 0 else 0.0, under_way)

    def _last(self) -> tuple[bool, float, float]:
        while True:
            count = self._shared[0]
            note = NOTE.unpack_from(self._shared, 1 + count % 2 * NOTE.size)
            if count == self._shared[0]:
                return note


# The watch ----------------------------------------------------------------------------------------


def watch(pid: int, limits: Limits, parent: int, scratch: str, clock: Clock) -> Ending:
    """Wait for the worker; kill it if it exceeds a limit or the parent's socket closes."""
    started = time.monotonic()
    before_s = _reaped_cpu_s()  # of earlier workers
    reason, peak, reaped = "", 0, 0
    look_at = 0.0  # when to look into the scratch folder, which takes at most a tenth of the time
    libraries = host.resident_bytes()  # the worker was forked with them, like this process
    pidfd = os.pidfd_open(pid)
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    poller.register(parent, select.POLLIN | select.POLLHUP)
    try:
        while True:
            ready = {fd for fd, _ in poller.poll(TICK_S * 1000)}
            if pidfd in ready:
                break
            reaped += _reap_orphans(pid, limits.processes + 1)
            use = _usage(libraries, reaped, before_s)
            peak = max(peak, use.memory_bytes)
            elapsed = time.monotonic() - started
            reason = _over(use, elapsed, clock.read(use.cpu_s), limits, parent in ready)
            if not reason and (before := time.monotonic()) >= look_at:
                reason = "files" if is_flooded(scratch, limits) else ""
                look_at = 10 * time.monotonic() - 9 * before
            if reason in ("cpu", "wall", "import", "import-wall"):
                os.kill(pid, signal.SIGUSR1)  # it writes its place and ends, see the zygote
                poller.unregister(parent)
                poller.poll(STACK_S * 1000)
            if reason:
                os.kill(pid, signal.SIGKILL)
                break
        _, status, rusage = os.wait4(pid, 0)
    finally:
        os.close(pidfd)
    cpu_s = _reaped_cpu_s() - before_s
    imports = clock.read(cpu_s)
    died_of = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    import_s = min(imports.cpu_s, limits.import_s, cpu_s)
    killed = died_of == signal.SIGKILL and cpu_s - import_s >= limits.cpu_s
    if not reason and (died_of == signal.SIGXCPU or killed):
        # The kernel's limit acted before the watch; its count may be ahead of ours.
        reason = "import" if imports.under_way else "cpu"
    held = rusage.ru_maxrss * 1024 - libraries
    if not reason and died_of == signal.SIGKILL and held > limits.memory_bytes // 2:
        reason = "memory"  # the kernel acted: a container was full
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
    peak = max(peak, rusage.ru_maxrss * 1024)
    return Ending(code, died_of, reason, cpu_s, time.monotonic() - started, peak, import_s)


def _reap_orphans(worker: int, most: int) -> int:
    """Reap at most `most` orphans that have ended; return how many there were.

    Until they are reaped, they keep their pids, and count as processes of their user.
    """
    for count in range(most):
        ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None or ended.si_pid == worker:
            return count
        os.waitpid(ended.si_pid, 0)
    return most


def _reaped_cpu_s() -> float:
    import resource  # not on Windows, where this never runs

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def kill_descendants(uid: int | None = None) -> None:
    """Kill and reap everything below this process, until nothing is left or the time is over.

    Args:
        uid: the user of its own as whom all of it runs, if there is one.
    """
    deadline = time.monotonic() + CLEANUP_S
    while not reap() and time.monotonic() < deadline:
        if uid is not None:
            users.kill_all(uid)
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


@dataclass(frozen=True)
class _Usage:
    cpu_s: float
    memory_bytes: int
    processes: int
    threads: int


def _over(use: _Usage, elapsed_s: float, imports: Imports, limits: Limits, abandoned: bool) -> str:
    """Return the first limit that is exceeded, or ""."""
    test_wall_s = elapsed_s - min(imports.wall_s, limits.import_wall_s)
    reasons = {
        "abandoned": abandoned,
        "import": imports.under_way and imports.cpu_s > limits.import_s,
        "cpu": use.cpu_s - min(imports.cpu_s, limits.import_s) > limits.cpu_s,
        "import-wall": imports.under_way and imports.wall_s > limits.import_wall_s,
        "wall": test_wall_s > limits.wall_s or elapsed_s > limits.total_wall_s,
        # Before the memory: shared pages count for each process, so many processes exceed both.
        "processes": use.processes > limits.processes,
        "threads": use.threads > limits.threads,
        "memory": use.memory_bytes > limits.memory_bytes,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def is_flooded(scratch: str, limits: Limits) -> bool:
    """Return whether a worker has put too much into its scratch folder."""
    files = size = 0
    waiting = [scratch]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # the other files still count
                        continue
                    files, size = files + 1, size + status.st_blocks * 512
                    if files > limits.scratch_files or size > limits.scratch_bytes:
                        return True
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
        except FileNotFoundError:
            continue  # removed meanwhile
        except OSError:  # locked, or too deep for a path: no test needs either
            return True
    return False


def _usage(libraries: int, reaped: int, before_s: float) -> _Usage:
    """Return the present usage of everything below this process, and that of reaped orphans.

    CPU time excludes `before_s`, which earlier workers used, and memory the bytes of the libraries,
    once. Orphans still count as processes: a chain of them is never long at any one time.

    It counts below the guardian, because that is a daemon's parent, and reads bytes, because a
    process may give itself a name that is not text.
    """
    cpu_ticks, pages, processes, threads = 0, 0, reaped, 0
    for each in _descendants(os.getpid()):
        try:
            numbers = _stat(f"/proc/{each}")
            cpu_ticks += sum(int(n) for n in numbers[11:15])  # utime stime cutime cstime
            threads += int(numbers[17])
            pages += _pages(each, numbers)
            processes += 1
        except (OSError, ValueError, IndexError):
            continue
    tick = os.sysconf("SC_CLK_TCK")
    held = pages * os.sysconf("SC_PAGE_SIZE") - libraries
    return _Usage(cpu_ticks / tick + _reaped_cpu_s() - before_s, max(held, 0), processes, threads)


def _pages(pid: int, numbers: list[bytes]) -> int:
    """Count a process's resident pages; its first thread may have ended before the others.

    The process then looks like a zombie without memory; its other threads show the memory.
    """
    if numbers[0] != b"Z" or int(numbers[17]) < 2:
        return int(numbers[21])
    return max(int(_stat(str(task))[21]) for task in Path(f"/proc/{pid}/task").iterdir())


def _stat(folder: str) -> list[bytes]:
    """Return what follows the name in a process's or thread's `stat`, see proc_pid_stat(5)."""
    return Path(folder, "stat").read_bytes().rpartition(b") ")[2].split()


def _descendants(root: int) -> list[int]:
    """Return all processes below `root`, parents first."""
    found, waiting = [], [root]
    while waiting:
        with contextlib.suppress(OSError):  # the process has ended
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                with contextlib.suppress(OSError):  # the thread has
                    children = [int(word) for word in (task / "children").read_bytes().split()]
                    found += children
                    waiting += children
    return found
