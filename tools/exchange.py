"""Putting new files in the place of old ones: all of them, or none.

A build works in a folder of its own and takes its place at the end, so that one that fails leaves
what was built before as it was.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


def exchange(fresh: Mapping[Path, Path | None], moves: Mapping[Path, Path] | None = None) -> None:
    """Put files in their places; a failure on the way, Ctrl-C included, undoes what was done.

    Args:
        fresh: by place, the file to move there; None removes what stands there.
        moves: files to move away first, and where to; their folders exist.

    Raises:
        OSError: a file can't be moved; everything is as it was.
    """
    done: list[tuple[Path, Path]] = []  # what was moved, and where to

    def move(source: Path, target: Path) -> None:
        done.append((source, target))
        os.replace(source, target)

    kept = []
    try:
        for source, target in (moves or {}).items():
            move(source, target)
        for place, new in fresh.items():
            if place.exists():
                kept.append(place.with_name(f".{place.name}.old.{os.getpid()}.tmp"))
                move(place, kept[-1])
            if new is not None:
                move(new, place)
    except BaseException:
        for source, target in reversed(done):
            if target.exists() and not source.exists():
                os.replace(target, source)
        raise
    for old in kept:
        old.unlink(missing_ok=True)


@contextmanager
def rebuilding(folder: Path, draft: Path) -> Iterator[Path]:
    """Yield an empty folder, `draft`; it takes the place of `folder` when the block ends well.

    A build that fails leaves `folder` as it is, and the draft for who wants to know why.
    """
    _empty(draft)
    yield draft
    old = folder.with_name(f".{folder.name}.old.{os.getpid()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        os.rename(folder, old)
    try:
        os.rename(draft, folder)
    except BaseException:
        if old.exists():
            os.rename(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def adding(folder: Path, draft: Path, outdated: Sequence[str] = ()) -> Iterator[Path]:
    """Yield an empty folder, `draft`; its files move to `folder` when the block ends well.

    Args:
        outdated: patterns of older files of `folder` that make way for them.
    """
    _empty(draft)
    try:
        yield draft
        folder.mkdir(parents=True, exist_ok=True)
        places: dict[Path, Path | None] = {
            path: None for pattern in outdated for path in folder.glob(pattern)
        }
        places |= {folder / path.name: path for path in sorted(draft.iterdir())}
        exchange(places)
    finally:
        with suppress(OSError):
            shutil.rmtree(draft)


def _empty(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
