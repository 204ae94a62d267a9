"""The folder `DIR/similar/`, which is only replaced or removed as a whole."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder.isolation.leftovers import remove_tree

from ..folder import ClassFolder

NAME = "similar"
UNFINISHED = "similar-"  # prefix of folders that are being written


@contextlib.contextmanager
def replaced(folder: ClassFolder) -> Iterator[Path]:
    """Yield a new, private folder that replaces `DIR/similar/` when the block ends.

    The caller must hold the folder's lock.
    """
    for path in folder.path.glob(f"{UNFINISHED}*"):
        remove_tree(path)
    target = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder.path))
    try:
        yield target
        remove(folder)
        target.rename(folder.path / NAME)
    except BaseException:
        remove_tree(target)
        raise


def remove(folder: ClassFolder) -> bool:
    """Remove the pages; return whether there were any."""
    path = folder.path / NAME
    was_there = path.is_dir()
    if was_there:
        remove_tree(path)
    return was_there
