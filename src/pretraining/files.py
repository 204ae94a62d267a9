"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

import torch


def save_atomically(write, path: str | os.PathLike) -> None:
    """Call write(file) on a binary file that replaces `path` only once it is complete."""
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            write(file)
            file.close()
            os.chmod(file.name, 0o644)  # temporary files are readable by their owner alone
            os.replace(file.name, path)
        except BaseException:
            with contextlib.suppress(OSError):  # a full disk takes no last bytes, either
                file.close()
            os.unlink(file.name)
            raise


def save_tensors(state: dict, path: str | os.PathLike) -> None:
    """torch.save, atomically.

    Raises:
        OSError: the file can't be written, because the disk is full, say.
    """
    try:
        save_atomically(lambda file: torch.save(state, file), path)
    except (OSError, RuntimeError) as error:  # torch makes the second of some of the first
        reason = getattr(error, "strerror", None) or "is the disk full?"
        raise OSError(f"{path}: can't be written ({reason})") from error
