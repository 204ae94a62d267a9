"""Walks the folders of an upload without following links.

A link makes whoever follows it read files that its maker may not be able to read: `submission`,
submitted as a link to the reference solution's folder, would earn full marks. So every entry below
the given path is opened from its parent's descriptor with a flag that refuses links, which no
rename in between can circumvent. If the platform can't do that (Windows), the entry is checked
first. `archives.py` has the same for what is packed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, cast

from . import paths
from .errors import GradingError, SubmissionError

CHUNK_BYTES = 1 << 20
MAX_ENTRIES = 2_000  # of a folder from which files are taken; an assignment's own have a few dozen
MAX_FILES = 50_000  # of everything that is searched; an environment with torch has 20,000
TOO_MANY = "too many files, more than {}: is this a submission?"
# Names on the path to a file: content/drive/MyDrive/Colab Notebooks/a5/src/submission/dataset.py,
# and two more.
DEEPEST = 10
LITTER = ("__MACOSX", ".DS_Store", "__pycache__", ".ipynb_checkpoints", "Thumbs.db", "desktop.ini")
UNSEARCHED = ("__MACOSX", "__pycache__", "site-packages", "node_modules")
JUNCTION = 0xA0000003  # Windows: IO_REPARSE_TAG_MOUNT_POINT, a link to a folder by another name
# Errors that no upload causes, such as a full disk. They must not count as unreadable files.
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


class Reader(Protocol):
    """An open file of an upload."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes."""

    def __enter__(self) -> Reader: ...

    def __exit__(self, *_: object) -> None: ...


