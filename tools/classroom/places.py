"""Lists and reads files in a folder or in a zip in the same way; no link is ever followed.

Zips are read without unpacking them, as the disk may have no room for a second copy of a class.
"""

from __future__ import annotations

import functools
import os
import stat
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from grading.errors import SubmissionError, UsageError
from grading.upload import is_litter, is_somebody_elses

Kind = Literal["file", "folder", "link", "other"]
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others can't be unpacked in parts
UTF8_NAME = 0x800  # flag of a zip's entry: its name is UTF-8
ENCRYPTED = 0x1
MAX_DEPTH = 100  # nested folders
SEARCH = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)  # to open folders along a path


class Place(ABC):
    """A file or folder that was handed in, or a folder or zip that contains it."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the last part of its path, a text that may contain any character."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Return what it is; a link is a link, whatever it points to."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return how many bytes a file has."""

    @abstractmethod
    def children(self) -> list[Place]:
        """Return what a folder contains, sorted by name.

        Raises:
            SubmissionError: if it can't be listed.
        """

    @abstractmethod
    def open(self) -> IO[bytes]:
        """Open a file for reading.

        Raises:
            SubmissionError: if it can't be opened.
        """

    @abstractmethod
    def target(self) -> str:
        """Return what a link points to."""

    def walk(self) -> Iterator[tuple[str, Place]]:
        """Yield everything in a folder, at any depth, except folders, with its relative path.

        Files that operating systems and editors leave behind are left out.

        Raises:
            SubmissionError: if a folder can't be listed.
        """
        waiting = [("", self)]
        while waiting:
            way, folder = waiting.pop()
            inner = [(f"{way}{child.name}", child) for child in tidy(folder.children())]
            yield from ((name, child) for name, child in inner if child.kind != "folder")
            folders = [(f"{name}/", child) for name, child in inner if child.kind == "folder"]
            waiting.extend(reversed(folders))


def tidy(places: list[Place]) -> list[Place]:
    """Return the places that aren't litter."""
    return [place for place in places if not is_litter(place.name)]


def place(path: Path) -> Place:
    """Return the place of a folder or zip that was named in a command.

    Raises:
        UsageError: if it doesn't exist, or can't be read.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return DiskPlace(path.resolve())
        if stat.S_ISREG(mode):
            found = ZipPlace(path.resolve())
            found.children()
            return found
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    raise UsageError(f"{path} is neither a folder nor a zip")


@dataclass(frozen=True)
class DiskPlace(Place):
    """A file or folder on disk."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def kind(self) -> Kind:
        mode = self._status().st_mode
        if stat.S_ISREG(mode):
            return "file"
        return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"

    @property
    def size(self) -> int:
        return self._status().st_size

    def _status(self) -> os.stat_result:
        try:
            return self.path.lstat()
        except OSError as error:
            raise SubmissionError(f"{self.name!a} can't be read: {error.strerror}") from None

    def children(self) -> list[Place]:
        try:
            return [DiskPlace(self.path / name) for name in sorted(os.listdir(self.path))]
        except OSError as error:
            raise SubmissionError(f"{self.name!a} can't be listed: {error.strerror}") from None

    def open(self) -> IO[bytes]:
        try:
            reader = os.fdopen(_open_without_links(self.path), "rb")
        except OSError as error:
            raise SubmissionError(f"{self.name!a} can't be read: {error.strerror}") from None
        if is_somebody_elses(os.fstat(reader.fileno()), self.path.parent):
            reader.close()
            raise SubmissionError(
                f"{self.name!a} is a hard link to a file elsewhere: submit a copy"
            )
        return reader

    def target(self) -> str:
        return os.readlink(self.path)


