"""Opens an upload as a tree of folders: without following links, or unpacking a zip or a tar.

A link makes whoever follows it read files that its maker may not be able to read: `submission`,
submitted as a link to the reference solution's folder, would earn full marks. So every entry below
the given path is opened from its parent's descriptor with a flag that refuses links, which no
rename in between can circumvent. If the platform can't do that (Windows), the entry is checked
first.

No file is ever made under a name from an archive, so no name can lead elsewhere, and what isn't
graded, such as a whole Python environment, takes no space. Only a tar's data are stored, in one
file, because a compressed tar can't be read at any place.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol, cast

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
MACHINE_ERRNOS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
)
BY_DESCRIPTOR = {os.open, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
MAX_ARCHIVE_BYTES = 1 << 30  # of an archive in an upload, and of a tar's data
MAX_LISTING_BYTES = 8 << 20  # 50,000 files whose paths have 100 characters
ZIP, TAR = ".zip", (".tar", ".tar.gz", ".tgz")
OTHERS = (".rar", ".7z", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".gz", ".bz2", ".xz")
# The first bytes of archives; a tar's are at an offset.
GZIP_HEAD, TAR_MARK, TAR_MARK_AT = b"\x1f\x8b", b"ustar", 257
OTHER_HEADS = (b"Rar!", b"7z\xbc\xaf\x27\x1c", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")
HEAD_BYTES = 512


class Reader(Protocol):
    """An open file of an upload."""

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes."""

    def __enter__(self) -> Reader: ...

    def __exit__(self, *_: object) -> None: ...


class Folder:
    """An open folder of an upload, on disk.

    Attributes:
        path: where it is.
        alias: what messages call it, if it is the given path.
        parent: the folder from which it was opened; None for the given path.
    """

    def __init__(self, path: Path, parent: Folder | None, descriptor: int | None) -> None:
        self.path, self.alias, self.parent = path, str(path), parent
        self._descriptor = descriptor
        # All folders that were opened from the given one, itself included.
        self._open_folders: list[Folder] = [] if parent is None else parent._open_folders
        self._open_folders.append(self)

    @classmethod
    @contextmanager
    def open_top(cls, path: Path) -> Iterator[Folder]:
        """Open the given folder, which may be a link; all folders are closed at the end."""
        path = path.resolve()
        try:
            top = cls(path, None, os.open(path, os.O_RDONLY) if BY_DESCRIPTOR else None)
        except OSError as error:
            raise refusal(error, f"{path} can't be read") from None
        try:
            yield top
        finally:
            for folder in top._open_folders:
                folder.close()

    @property
    def top(self) -> Folder:
        """The given folder."""
        return self if self.parent is None else self.parent.top

    def shown(self, name: str = "") -> str:
        """Return where this folder or an entry is, for messages."""
        return str(self.top.alias / (self.path / name).relative_to(self.top.path))

    def label(self, name: str) -> str:
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
            raise SubmissionError(f"{self.shown()}: {TOO_MANY.format(MAX_ENTRIES)}")
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
                        raise SubmissionError(f"{self.shown()}: {TOO_MANY.format(MAX_FILES)}")
        except OSError as error:
            raise refusal(error, f"{self.shown()} can't be listed") from None
        return names

    def walk(self) -> Iterator[tuple[tuple[str, ...], Folder, list[str]]]:
        """Yield this folder and all below it in which a submission may be, links excepted.

        Yields:
            the names on the folder's path, the folder, which is closed afterwards, and the names
            of its files.

        Raises:
            SubmissionError: there are too many files.
        """
        remaining = MAX_FILES
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            parts = waiting.pop()
            with suppress(SubmissionError), self._visit(parts) as folder:
                names = sorted(folder.entries())
                remaining -= len(names)
                inner = [name for name in names if folder.is_folder(name)]
                if remaining >= 0:
                    yield parts, folder, [name for name in names if name not in inner]
                if len(parts) + 1 < DEEPEST:
                    waiting += [(*parts, name) for name in reversed(inner) if is_searched(name)]
            if remaining < 0:
                raise SubmissionError(f"{self.shown()}: {TOO_MANY.format(MAX_FILES)}")

    @contextmanager
    def _visit(self, parts: tuple[str, ...]) -> Iterator[Folder]:
        """Open the folder at a path; close it, and those on the way to it, at the end."""
        before = len(self._open_folders)
        try:
            folder = self.below(parts)
        finally:
            new = self._open_folders[before:]
            del self._open_folders[before:]
        try:
            if folder is None:
                raise SubmissionError(f"{'/'.join(parts)!a} was removed")
            yield folder
        finally:
            for each in new:
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
            raise refusal(error, f"{self.label(name)} can't be read") from None
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
                    f"{self.label(name)} is a hard link to a file outside: submit a copy"
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
                f"{self.label(name)} is a link, and links are not followed: submit the folder or "
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
    message = f"{what}: {error.strerror or error}"
    return (GradingError if error.errno in MACHINE_ERRNOS else SubmissionError)(message)


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


# Archives -----------------------------------------------------------------------------------------


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
            _refuse_link(member, f"{self.top.path.name}: {self.label(name)!a}")


def is_archive(name: str) -> bool:
    """Return whether a file's name is that of an archive, of whatever kind."""
    return name.lower().endswith((ZIP, *TAR, *OTHERS))


def archive_suffix(name: str) -> str:
    """Return the end of an archive's name, such as ".tar.gz"; "" if it isn't an archive's."""
    longest_first = sorted((ZIP, *TAR, *OTHERS), key=len, reverse=True)
    return next((end for end in longest_first if name.lower().endswith(end)), "")


