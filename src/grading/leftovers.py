"""Removes what a test's user left behind, once none of their processes remain (Linux, root)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import trees

SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")  # where anyone may write
CLEANUP_S = 5.0


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
                    trees.remove_tree(Path(entry.path), until)


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
