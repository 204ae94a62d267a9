"""Files that commands and staff's tools write: replaced at once, by one training at a time; and the
seed that is kept beside the parameters.

Only the standard library is imported, so that a command without torch starts at once.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import host

from . import InputError

SEED_FILE = "training_seed.txt"
SEEDS = 2**32  # numpy accepts no larger ones


def write_atomically(path: str | os.PathLike, content: str | bytes) -> None:
    """Replace a file by one with this content; text is written as UTF-8, with its line endings.

    Raises:
        OSError: the file can't be written; an older file is unchanged.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    save_atomically(lambda file: file.write(data), path)


def save_atomically(
    write: Callable[[IO[bytes]], object], path: str | os.PathLike, mode: int = 0o644
) -> None:
    """Call write(file) on a binary file that replaces `path` only once it is complete."""
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            write(file)
            file.close()
            os.chmod(file.name, mode)  # only their owner can read temporary files
            os.replace(file.name, path)
        except BaseException:
            with contextlib.suppress(OSError):  # a full disk can't take the last bytes either
                file.close()
            os.unlink(file.name)
            raise


@contextlib.contextmanager
def only_training(path: str) -> Iterator[None]:
    """Hold the lock of a file that a training will write, until the block ends.

    The operating system releases it however the process ends, so that the file that a killed
    training leaves behind doesn't stop the next one.

    Raises:
        InputError: another process holds it.
        OSError: its file can't be written.
    """
    lock = f"{path}.lock"
    file = open(lock, "ab")
    if not host.lock(file.fileno()):
        file.close()
        raise InputError(
            f"{path}: another training that writes this file is still running (wait for it, stop "
            "it, or choose another --writing_params_path)"
        )
    try:
        yield
    finally:
        file.close()
        with contextlib.suppress(OSError):
            os.unlink(lock)


def seed_beside(writing_params_path: str) -> tuple[int, Path]:
    """Return the seed for a training that will write these parameters, and the file for it.

    If there is no such file yet, a seed is drawn: with one seed for all, two people with the same
    kind of computer would get bit-identical parameters, which could not be told from a copy.

    Raises:
        InputError: the file holds something else.
    """
    path = Path(writing_params_path).parent / SEED_FILE
    if not path.exists():
        return secrets.randbelow(SEEDS), path
    text = path.read_bytes()[:100].decode("utf-8", "replace").strip()
    if not text.isascii() or not text.isdecimal() or int(text) >= SEEDS:
        raise InputError(
            f"{path}: got {text[:40]!r}, expected a seed, an integer from 0 to 2^32 - 1 (if you "
            "delete the file, the next training draws a new seed)"
        )
    return int(text), path
