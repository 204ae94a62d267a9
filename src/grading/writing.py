"""Files that are written whole or not at all. It imports nothing else of the harness."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` once the block has ended.

    Whoever reads `path` meanwhile sees the old file; whoever reads it later sees the whole new one.
    If the block raises an exception, the old file stays, and nothing is left of the new one.

    Args:
        mode: the permissions of the new file.
    """
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as writer:
            yield writer
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
