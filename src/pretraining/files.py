"""Atomic writing of files, for students' commands and staff's tools.

Only the standard library is imported, so that a command without torch starts at once.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO


def write_atomically(path: str | os.PathLike, content: str | bytes) -> None:
    """Replace a file by one with this content; text is written as UTF-8, with its line endings.

    Raises:
        OSError: the file can't be written; an older file is unchanged.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    save_atomically(lambda file: file.write(data), path)


def save_atomically(write: Callable[[IO[bytes]], object], path: str | os.PathLike) -> None:
    """Call write(file) on a binary file that replaces `path` only once it is complete."""
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        try:
            write(file)
            file.close()
            os.chmod(file.name, 0o644)  # only their owner can read temporary files
            os.replace(file.name, path)
        except BaseException:
            with contextlib.suppress(OSError):  # a full disk can't take the last bytes either
                file.close()
            os.unlink(file.name)
            raise
