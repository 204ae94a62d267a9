"""Opens a zip or a tar as a folder, without unpacking it.

No file is ever made under a name from the archive, so no name can lead elsewhere, and what isn't
graded, such as a whole Python environment, takes no space. Only a tar's data are stored, in one
file, because a compressed tar can't be read at any place.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from .errors import SubmissionError
from .upload import (
    CHUNK_BYTES,
    DEEPEST,
    MAX_FILES,
    OF_THE_MACHINE,
    TOO_MANY,
    Folder,
    Reader,
    is_litter,
    is_searched,
    refusal,
)

MAX_BYTES = 1 << 30  # of an archive in an upload, and of a tar's data
MAX_LISTING_BYTES = 8 << 20  # 50,000 files whose paths have 100 characters
ZIP, TAR = ".zip", (".tar", ".tar.gz", ".tgz")
OTHERS = (".rar", ".7z", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".gz", ".bz2", ".xz")
# The first bytes of archives; a tar's are at an offset.
GZIP_HEAD, TAR_MARK, TAR_MARK_AT = b"\x1f\x8b", b"ustar", 257
OTHER_HEADS = (b"Rar!", b"7z\xbc\xaf\x27\x1c", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")
HEAD_BYTES = 512


@dataclass(frozen=True)
class Member:
    """A file in an archive.

    Attributes:
        kind: "file", "link" or "other".
        size: how many bytes it has, as the archive says; `open` yields no more.
    """

    kind: str
    size: int
    open: Callable[[], Reader]


Tree = dict[str, "Tree | Member"]


class PackedFolder(Folder):
    """A folder in an archive."""

    def __init__(self, path: Path, parent: Folder | None, tree: Tree) -> None:
        """
        Args:
            path: where it would be if the archive were a folder.
        """
        super().__init__(path, parent, None)
        self._tree = tree

    def entries(self) -> Iterable[str]:
        return self._tree

    def is_folder(self, name: str) -> bool:
        return isinstance(self._tree.get(name), dict)

    def folder(self, name: str) -> Folder | None:
        self.refuse_link(name)
        inner = self._tree.get(name)
        return PackedFolder(self.path / name, self, inner) if isinstance(inner, dict) else None

    def file(self, name: str) -> Reader:
        self.refuse_link(name)
        member = self._tree[name]
        if isinstance(member, dict) or member.kind != "file":
            raise ValueError("not a regular file")
        return member.open()

    def size(self, name: str) -> int:
        member = self._tree[name]
        return 0 if isinstance(member, dict) else member.size

    def refuse_link(self, name: str) -> Any:
        member = self._tree.get(name)
        if isinstance(member, Member):
            _refuse_link(member, f"{self.top.path.name}: {self.called(name)!a}")


def is_archive(name: str) -> bool:
    """Return whether a file's name is that of an archive, of whatever kind."""
    return name.lower().endswith((ZIP, *TAR, *OTHERS))


def ending(name: str) -> str:
    """Return the end of an archive's name, such as ".tar.gz"; "" if it isn't an archive's."""
    longest_first = sorted((ZIP, *TAR, *OTHERS), key=len, reverse=True)
    return next((end for end in longest_first if name.lower().endswith(end)), "")


def is_opened(name: str, head: bytes = b"") -> bool:
    """Return whether an archive is of a kind that is opened, by its name and its first bytes."""
    return not head.startswith(OTHER_HEADS) and ending(name) in (ZIP, *TAR)


def is_tar(head: bytes) -> bool:
    """Return whether a file is a tar, possibly compressed, by its first bytes."""
    return head.startswith(GZIP_HEAD) or head[TAR_MARK_AT:].startswith(TAR_MARK)


