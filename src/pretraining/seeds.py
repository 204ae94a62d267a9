"""The seed of a checkout's trainings: drawn at the first one, and kept next to the parameters.

If everybody trained with the same seed, two people with the same kind of computer would get
bit-identical parameters, which could not be told from a copy. So each checkout draws its own.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from .errors import InputError
from .files import write_atomically

NAME = "training_seed.txt"
MOST = 2**32  # numpy accepts no larger ones


def seed_beside(writing_params_path: str) -> tuple[int, Path]:
    """Return the seed for a training that will write these parameters, and the file for it.

    If there is no such file yet, a new seed is drawn, which `keep` then writes.

    Raises:
        InputError: the file holds something else.
    """
    path = Path(writing_params_path).parent / NAME
    if not path.exists():
        return secrets.randbelow(MOST), path
    text = path.read_bytes()[:100].decode("utf-8", "replace").strip()
    if not text.isascii() or not text.isdecimal() or int(text) >= MOST:
        raise InputError(
            f"{path}: got {text[:40]!r}, expected a seed, an integer from 0 to 2^32 - 1 (if you "
            "delete the file, the next training draws a new seed)"
        )
    return int(text), path


def keep(seed: int, path: Path) -> None:
    """Write the seed for later trainings, unless there is one already.

    Raises:
        OSError: it can't be written.
    """
    if not path.exists():
        write_atomically(path, f"{seed}\n")
