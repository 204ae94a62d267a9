"""What differs between Windows, macOS and Linux: no other module in src/ asks which one this is.

Tests force each case on Linux (tests/harness/test_host.py). Like environment.py, which imports it,
Python 3.6 can parse this.
"""

import errno
import itertools
import os
import select
import shlex
import signal
import stat
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

JUNCTION = 0xA0000003  # Windows: IO_REPARSE_TAG_MOUNT_POINT, a link to a folder by another name


def quoted(word: str) -> str:
    """Return a word as this system's shell wants it."""
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)


def activation(venv: str) -> str:
    """Return the command that activates a virtual environment; "" if there is none."""
    folder, source = ("Scripts", "") if sys.platform == "win32" else ("bin", ". ")
    script = os.path.join(venv, folder, "activate")
    return source + quoted(script) if os.path.isfile(script) else ""


def advice_on(error: OSError) -> str:
    """Return what to add to the message of an error about a file."""
    held = sys.platform == "win32" and isinstance(error, PermissionError)
    return " (is it open in another program?)" if held else ""


def has_reader(pipe: int) -> bool:
    """Return whether somebody may still read from a pipe: Windows doesn't tell."""
    if sys.platform == "win32":
        return True
    poll = select.poll()
    poll.register(pipe, 0)
    return not any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def kill_session(process: "subprocess.Popen") -> None:
    """Kill a process that leads a session, and all of the session; on Windows the process alone."""
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def under_way() -> "tuple[bool, tuple[float, float]]":
    """Return whether this process has children, and when an alarm is due; on Windows nothing."""
    has_children = False
    if sys.platform == "win32":
        return has_children, (0.0, 0.0)
    with suppress(ChildProcessError):
        has_children = bool(os.waitpid(-1, os.WNOHANG))
    return has_children, signal.getitimer(signal.ITIMER_REAL)


def resident_bytes() -> int:
    """Return this process's memory; outside Linux, the most that it ever had; on Windows 0."""
    if sys.platform == "win32":
        return 0
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource  # Windows has none

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10


def keep_memory() -> None:
    """Let glibc keep freed memory. Elsewhere, do nothing."""
    if sys.platform != "linux":
        return
    import ctypes  # here, because only trainings need it

    with suppress(AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        trim_threshold, mmap_threshold = -1, -3  # malloc.h
        mallopt(mmap_threshold, 32 << 20)  # the greatest accepted value
        mallopt(trim_threshold, (1 << 31) - 1)


def lock(file: int) -> bool:
    """Lock a file until it is closed; return whether no other process has locked it.

    Some network drives have no locks: nothing is locked there.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Unlike flock, a DataLoader's processes, which may live longer, don't inherit this.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not isinstance(error, (BlockingIOError, PermissionError))
    return True


def is_link(status: os.stat_result) -> bool:
    """Return whether a file is a link, or one of Windows' junctions, by its own status."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == JUNCTION


def open_below(top: Path, parts: "tuple[str, ...]", more: int = 0) -> int:
    """Open what is at a path below a folder to read it, without waiting for a pipe's writer.

    Nothing below the folder may be a link. Each name is opened from its parent's descriptor with a
    flag that refuses links, which no rename in between can circumvent. Windows can't do that:
    there, each name is checked first.

    Args:
        more: flags besides these.

    Raises:
        OSError: it is a link, or one is on the way; or it can't be opened.
    """
    if sys.platform == "win32":
        return os.open(_checked(top, parts), os.O_RDONLY)
    on_the_way = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY  # macOS has no O_PATH
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | more
    folder = os.open(top, on_the_way)
    try:
        for name in parts[:-1]:
            inner = os.open(name, on_the_way | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1] if parts else ".", flags, dir_fd=folder)
    finally:
        os.close(folder)


def names_below(top: Path, parts: "tuple[str, ...]", most: int) -> "list[str]":
    """Return up to `most` names in a folder, which is opened as by `open_below`."""
    with ExitStack() as stack:
        if sys.platform == "win32":
            folder: Path | int = _checked(top, parts)
        else:
            folder = open_below(top, parts, os.O_DIRECTORY)
            stack.callback(os.close, folder)
        found = stack.enter_context(os.scandir(folder))
        return [each.name for each in itertools.islice(found, most)]


def _checked(top: Path, parts: "tuple[str, ...]") -> Path:
    for depth in range(len(parts)):
        if is_link(os.lstat(top.joinpath(*parts[: depth + 1]))):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return top.joinpath(*parts)
