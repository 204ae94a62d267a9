"""The confinement that a worker takes on before it reads a line of student code (Linux).

Three independent layers:
1. limits, a session of its own, an environment built from nothing, and the guardian's watch;
2. no_new_privs, Landlock and a seccomp filter (`kernel.py`): for any Linux user,
   whose tests may start threads but no processes, since these would count as the user's own;
3. a uid of the test's own, in a range that nothing else uses (`users.py`): only for root.
"""

import math
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grading
from grading.worker import MEMORY_BYTES, Limits

from . import kernel, users

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 4, 38
LIBRARIES = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")
# Not /dev/zero: what is mapped from it is shared memory without a file, see system_calls.rules.
DEVICES = ("/dev/null", "/dev/urandom", "/dev/random")
FACTS = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system", "/proc/self")
SPARE_BYTES = 96 << 20  # of a container: libraries' pages in use, and what the grader may need
LEAST_BYTES = 256 << 20  # no correct solution needs this much; file caches are freed for it
CGROUPS = (  # versions 2 and 1: the limit, and the usage without file caches
    ("memory.max", "memory.stat", ("anon", "shmem")),
    ("memory/memory.limit_in_bytes", "memory/memory.stat", ("total_rss", "total_shmem")),
)
OOM_SCORE = "/proc/self/oom_score_adj"


@dataclass(frozen=True)
class Confinement:
    """Which layers a worker takes besides limits, and which files it may access."""

    uid: int | None = None  # the user to become; None: it remains the same user
    landlock_abi: int = 0  # see Layers
    seccomp: bool = False
    readable: tuple[str, ...] = ()  # files, and folders below which it may read
    writable: tuple[str, ...] = ()  # where it may also write: its scratch folder and /dev/null
    most_tasks: int | None = None  # processes and threads of its user; None: any number


@dataclass(frozen=True)
class Layers:
    """What this machine and this user offer."""

    # Whether tests can have uids of their own: we are root, and other users can access the
    # interpreter and its libraries (otherwise a worker's late imports would fail).
    root: bool
    landlock_abi: int  # the kernel's Landlock version, 0 for none
    seccomp: bool  # whether filters work
    obstacle: str = "needs root"  # why root is False

    def names(self) -> list[str]:
        """List the layers in words, for the result's facts and for --doctor."""
        found = {
            "processes of their own": True,
            "limits": True,
            "no_new_privs": self.landlock_abi or self.seccomp or self.root,
            f"Landlock (ABI {self.landlock_abi})": self.landlock_abi,
            "seccomp": self.seccomp,
            "a uid for each test": self.root,
        }
        return [layer for layer, is_there in found.items() if is_there]

    def missing(self) -> list[str]:
        """List the layers that are missing on this machine or for this user."""
        found = {"Landlock": self.landlock_abi, "seccomp": self.seccomp}
        found[f"a uid for each test ({self.obstacle})"] = self.root
        return [layer for layer, is_there in found.items() if not is_there]


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


def interpreter_folders() -> list[str]:
    """List the folders of this interpreter and its libraries, also with links resolved.

    A folder of `sys.path` that contains the solutions (the root, with `python -m`) is left out.
    """
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(sys.executable)}
    folders.add(os.path.dirname(os.path.realpath(sys.executable)))
    secret = os.path.realpath(grading.SOLUTIONS)
    for folder in filter(os.path.isdir, sys.path):
        if os.path.commonpath([secret, os.path.realpath(folder)]) != os.path.realpath(folder):
            folders.add(folder)
    return sorted({os.path.realpath(folder) for folder in folders} | folders)


def readable_by_all() -> tuple[str, ...]:
    """Return what every worker may read: libraries, and what they need to know of the machine."""
    return (*LIBRARIES, *DEVICES, *FACTS, *interpreter_folders())


def for_worker(layers: Layers, uid: int | None, staged: Path, scratch: Path) -> Confinement:
    """Return the confinement of one worker that runs student code."""
    # The limit counts all tasks of the worker's user on this machine. A uid of its own has no
    # others. Without one, the filter of system calls refuses processes; if that is missing, too, a
    # fixed limit would be too low on one machine and useless on another.
    most_tasks: int | None = Limits.processes
    if uid is None:
        most_tasks = None if layers.seccomp else users.tasks_of(os.getuid()) + Limits.processes
    return Confinement(
        uid=uid,
        landlock_abi=layers.landlock_abi,
        seccomp=layers.seccomp,
        readable=(*readable_by_all(), str(staged)),
        writable=(str(scratch), "/dev/null"),
        most_tasks=most_tasks,
    )


def take(confinement: Confinement) -> None:
    """Confine this process permanently.

    OSError: a layer that should work doesn't; no student code may then run.
    """
    if confinement.most_tasks is not None:
        _lower("RLIMIT_NPROC", confinement.most_tasks)
    if confinement.uid is not None:
        os.setgroups([])
        os.setresgid(confinement.uid, confinement.uid, confinement.uid)
        os.setresuid(confinement.uid, confinement.uid, confinement.uid)
    if confinement.uid is not None or confinement.landlock_abi or confinement.seccomp:
        kernel.prctl(PR_SET_NO_NEW_PRIVS, 1)
    if confinement.landlock_abi:
        kernel.restrict_files(confinement.landlock_abi, confinement.readable, confinement.writable)
    if confinement.seccomp:
        kernel.install_filter(os.getpid(), processes=confinement.uid is not None)


def hide_memory() -> None:
    """Keep other processes of this user from reading this one's memory or environment."""
    if sys.platform == "linux":
        kernel.prctl(PR_SET_DUMPABLE, 0)


# Limits -------------------------------------------------------------------------------------------


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


def limit(limits: Limits) -> None:
    """Limit this process, which is to run student code, and its children."""
    offer(1000)
    # The time for importing the libraries doesn't count. The guardian's watch is more precise than
    # whole seconds; this is its backstop.
    cpu_s = math.ceil(time.process_time() + limits.cpu_s + limits.import_s) + 1
    # At the first limit, a worker reports its place; the second one kills it.
    _lower("RLIMIT_CPU", cpu_s, cpu_s + 1)
    _lower("RLIMIT_AS", limits.address_space_bytes)
    _lower("RLIMIT_FSIZE", limits.file_bytes)
    _lower("RLIMIT_NOFILE", limits.open_files)
    _lower("RLIMIT_STACK", limits.stack_bytes)
    _lower("RLIMIT_CORE", 0)


def _lower(name: str, soft: int, hard: int | None = None) -> None:
    """Lower a limit of this process and its children, unless it is lower already."""
    import resource  # not on Windows, where this never runs

    kind = getattr(resource, name)
    hard = soft if hard is None else hard
    present = resource.getrlimit(kind)[1]
    if present != resource.RLIM_INFINITY:
        soft, hard = min(soft, present), min(hard, present)
    resource.setrlimit(kind, (soft, hard))