@contextmanager
def opened(archive: Path, path: Path, scratch: Path) -> Iterator[PackedFolder]:
    """Open a zip or a tar as a folder, whatever its name is.

    Args:
        path: where the archive is, for people.
        scratch: where a tar's data may be stored.

    Raises:
        SubmissionError: it is neither, is damaged, or is too large.
    """
    with ExitStack() as stack:
        with _readable(path.name):
            file = stack.enter_context(io.FileIO(archive))
            head = file.read(HEAD_BYTES)
            file.seek(0)
            if head.startswith(OTHER_HEADS):
                raise SubmissionError("it can't be opened: upload a zip")
            if is_tar(head):
                file = stack.enter_context(_data_of_tar(file, head, scratch))
                tar = stack.enter_context(tarfile.open(fileobj=_Listing(file), mode="r:"))
                tree = _tree(_of_tar(tar, path.name))
            else:
                packed = stack.enter_context(zipfile.ZipFile(_Listing(file)))
                tree = _tree(_of_zip(packed, path.name))
        yield PackedFolder(path, None, tree)


@contextmanager
def opened_within(
    start: Folder, way: tuple[str, ...], name: str, scratch: Path
) -> Iterator[PackedFolder]:
    """Open an archive of an upload, after copying it to `scratch`.

    Raises:
        SubmissionError: it can't be read, is damaged, or is too large.
    """
    folder = start.below(way)
    assert folder is not None  # it was just searched
    try:
        with folder.file(name) as reader, open(scratch, "wb") as writer:
            store(reader, writer)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise refusal(error, f"{folder.called(name)} can't be read") from None
        raise SubmissionError(f"{folder.called(name)}: {error}") from None
    data = scratch.with_name(f"{scratch.name}.data")
    try:
        with opened(scratch, folder.path / name, data) as inside:
            yield inside
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn whatever a damaged or hostile archive raises into a sentence.

    Raises:
        SubmissionError: instead.
    """
    try:
        yield
    except SubmissionError as error:
        raise SubmissionError(f"{name}: {error}") from None
    except MemoryError:
        raise  # not the upload's fault, such as a full disk
    except Exception as error:  # zlib's and others' own kinds, names too long, ...
        if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
            raise refusal(error, f"{name} can't be unpacked") from None
        kind = "tar" if ending(name) in TAR else "zip"
        raise SubmissionError(f"{name} is not a readable {kind}: {error!s:.200}") from None


class _Listing(io.BufferedReader):
    """An archive's bytes, which limits the length of what describes its files.

    `zipfile` reads a zip's whole list of files, and makes an object for each, before it can tell
    how many there are: a list of 100 MB would take gigabytes. `tarfile` reads a file's description
    at once, however long it says that it is.
    """

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_LISTING_BYTES:
            raise SubmissionError(TOO_MANY.format(MAX_FILES))
        return super().read(size)


class _Reader:
    """Reads a file of an archive; damage anywhere in it is one sentence."""

    def __init__(self, archive: str, stream: IO[bytes]) -> None:
        self._archive, self._stream = archive, stream

    def read(self, size: int, /) -> bytes:
        with _readable(self._archive):
            return self._stream.read(size)

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


# zip and tar --------------------------------------------------------------------------------------


def _of_zip(opened_zip: zipfile.ZipFile, archive: str) -> Iterator[tuple[str, Member]]:
    for info in opened_zip.infolist():
        kind = stat.S_IFMT(info.external_attr >> 16)
        is_file = kind in (0, stat.S_IFREG)  # 0: packed by a program that doesn't set it
        words = "file" if is_file else "link" if kind == stat.S_IFLNK else "other"
        if not info.is_dir():
            read = partial(_open_in_zip, opened_zip, info, archive)
            yield info.filename, Member(words, info.file_size, read)


def _open_in_zip(opened_zip: zipfile.ZipFile, info: zipfile.ZipInfo, archive: str) -> Reader:
    with _readable(archive):
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # With other methods, a few kilobytes are unpacked to gigabytes at once.
            raise SubmissionError(
                f"{info.filename!a} uses an unusual compression method: pack an ordinary zip"
            )
        return _Reader(archive, opened_zip.open(info))


@contextmanager
def _data_of_tar(file: io.FileIO, head: bytes, scratch: Path) -> Iterator[io.FileIO]:
    """Store a tar's data, without its compression.

    Raises:
        SubmissionError: they are too large.
    """
    if not head.startswith(GZIP_HEAD):
        yield file
        return
    try:
        with gzip.GzipFile(fileobj=file) as packed, open(scratch, "wb") as writer:
            store(cast(Reader, packed), writer)
        with io.FileIO(scratch) as stored:
            yield stored
    finally:
        scratch.unlink(missing_ok=True)


def store(reader: Reader, writer: IO[bytes]) -> None:
    """Copy an archive, or the data of one.

    Raises:
        SubmissionError: they are too large.
    """
    left = MAX_BYTES
    while chunk := reader.read(CHUNK_BYTES):
        left -= len(chunk)
        if left < 0:
            raise SubmissionError(f"too large, more than {MAX_BYTES} bytes")
        writer.write(chunk)


def _of_tar(opened_tar: tarfile.TarFile, archive: str) -> Iterator[tuple[str, Member]]:
    for info in opened_tar:
        if info.size < 0:  # tarfile would read the same description again, for ever
            raise SubmissionError(f"{info.name!a} has a negative size")
        is_file = info.isreg() and not info.issparse()
        kind = "file" if is_file else "link" if info.issym() or info.islnk() else "other"
        if not info.isdir():
            read = partial(_open_in_tar, opened_tar, info, archive)
            yield info.name, Member(kind, info.size, read)


def _open_in_tar(opened_tar: tarfile.TarFile, info: tarfile.TarInfo, archive: str) -> Reader:
    with _readable(archive):
        stream = opened_tar.extractfile(info)
        assert stream is not None  # it is a file
        return _Reader(archive, stream)


# Names --------------------------------------------------------------------------------------------


def _tree(members: Iterable[tuple[str, Member]]) -> Tree:
    """Return an archive's files by folder, as far as a submission is searched.

    Raises:
        SubmissionError: a name leads elsewhere, is there twice, or there are too many.
    """
    tree: Tree = {}
    for number, (name, member) in enumerate(members):
        if number >= MAX_FILES:
            raise SubmissionError(TOO_MANY.format(MAX_FILES))
        _add(tree, name, member)
    return tree


def _add(tree: Tree, name: str, member: Member) -> None:
    """Add a file to a tree.

    Where the search ends, the folder is empty: a megabyte of names can mean 400,000 folders.
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or (parts and ":" in parts[0]):
        raise SubmissionError(f"the name {name!a} leads outside the archive")
    if not parts:
        raise SubmissionError(f"{name!a} is not the name of a file")
    *folders, file = parts
    beyond = (place for place, folder in enumerate(folders) if not is_searched(folder))
    ends = min(next(beyond, len(folders)) + 1, DEEPEST)
    for folder in folders[:ends]:
        inner = tree.setdefault(folder, {})
        if isinstance(inner, Member):
            _refuse_link(inner, f"{folder!a}")
            raise _is_there_twice(parts)
        tree = inner
    is_folder = name.endswith("\\")  # as old programs of Windows mark them
    if ends <= len(folders) or is_folder or is_litter(file):
        return
    if file in tree:
        _refuse_link(member, f"{name!a}")
        raise _is_there_twice(parts)
    tree[file] = member


def _is_there_twice(parts: list[str]) -> SubmissionError:
    return SubmissionError(f"it contains {'/'.join(parts)!r} twice; pack your files again")


def _refuse_link(member: Member, name: str) -> None:
    if member.kind == "link":
        raise SubmissionError(f"{name} is a link: pack the folder or file itself")


# A folder into which a zip from Windows was unpacked ----------------------------------------------


def straightened(top: Folder) -> Folder:
    r"""Return a folder with the folders that its files' names mean.

    Some programs, Gradescope's among them, unpack `submission\dataset.py` from a zip that was made
    on Windows as a file of that name.
    """
    if os.sep == "\\" or not any("\\" in name for name in top.entries()):
        return top
    tree: Tree = {}
    for way, folder, files in top.searched():
        for name in files:
            _add(tree, "/".join((*way, name)), _member(top, way, folder, name))
    return PackedFolder(top.path, None, tree)


def _member(top: Folder, way: tuple[str, ...], folder: Folder, name: str) -> Member:
    def read() -> Reader:
        inner = top.below(way)
        assert inner is not None  # it was there a moment ago
        return inner.file(name)

    try:
        folder.refuse_link(name)
    except SubmissionError:
        return Member("link", 0, read)
    return Member("file", folder.size(name), read)
