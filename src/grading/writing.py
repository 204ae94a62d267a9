"""Files that are written completely or not at all. It imports nothing else from the harness."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` at the end of the block.

    Until then, readers of `path` see the old file, and afterwards the complete new one. If the
    block raises an exception, the old file stays, and nothing is left of the new one.

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