def _open_without_links(path: Path) -> int:
    """Open a file without following links anywhere in its path.

    The path had no link in it when it was found, but may have one by now: if students can still
    write to the folder that they hand in to, one could replace a folder by a link to the reference.
    """
    folder = os.open(path.anchor, SEARCH)
    try:
        for name in path.parts[1:-1]:
            inner = os.open(name, SEARCH | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        # O_NONBLOCK: opening a pipe would wait until somebody writes to it.
        return os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


@dataclass(frozen=True)
class ZipPlace(Place):
    """A file or folder in a zip; the zip itself is a folder.

    Attributes:
        inside: the path from the zip's root, with `/`.
    """

    archive: Path
    inside: str = ""

    @property
    def name(self) -> str:
        return self.inside.rpartition("/")[2] or self.archive.name

    @property
    def kind(self) -> Kind:
        info = self._info()
        if info is None:
            return "folder"
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind == stat.S_IFLNK:
            return "link"
        return "file" if kind in (0, stat.S_IFREG) else "other"  # 0: not recorded in the zip

    @property
    def size(self) -> int:
        info = self._info()
        return info.file_size if info else 0

    def children(self) -> list[Place]:
        names = sorted(self._read().folders.get(self.inside, ()))
        way = f"{self.inside}/" if self.inside else ""
        return [ZipPlace(self.archive, way + name) for name in names]

    def open(self) -> IO[bytes]:
        info = self._info()
        if info is None or info.flag_bits & ENCRYPTED or info.compress_type not in PACKED:
            raise SubmissionError(
                f"{self.name!a} is encrypted, or uses an unusual compression: make an ordinary zip"
            )
        try:
            return self._read().zip.open(info)
        except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
            raise SubmissionError(f"{self.name!a} can't be read: {error!s:.200}") from None

    def target(self) -> str:
        with self.open() as reader:
            return os.fsdecode(reader.read(4096).replace(b"\0", b"")) or "."

    def odd(self) -> tuple[str, ...]:
        """Return a line about each entry of the whole zip that is left out."""
        return self._read().odd

    def _info(self) -> zipfile.ZipInfo | None:
        way, _, name = self.inside.rpartition("/")
        return self._read().folders.get(way, {}).get(name)

    def _read(self) -> _Archive:
        status = self.archive.stat()
        # A forked process shares the file position unless it opens the file itself.
        return _opened(self.archive, status.st_mtime_ns, status.st_size, os.getpid())


@dataclass(frozen=True)
class _Archive:
    """An open zip: the contents of each folder, with None for a folder, and what was left out."""

    zip: zipfile.ZipFile
    folders: dict[str, dict[str, zipfile.ZipInfo | None]]
    odd: tuple[str, ...]


@functools.lru_cache(maxsize=2)  # a zip's list of files is long, and needed for each file
def _opened(archive: Path, _modified: int, _size: int, _process: int) -> _Archive:
    try:
        opened = zipfile.ZipFile(archive)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise UsageError(
            f"{archive} can't be read as a zip ({error!s:.100}); expected a folder or a zip; was "
            "the download complete?"
        ) from None
    folders: dict[str, dict[str, zipfile.ZipInfo | None]] = {"": {}}
    odd = []
    for info in opened.infolist():
        reason = _file(info, folders)
        if reason:
            odd.append(f"{archive.name}: {_text(info)!r:.200} is left out: {reason}")
    return _Archive(opened, folders, tuple(odd))


def _file(
    info: zipfile.ZipInfo, folders: dict[str, dict[str, zipfile.ZipInfo | None]]
) -> str | None:
    """Add an entry of a zip to its folder; return what is wrong with it, or None."""
    parts = [part for part in _text(info).replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts:
        return "its path leads outside the zip"
    if len(parts) > MAX_DEPTH:
        return "it is nested too deeply"
    is_folder = info.is_dir()
    for depth, name in enumerate(parts):
        inner = folders.setdefault("/".join(parts[:depth]), {})
        last = depth == len(parts) - 1 and not is_folder
        if name in inner and (last or inner[name] is not None):
            return "there are two entries with this name"
        inner[name] = info if last else None
    if is_folder:
        folders.setdefault("/".join(parts), {})
    return None


def _text(info: zipfile.ZipInfo) -> str:
    """Return the name of a zip's entry; Macs write UTF-8 without marking it as such."""
    if not info.flag_bits & UTF8_NAME:
        try:
            return info.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return info.filename
