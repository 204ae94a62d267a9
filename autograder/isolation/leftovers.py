"""Removes what tests leave behind: processes, and files in locked, deep, full or shared folders."""

import contextlib
import ctypes
import os
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")  # where anyone may write
CLEANUP_S = 5.0


def reap() -> bool:
    """Reap children that have ended; return whether there are no others, and so no descendants.

    Whatever a worker starts remains below its guardian: since that is a subreaper, an orphan
    becomes its child. A guardian without children therefore has no descendants either.
    """
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def remove_tree(root: Path, until: float = float("inf")) -> None:
    """Remove a file or folder that student code wrote, as far as this user can.

    Stops at `until`, by the monotonic clock.

    shutil.rmtree gives up on folders that are locked, or too deep for its recursion. Here, each is
    unlocked, and moved up to `root` before it is emptied. Links are never followed.
    """
    folders = [os.fspath(root)] if _unlock(root) else []
    for folder in folders:  # grows meanwhile
        with contextlib.suppress(OSError):
            for entry in list(os.scandir(folder)):
                if time.monotonic() > until:
                    return
                if _unlock(entry.path):
                    folders.append(_moved(entry.path, root))
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def _unlock(path: str | Path) -> bool:
    """Make a folder writable, or delete what is not a folder; return whether it is one."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.chmod(path, 0o700)
            return True
        os.unlink(path)
    return False


def _moved(folder: str, root: Path) -> str:
    """Move a folder up to `root`; return its new path, or the old one if the disk is full."""
    target = os.path.join(root, secrets.token_hex(16))
    try:
        os.rename(folder, target)
    except OSError:
        return folder
    return target


# What a test's user left, once none of their processes remain (Linux, root) ----------------------


def sweep_files(uid: int) -> None:
    """Remove what a test's uid left in folders where anyone may write, as far as time allows."""
    until = time.monotonic() + CLEANUP_S
    for folder in SHARED_FOLDERS:
        with contextlib.suppress(OSError):  # there is no such folder
            for entry in list(os.scandir(folder)):
                if time.monotonic() > until:
                    return
                with contextlib.suppress(OSError):  # others clean up there, too
                    if entry.stat(follow_symlinks=False).st_uid == uid:
                        remove_tree(Path(entry.path), until)


def sweep_memory(uid: int) -> None:
    """Remove a test uid's System V shared memory, semaphores and queues, which outlive it."""
    libc = ctypes.CDLL(None)
    removals: dict[tuple[str, str], Callable[..., Any]] = {
        ("shm", "shmid"): libc.shmctl,
        ("msg", "msqid"): libc.msgctl,
        ("sem", "semid"): lambda number, *_: libc.semctl(number, 0, 0),
    }
    for (kind, key), remove in removals.items():
        with contextlib.suppress(OSError):  # this kernel has none
            header, *rows = Path(f"/proc/sysvipc/{kind}").read_text(encoding="utf-8").splitlines()
            for row in rows:
                entry = dict(zip(header.split(), row.split(), strict=True))
                if entry["uid"] == str(uid):
                    remove(int(entry[key]), 0, None)