class Folder:
    """An open folder of an upload, on disk.

    Attributes:
        path: where it is, for people.
        parent: the folder from which it was opened; None for the given path.
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
        """Open the given folder, which may be a link; all folders are closed at the end."""
        path = path.resolve()
        try:
            top = cls(path, None, os.open(path, os.O_RDONLY) if BY_DESCRIPTOR else None)
        except OSError as error:
            raise refusal(error, f"{path} can't be read") from None
        try:
            yield top
        finally:
            for folder in top._opened:
                folder.close()

    @property
    def top(self) -> Folder:
        """The given folder."""
        return self if self.parent is None else self.parent.top

    def called(self, name: str) -> str:
        """Return an entry's name for messages: its path relative to the given folder."""
        path = (self.path / name).relative_to(self.top.path).as_posix()
        return path if path.isprintable() else ascii(path)

    def names(self) -> list[str]:
        """Return the names of all entries, sorted.

        Raises:
            SubmissionError: there are too many for a submission, or they can't be listed.
        """
        names = sorted(self.entries())
        if len(names) > MAX_ENTRIES:
            raise SubmissionError(f"{self.path}: {TOO_MANY.format(MAX_ENTRIES)}")
        return names

    def entries(self) -> Iterable[str]:
        """Return the names of all entries, however many.

        Raises:
            SubmissionError: there are too many to be searched, or they can't be listed.
        """
        names = []
        try:
            with os.scandir(self.path if self._descriptor is None else self._descriptor) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) > MAX_FILES:
                        raise SubmissionError(f"{self.path}: {TOO_MANY.format(MAX_FILES)}")
        except OSError as error:
            raise refusal(error, f"{self.path} can't be listed") from None
        return names

    def searched(self) -> Iterator[tuple[tuple[str, ...], Folder, list[str]]]:
        """Yield this folder and all below it in which a submission may be, links excepted.

        Yields:
            the names on the folder's path, the folder, which is closed afterwards, and the names
            of its files.

        Raises:
            SubmissionError: there are too many files.
        """
        left = MAX_FILES
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            way = waiting.pop()
            with suppress(SubmissionError), self._opened_for_a_while(way) as folder:
                names = sorted(folder.entries())
                left -= len(names)
                inner = [name for name in names if folder.is_folder(name)]
                if left >= 0:
                    yield way, folder, [name for name in names if name not in inner]
                if len(way) + 1 < DEEPEST:
                    waiting += [(*way, name) for name in reversed(inner) if is_searched(name)]
            if left < 0:
                raise SubmissionError(f"{self.path}: {TOO_MANY.format(MAX_FILES)}")

    @contextmanager
    def _opened_for_a_while(self, way: tuple[str, ...]) -> Iterator[Folder]:
        """Open the folder at a path; close it, and those on the way to it, at the end."""
        before = len(self._opened)
        try:
            folder = self.below(way)
        finally:
            opened = self._opened[before:]
            del self._opened[before:]
        try:
            if folder is None:
                raise SubmissionError(f"{'/'.join(way)!a} was removed")
            yield folder
        finally:
            for each in opened:
                each.close()

    def close(self) -> None:
        """Close the folder; nothing in it can be opened afterwards."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def is_folder(self, name: str) -> bool:
        """Return whether an entry is a folder, not a link to one."""
        place, where = self._at(name)
        try:
            status = os.stat(place, **where, follow_symlinks=False)
        except OSError:
            return False
        return stat.S_ISDIR(status.st_mode) and not _is_junction(status)

    def below(self, names: Iterable[str]) -> Folder | None:
        """Open the folder at the path of these names; return None if one is missing."""
        folder: Folder | None = self
        for name in names:
            folder = folder and folder.folder(name)
        return folder

    def folder(self, name: str) -> Folder | None:
        """Open the folder of that name in this one; return None if there is no such folder.

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

    def size(self, name: str) -> int:
        """Return how many bytes a file has, as far as is known before it is read."""
        place, where = self._at(name)
        return os.stat(place, **where, follow_symlinks=False).st_size

    def file(self, name: str) -> Reader:
        """Open the regular file of that name in this folder, for reading.

        Raises:
            SubmissionError: it is a link.
            OSError: it can't be read.
            ValueError: it is not a regular file.
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
                    f"{self.called(name)} is a hard link to a file outside: submit a copy"
                )
            return cast(Reader, os.fdopen(descriptor, "rb"))
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
        if stat.S_ISLNK(status.st_mode) or _is_junction(status):
            raise SubmissionError(
                f"{self.called(name)} is a link, and links are not followed: submit the folder or "
                "file itself"
            )
        return status

    def _at(self, name: str) -> tuple[str, dict[str, int]]:
        """Return the arguments with which os functions identify an entry."""
        if self._descriptor is None:
            return str(self.path / name), {}
        return name, {"dir_fd": self._descriptor}


def is_litter(name: str) -> bool:
    """Return whether operating systems and editors leave a file or folder of this name behind."""
    return name in LITTER or name.startswith("._")


def is_searched(name: str) -> bool:
    """Return whether a submission may be in a folder of this name."""
    return name not in UNSEARCHED and not name.startswith(".")


def _is_junction(status: os.stat_result) -> bool:
    return getattr(status, "st_reparse_tag", 0) == JUNCTION


def refusal(error: OSError, what: str) -> GradingError:
    """Return what to raise if an upload can't be read or copied: its fault, or the grader's."""
    said = f"{what}: {error.strerror or error}"
    return (GradingError if error.errno in OF_THE_MACHINE else SubmissionError)(said)


def is_somebody_elses(status: os.stat_result, top: Path) -> bool:
    """Return whether a file is a hard link to somebody else's file, or to a solution.

    Making a hard link takes no right to read the file. If the kernel allows it
    (fs.protected_hardlinks = 0), a student on a shared machine could submit a file that only others
    can read: such a file belongs to a different user than the upload or, if staff own the folder of
    submissions, is one of the solutions. A student's own file may have any number of names.
    """
    if status.st_nlink < 2:
        return False
    if status.st_uid != os.stat(top).st_uid:
        return True
    solutions = (path.stat() for path in paths.SOLUTIONS.rglob("*") if path.is_file())
    return any(os.path.samestat(status, each) for each in solutions)
