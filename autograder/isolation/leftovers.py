"""Removes what tests leave behind: processes, and files in locked, deep, full or shared folders."""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SHALLOW = 8  # levels of folders whose path is short enough, whatever their names
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

    shutil.rmtree gives up on folders that are too deep for its recursion, and on locked ones. Here,
    deep folders are moved up to `root` before they are removed. Links are never followed.
    """
    progress = _unlock(root)
    while progress and time.monotonic() < until:
        progress = _clear(root, root, 0, until)
    with contextlib.suppress(OSError):
        os.rmdir(root)


def _clear(folder: str | Path, root: Path, depth: int, until: float) -> bool:
    """Empty a folder; return whether something was moved up to `root`, for another round."""
    moved = False
    for inner in list(_unlink_files(folder, until)):
        with contextlib.suppress(OSError):
            if depth < SHALLOW:
                moved = _clear(inner, root, depth + 1, until) or moved
                os.rmdir(inner)
            else:
                os.rename(inner, root / secrets.token_hex(16))
                moved = True
    return moved


def _unlink_files(folder: str | Path, until: float) -> Iterator[str]:
    """Delete the files in a folder and yield its folders, unlocked."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if time.monotonic() > until:
            return
        if _unlock(entry.path):
            yield entry.path


def _unlock(path: str | Path) -> bool:
    """Make a folder writable, or delete what is not a folder; return whether it is one."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            os.chmod(path, 0o700)
            return True
        os.unlink(path)
    return False


# What a test's user left, once none of their processes remain (Linux, root) ----------------------


def sweep_files(uid: int) -> None:
    """Remove what a test's uid left in folders where anyone may write, as far as time allows."""
    until = time.monotonic() + CLEANUP_S
    for folder in SHARED_FOLDERS:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if time.monotonic() > until:
                return
            with contextlib.suppress(OSError):  # others clean up there, too
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    remove_tree(Path(entry.path), until)


def sweep_memory(uid: int) -> None:
    """Remove a test uid's System V shared memory, semaphores and queues, which outlive it."""
    libc = ctypes.CDLL(None)
    removals: dict[str, Callable[..., Any]] = {
        "shm": libc.shmctl,
        "msg": libc.msgctl,
        "sem": lambda i, *_: libc.semctl(i, 0, 0),
    }
    for kind, remove in removals.items():
        try:
            header, *rows = Path(f"/proc/sysvipc/{kind}").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        columns = header.split()
        for row in rows:
            entry = dict(zip(columns, row.split(), strict=True))
            if entry["uid"] == str(uid):
                remove(int(entry[f"{kind}id"] if kind != "msg" else entry["msqid"]), 0, None)
