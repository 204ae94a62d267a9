"""Replace old files by new ones: all of them, or none.

A build works in a folder of its own and moves its files into place at the end, so a build that
fails leaves the previous one as it was.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


def exchange(fresh: Mapping[Path, Path | None], moves: Mapping[Path, Path] | None = None) -> None:
    """Move files or folders into place; on any failure, Ctrl-C included, undo what was done.

    Args:
        fresh: target to the new file to move there; None removes the target.
        moves: files to move away first, and where to; the folders must exist.

    Raises:
        OSError: a file can't be moved; nothing has changed then.
    """
    done: list[tuple[Path, Path]] = []  # what was moved, and where to
    kept: list[Path] = []

    def move(source: Path, target: Path) -> None:
        done.append((source, target))
        os.replace(source, target)

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
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


@contextmanager
def rebuilding(folder: Path, draft: Path) -> Iterator[Path]:
    """Yield an empty folder, `draft`, which replaces `folder` when the block succeeds.

    A build that fails leaves `folder` as it is, and the draft for inspection.
    """
    _empty(draft)
    yield draft
    folder.parent.mkdir(parents=True, exist_ok=True)
    exchange({folder: draft})


@contextmanager
def adding(folder: Path, draft: Path, outdated: Sequence[str] = ()) -> Iterator[Path]:
    """Yield an empty folder, `draft`, whose files move to `folder` when the block succeeds.

    Older files there that match the patterns `outdated` are then removed.
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
