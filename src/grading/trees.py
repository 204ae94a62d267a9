"""Removes folders that a hostile submission may have made locked, deep or full."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

SHALLOW = 8  # levels of folders whose path is short enough, whatever their names


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
