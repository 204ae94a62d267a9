"""The folders of an upload, walked without following a link.

A link makes whoever follows it read what its maker may not be able to read: `submission`, handed in
as a link to the reference solution's folder, would earn full marks. So every entry below the path
that was given is opened from its parent's descriptor and refuses to be a link, which no rename in
between can get around. Where the platform can't do that (Windows), it is looked at first.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from . import paths
from .errors import GradingError, SubmissionError

MAX_ENTRIES = 2_000  # of a folder that is looked into; an assignment's own have a few dozen
JUNCTION = 0xA0000003  # Windows: IO_REPARSE_TAG_MOUNT_POINT, a link to a folder by another name
# What no upload causes: a full disk, say. It must not pass for a file that can't be read.
OF_THE_MACHINE = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
)
BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd


class Folder:
    """An open folder of an upload.

    Attributes:
        path: where it is, for people.
        parent: the folder that it was opened from; None for the path that was given.
    """

    def __init__(self, path: Path, parent: Folder | None, descriptor: int | None) -> None:
        self.path, self.parent = path, parent
        self._descriptor = descriptor
        # All folders that were opened from the given one, itself included.
        self._opened: list[Folder] = [] if parent is None else parent._opened
        self._opened.append(self)

    @classmethod
    @contextmanager
    def given(cls, path: Path) -> Iterator[Folder]:
        """Open the folder that was given, which may be a link; all are closed at the end."""
        path = path.resolve()
        try:
            top = cls(path, None, os.open(path, os.O_RDONLY) if BY_DESCRIPTOR else None)
        except OSError as error:
            raise refusal(error, f"{path} can't be read") from None
        try:
            yield top
        finally:
            for folder in top._opened:
                if folder._descriptor is not None:
                    os.close(folder._descriptor)

    @property
    def top(self) -> Folder:
        """The folder that was given."""
        return self if self.parent is None else self.parent.top

    def called(self, name: str) -> str:
        """Return what an entry is called in messages: its path from the folder that was given."""
        path = (self.path / name).relative_to(self.top.path).as_posix()
        return path if path.isprintable() else ascii(path)

    def names(self) -> list[str]:
        """Return the names of all entries, sorted.

        Raises:
            SubmissionError: there are too many for a submission, or they can't be listed.
        """
        found = []
        try:
            with os.scandir(self.path if self._descriptor is None else self._descriptor) as entries:
                for entry in entries:
                    found.append(entry.name)
                    if len(found) > MAX_ENTRIES:
                        raise SubmissionError(
                            f"{self.path}: too many files, more than {MAX_ENTRIES}: "
                            "is this a submission?"
                        )
        except OSError as error:
            raise refusal(error, f"{self.path} can't be listed") from None
        return sorted(found)

    def folder(self, name: str) -> Folder | None:
        """Open the folder of that name in this one; return None where there is no such folder.

        Raises:
            SubmissionError: it is a link, or can't be opened.
        """
        place, where = self._at(name)
        try:
            if not stat.S_ISDIR(self.refuse_link(name).st_mode):
                return None
            descriptor = None
            if BY_DESCRIPTOR:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
                descriptor = os.open(place, flags, **where)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise refusal(error, f"{self.called(name)} can't be read") from None
        return Folder(self.path / name, self, descriptor)

    def file(self, name: str) -> BinaryIO:
        """Open the regular file of that name in this folder, for reading.

        Raises:
            SubmissionError: it is a link.
            OSError: it can't be read; a ValueError: it is no regular file.
        """
        self.refuse_link(name)
        place, where = self._at(name)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        # A pipe would wait for somebody to write.
        descriptor = os.open(place, flags | getattr(os, "O_NONBLOCK", 0), **where)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise ValueError("not a regular file")
            if is_somebody_elses(status, self.top.path):
                raise SubmissionError(
                    f"{self.called(name)} is a hard link to a file outside: hand in a copy"
                )
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def refuse_link(self, name: str) -> os.stat_result:
        """Return the state of an entry, unless it is a link or one of Windows' junctions.

        Raises:
            SubmissionError: it is one.
        """
        place, where = self._at(name)
        status = os.stat(place, **where, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == JUNCTION:
            raise SubmissionError(
                f"{self.called(name)} is a link, and links are not followed: hand in the folder "
                "or file itself"
            )
        return status

    def _at(self, name: str) -> tuple[str, dict[str, int]]:
        """Return how os functions are told of an entry."""
        if self._descriptor is None:
            return str(self.path / name), {}
        return name, {"dir_fd": self._descriptor}


def refusal(error: OSError, what: str) -> GradingError:
    """Return what to raise where an upload can't be read or copied: its fault, or ours."""
    said = f"{what}: {error.strerror or error}"
    return (GradingError if error.errno in OF_THE_MACHINE else SubmissionError)(said)


def is_somebody_elses(status: os.stat_result, top: Path) -> bool:
    """Return whether a file has another name, as somebody else's or as a solution.

    A hard link needs no right to read what it names. Where the kernel allows any
    (fs.protected_hardlinks = 0), a student of a shared machine could hand in by it what only
    others can read: such a file belongs to another user than the upload does, or, where staff own
    the folder that students hand in to, it is one of the solutions. A student's own file may have
    as many names as it likes.
    """
    if status.st_nlink < 2:
        return False
    if status.st_uid != os.stat(top).st_uid:
        return True
    solutions = (path.stat() for path in paths.SOLUTIONS.rglob("*") if path.is_file())
    return any(os.path.samestat(status, each) for each in solutions)