def is_supported(name: str, head: bytes = b"") -> bool:
    """Return whether an archive is of a kind that is opened, by its name and its first bytes."""
    return not head.startswith(OTHER_HEADS) and archive_suffix(name) in (ZIP, *TAR)


def is_tar(head: bytes) -> bool:
    """Return whether a file is a tar, possibly compressed, by its first bytes."""
    return head.startswith(GZIP_HEAD) or head[TAR_MARK_AT:].startswith(TAR_MARK)


@contextmanager
def open_archive(archive: Path, path: Path, scratch: Path) -> Iterator[PackedFolder]:
    """Open a zip or a tar as a folder, whatever its name is.

    Args:
        path: where the archive is, for people.
        scratch: where a tar's data may be stored.

    Raises:
        SubmissionError: it is neither, is damaged, or is too large.
    """
    with ExitStack() as stack:
        with _archive_errors(path.name):
            file = stack.enter_context(io.FileIO(archive))
            head = file.read(HEAD_BYTES)
            file.seek(0)
            if head.startswith(OTHER_HEADS):
                raise SubmissionError("it can't be opened: upload a zip")
            if is_tar(head):
                file = stack.enter_context(_data_of_tar(file, head, scratch))
                tar = stack.enter_context(tarfile.open(fileobj=_Listing(file), mode="r:"))
                tree = _tree(_tar_members(tar, path.name))
            else:
                packed = stack.enter_context(zipfile.ZipFile(_Listing(file)))
                tree = _tree(_zip_members(packed, path.name))
        yield PackedFolder(path, None, tree)


@contextmanager
def open_inner_archive(
    start: Folder, parts: tuple[str, ...], name: str, scratch: Path
) -> Iterator[PackedFolder]:
    """Open an archive of an upload, after copying it to `scratch`.

    Raises:
        SubmissionError: it can't be read, is damaged, or is too large.
    """
    folder = start.below(parts)
    assert folder is not None  # it was just searched
    try:
        with folder.file(name) as reader, open(scratch, "wb") as writer:
            store(reader, writer)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise refusal(error, f"{folder.label(name)} can't be read") from None
        raise SubmissionError(f"{folder.label(name)}: {error}") from None
    data = scratch.with_name(f"{scratch.name}.data")
    try:
        with open_archive(scratch, folder.path / name, data) as inside:
            inside.alias = folder.shown(name)
            yield inside
    finally:
        scratch.unlink(missing_ok=True)


@contextmanager
def _archive_errors(name: str) -> Iterator[None]:
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
        if isinstance(error, OSError) and error.errno in MACHINE_ERRNOS:
            raise refusal(error, f"{name} can't be unpacked") from None
        kind = "tar" if archive_suffix(name) in TAR else "zip"
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
        with _archive_errors(self._archive):
            return self._stream.read(size)

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


# zip and tar --------------------------------------------------------------------------------------


def _zip_members(zip_file: zipfile.ZipFile, archive: str) -> Iterator[tuple[str, Member]]:
    for info in zip_file.infolist():
        mode = stat.S_IFMT(info.external_attr >> 16)
        is_file = mode in (0, stat.S_IFREG)  # 0: packed by a program that doesn't set it
        kind = "file" if is_file else "link" if mode == stat.S_IFLNK else "other"
        if not info.is_dir():
            read = partial(_open_in_zip, zip_file, info, archive)
            yield info.filename, Member(kind, info.file_size, read)


def _open_in_zip(zip_file: zipfile.ZipFile, info: zipfile.ZipInfo, archive: str) -> Reader:
    with _archive_errors(archive):
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # With other methods, a few kilobytes are unpacked to gigabytes at once.
            raise SubmissionError(
                f"{info.filename!a} uses an unusual compression method: pack an ordinary zip"
            )
        return _Reader(archive, zip_file.open(info))


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
    remaining = MAX_ARCHIVE_BYTES
    while chunk := reader.read(CHUNK_BYTES):
        remaining -= len(chunk)
        if remaining < 0:
            raise SubmissionError(f"too large, more than {MAX_ARCHIVE_BYTES} bytes")
        writer.write(chunk)


def _tar_members(tar_file: tarfile.TarFile, archive: str) -> Iterator[tuple[str, Member]]:
    for info in tar_file:
        if info.size < 0:  # tarfile would read the same description again, for ever
            raise SubmissionError(f"{info.name!a} has a negative size")
        is_file = info.isreg() and not info.issparse()
        kind = "file" if is_file else "link" if info.issym() or info.islnk() else "other"
        if not info.isdir():
            read = partial(_open_in_tar, tar_file, info, archive)
            yield info.name, Member(kind, info.size, read)


def _open_in_tar(tar_file: tarfile.TarFile, info: tarfile.TarInfo, archive: str) -> Reader:
    with _archive_errors(archive):
        stream = tar_file.extractfile(info)
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


def unfold_backslashes(top: Folder) -> Folder:
    r"""Return a folder with the folders that its files' names mean.

    Some programs, Gradescope's among them, unpack `submission\dataset.py` from a zip that was made
    on Windows as a file of that name.
    """
    if os.sep == "\\" or not any("\\" in name for name in top.entries()):
        return top
    tree: Tree = {}
    for parts, folder, files in top.walk():
        for name in files:
            _add(tree, "/".join((*parts, name)), _member(top, parts, folder, name))
    unfolded = PackedFolder(top.path, None, tree)
    unfolded.alias = top.alias
    return unfolded


def _member(top: Folder, parts: tuple[str, ...], folder: Folder, name: str) -> Member:
    def read() -> Reader:
        inner = top.below(parts)
        assert inner is not None  # it was there a moment ago
        return inner.file(name)

    try:
        folder.refuse_link(name)
    except SubmissionError:
        return Member("link", 0, read)
    return Member("file", folder.size(name), read)
