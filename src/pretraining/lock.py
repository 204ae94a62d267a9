"""A lock, so that no two trainings write the same file at the same time.

The operating system holds it for a process and releases it however the process ends. So the file
that a killed training leaves behind doesn't stop the next one.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from .errors import InputError

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        # Unlike flock, this is not inherited by a DataLoader's processes, which may live longer.
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def only_training(path: str) -> Iterator[None]:
    """Hold the lock of a file that a training will write, until the block ends.

    Raises:
        InputError: another process holds it.
        OSError: its file can't be written.
    """
    lock = f"{path}.lock"
    file = open(lock, "ab")
    try:
        _lock(file.fileno())
    except (BlockingIOError, PermissionError):  # macOS and Linux; Windows
        file.close()
        raise InputError(
            f"{path}: another training that writes this file is still running (wait for it, stop "
            "it, or choose another --writing_params_path)"
        ) from None
    except OSError:  # some network drives have no locks
        pass
    try:
        yield
    finally:
        file.close()
        with contextlib.suppress(OSError):
            os.unlink(lock)
