"""Reads what other people pack, a folder or an archive, as one tree: follows and unpacks nothing.

A link makes whoever follows it read files that its maker may not be able to read: `submission`,
submitted as a link to the reference solution's folder, would earn full marks. So what is on disk is
opened name by name, with a flag that refuses links (see `host.open_below`).

No file is ever made under a name from an archive, so no name can lead elsewhere, and what isn't
graded, such as a whole Python environment, takes no space. Only an archive in an archive and a
compressed tar's data are stored, in a file without a name, because they can't be read at any place.

Whatever can't be accepted, or is too much, raises a SubmissionError that says so in one sentence.
"""

from __future__ import annotations

import errno
import gzip
import io
import os
import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Literal, cast

import grading
import host

from .errors import GradingError, SubmissionError

CHUNK_BYTES = 1 << 20
MAX_ENTRIES = 2_000  # of a folder from which files are taken; an assignment's own have a few dozen
MAX_FILES = 50_000  # of everything that is searched; an environment with torch has 20,000
TOO_MANY = "too many files, more than {}: is this a submission?"
A_LINK = "{} is a link, and links are not followed: submit the folder or file itself"
# Names on the path to a file: content/drive/MyDrive/Colab Notebooks/a5/src/submission/dataset.py,
# and two more.
DEEPEST = 10
MAX_DEPTH = 100  # the same where a tree is needed as a whole
LITTER = ("__MACOSX", ".DS_Store", "__pycache__", ".ipynb_checkpoints", "Thumbs.db", "desktop.ini")
# Emacs's locks, which are links that lead nowhere, and its unsaved text; copies of Vim and others;
# what src/update.py keeps beside a file.
EDITORS = re.compile(r"\.#.*|#.*#|.*~|\..*\.sw[a-p]|.*\.(mine|new)")
UNSEARCHED = ("__MACOSX", "__pycache__", "site-packages", "node_modules")
DRIVE = re.compile(r"[A-Za-z]:")
# Errors that no upload causes, such as a full disk. They must not count as unreadable files.
MACHINE_ERRNOS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
)
MAX_ARCHIVE_BYTES = 1 << 30  # of an archive in an upload, and of a tar's data
MAX_LISTING_BYTES = 8 << 20  # 50,000 files whose paths have 100 characters
ZIP, TAR = ".zip", (".tar", ".tar.gz", ".tgz")
OTHERS = (".rar", ".7z", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".gz", ".bz2", ".xz")
# The first bytes of archives; a tar's are at an offset.
GZIP_HEAD, TAR_MARK, TAR_MARK_AT = b"\x1f\x8b", b"ustar", 257
OTHER_HEADS = (b"Rar!", b"7z\xbc\xaf\x27\x1c", b"BZh", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")
HEAD_BYTES = 512
UTF8_NAME, ENCRYPTED = 0x800, 0x1  # flags of a zip's entry

Kind = Literal["file", "folder", "link", "other"]


class HardLink(SubmissionError):
    """A file is a hard link to somebody else's; whoever catches this knows its name."""


def _no_file() -> IO[bytes]:
    raise ValueError("not a regular file")


@dataclass(frozen=True)
class Entry:
    """A file, folder, link or something else in an upload."""

    name: str  # the last part of its path, a text that may contain any character
    kind: Kind  # a link is a link, whatever it points to
    size: int = 0  # how many bytes a file has, as far as is known before it is read
    # Opens a file; raises HardLink, OSError if it can't be read or a link is on the way to it,
    # ValueError if it isn't regular, and SubmissionError if an archive is odd.
    open: Callable[[], IO[bytes]] = _no_file
    # Lists a folder by name; raises SubmissionError if there is too much in it, OSError if it can't
    # be listed.
    entries: Callable[[], dict[str, Entry]] = dict
    target: Callable[[], str] = str  # returns what a link points to


@dataclass(frozen=True)
class Folder:
    """A folder of an upload."""

    entry: Entry
    path: Path  # where the whole upload is, or would be if an archive were a folder
    alias: str  # what messages call the whole upload
    parts: tuple[str, ...] = ()  # the names on the way to this folder
    parent: Folder | None = None  # the folder that contains it; None for the whole upload

    @property
    def top(self) -> Folder:
        return self.parent.top if self.parent else self

    def place(self, name: str = "") -> Path:
        return self.path.joinpath(*self.parts, name)

    def shown(self, name: str = "") -> str:
        """Return where this folder or an entry is, for messages."""
        return str(Path(self.alias, *self.parts, name))

    def label(self, name: str) -> str:
        """Return an entry's name for messages: its path in the upload."""
        path = "/".join((*self.parts, name))
        return path if path.isprintable() else ascii(path)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All entries by name, however many."""
        try:
            return self.entry.entries()
        except SubmissionError as error:
            raise SubmissionError(f"{self.shown()}: {error}") from None
        except OSError as error:
            raise refusal(error, f"{self.shown()} can't be listed") from None

    @property
    def names(self) -> list[str]:
        """The names of all entries, sorted; they are refused if no submission has so many."""
        if len(self.entries) > MAX_ENTRIES:
            raise SubmissionError(f"{self.shown()}: {TOO_MANY.format(MAX_ENTRIES)}")
        return sorted(self.entries)

    def refuse_link(self, name: str) -> None:
        """Refuse an entry that is a link, or one of Windows' junctions."""
        if self.entries[name].kind == "link":
            raise SubmissionError(A_LINK.format(self.label(name)))

    def file(self, name: str) -> IO[bytes]:
        """Open the regular file of that name in this folder; see `Entry.open`."""
        self.refuse_link(name)
        try:
            return self.entries[name].open()
        except HardLink as error:
            raise SubmissionError(f"{self.label(name)} is {error}") from None

    def below(self, *names: str) -> Folder | None:
        """Return the folder at the path of these names, on which no link may be; None if none is.

        Without names, it is this folder.
        """
        folder = self
        for name in names:
            entry = folder.entries.get(name)
            if entry is not None:
                folder.refuse_link(name)
            if entry is None or entry.kind != "folder":
                return None
            folder = Folder(entry, self.path, self.alias, (*folder.parts, name), folder)
        return folder

    def walk(self) -> Iterator[tuple[Folder, list[str]]]:
        """Yield this folder and all below it in which a submission may be, links excepted.

        Each comes with the names in it that aren't folders. What can't be listed is left out.
        """
        remaining, waiting = MAX_FILES, [self]
        while waiting:
            folder = waiting.pop()
            with suppress(SubmissionError):
                remaining -= len(folder.entries)
                files = sorted(n for n, entry in folder.entries.items() if entry.kind != "folder")
                if remaining >= 0:
                    yield folder, files
                if len(folder.parts) - len(self.parts) + 1 < DEEPEST:
                    inner = sorted(folder.entries.keys() - {*files}, reverse=True)
                    waiting += filter(None, map(folder.below, filter(is_searched, inner)))
            if remaining < 0:
                raise SubmissionError(f"{self.shown()}: {TOO_MANY.format(MAX_FILES)}")


def is_litter(name: str) -> bool:
    """Return whether operating systems and editors leave a file or folder of this name behind."""
    return name in LITTER or name.startswith("._") or EDITORS.fullmatch(name) is not None


def is_searched(name: str) -> bool:
    """Return whether a submission may be in a folder of this name."""
    return name not in UNSEARCHED and not name.startswith(".")


def refusal(error: OSError, what: str) -> GradingError:
    """Return what to raise if an upload can't be read or copied: its fault, or the grader's."""
    message = f"{what}: {error.strerror or error}"
    return (GradingError if error.errno in MACHINE_ERRNOS else SubmissionError)(message)


# On disk ------------------------------------------------------------------------------------------


def on_disk(top: Path, *parts: str) -> Entry:
    """Return an entry below a folder, which itself may be a link; OSError: it can't be read."""
    path = top.joinpath(*parts)
    status = os.lstat(path) if parts else os.stat(path)
    if host.is_link(status):
        return Entry(path.name, "link", target=partial(os.readlink, path))
    if stat.S_ISDIR(status.st_mode):
        return Entry(path.name, "folder", entries=partial(_listed, top, parts))
    kind: Kind = "file" if stat.S_ISREG(status.st_mode) else "other"
    return Entry(path.name, kind, status.st_size, partial(_opened, top, parts))


def _listed(top: Path, parts: tuple[str, ...]) -> dict[str, Entry]:
    names = sorted(host.names_below(top, parts, MAX_FILES + 1))
    if len(names) > MAX_FILES:
        raise SubmissionError(TOO_MANY.format(MAX_FILES))
    entries = {}
    for name in names:
        with suppress(FileNotFoundError):  # removed in the meantime
            entries[name] = on_disk(top, *parts, name)
    return entries


def _opened(top: Path, parts: tuple[str, ...]) -> IO[bytes]:
    descriptor = host.open_below(top, parts)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            _no_file()
        if _is_somebody_elses(status, top.joinpath(*parts[:-1])):
            raise HardLink("a hard link to a file outside: submit a copy")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _is_somebody_elses(status: os.stat_result, folder: Path) -> bool:
    """Return whether a file is a hard link to somebody else's file, or to a solution.

    Making a hard link takes no right to read the file. If the kernel allows it
    (fs.protected_hardlinks = 0), a student on a shared machine could submit a file that only others
    can read: such a file belongs to a different user than its folder or, if staff own the folder of
    submissions, is one of the solutions. A student's own file may have any number of names.
    """
    if status.st_nlink < 2:
        return False
    if status.st_uid != os.lstat(folder).st_uid:
        return True
    solutions = (path.stat() for path in grading.SOLUTIONS.rglob("*") if path.is_file())
    return any(os.path.samestat(status, each) for each in solutions)


def unfold_backslashes(top: Folder) -> Folder:
    r"""Return a folder with the folders that its files' names mean.

    Some programs, Gradescope's among them, unpack `submission\dataset.py` from a zip that was made
    on Windows as a file of that name.
    """
    if not any("\\" in name for name in top.entries):
        return top
    tree: Tree = {}
    for folder, files in top.walk():
        for name in files:
            add(tree, "/".join((*folder.parts, name)), folder.entries[name])
    return Folder(folder_of(tree), top.path, top.alias)


# Archives -----------------------------------------------------------------------------------------

Tree = dict[str, "Tree | Entry"]


def folder_of(tree: Tree, name: str = "") -> Entry:
    """Return a tree as a folder."""

    def entries() -> dict[str, Entry]:
        return {n: folder_of(e, n) if isinstance(e, dict) else e for n, e in tree.items()}

    return Entry(name, "folder", entries=entries)


def is_archive(name: str) -> bool:
    """Return whether a file's name is that of an archive, of whatever kind."""
    return archive_suffix(name) != ""


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
def open_archive(file: IO[bytes], path: Path, alias: str) -> Iterator[Folder]:
    """Open a zip or a tar as a folder, whatever its name is.

    Args:
        file: its bytes, from their beginning.
        path: where the archive is, for people.
        alias: what messages call it.

    Raises:
        SubmissionError: it is neither, is damaged, or is too large, or a name in it leads elsewhere
            or is there twice.
    """
    with ExitStack() as stack:
        with archive_errors(path.name):
            if not isinstance(file, io.BufferedReader):  # as an archive in an archive
                file = stack.enter_context(_stored(file))
            head = file.read(HEAD_BYTES)
            file.seek(0)
            if head.startswith(OTHER_HEADS):
                raise SubmissionError("it can't be opened: upload a zip")
            if head.startswith(GZIP_HEAD):
                with gzip.GzipFile(fileobj=file) as packed:
                    file = stack.enter_context(_stored(cast(IO[bytes], packed)))
            if is_tar(head):
                tar = stack.enter_context(tarfile.open(fileobj=_Listing(file), mode="r:"))
                members = _tar_members(tar, path.name)
            else:
                packed_zip = stack.enter_context(zipfile.ZipFile(_Listing(file)))
                members = zip_members(packed_zip, path.name)
            tree: Tree = {}
            for number, (name, member) in enumerate(members):
                if number >= MAX_FILES:
                    raise SubmissionError(TOO_MANY.format(MAX_FILES))
                if member.kind != "folder":
                    add(tree, name, member)
        yield Folder(folder_of(tree), path, alias)


@contextmanager
def _stored(reader: IO[bytes]) -> Iterator[IO[bytes]]:
    """Copy an archive, or the data of one, to a file without a name, of which nothing remains."""
    remaining = MAX_ARCHIVE_BYTES
    with tempfile.TemporaryFile() as writer:
        while chunk := reader.read(CHUNK_BYTES):
            remaining -= len(chunk)
            if remaining < 0:
                raise SubmissionError(f"too large, more than {MAX_ARCHIVE_BYTES} bytes")
            writer.write(chunk)
        writer.seek(0)
        yield writer


@contextmanager
def archive_errors(name: str) -> Iterator[None]:
    """Turn whatever a damaged or hostile archive raises into a sentence."""
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

    def __init__(self, file: IO[bytes]) -> None:
        raw = io.FileIO(file.fileno(), closefd=False)
        raw.seek(0)
        super().__init__(raw)

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > MAX_LISTING_BYTES:
            raise SubmissionError(TOO_MANY.format(MAX_FILES))
        return super().read(size)


class _Reader(io.RawIOBase):
    """Reads a file of an archive; damage anywhere in it is one sentence."""

    def __init__(self, archive: str, stream: IO[bytes]) -> None:
        self._archive, self._stream = archive, stream

    def read(self, size: int = -1, /) -> bytes:
        with archive_errors(self._archive):
            return self._stream.read(size)


def zip_members(zip_file: zipfile.ZipFile, archive: str) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a zip, each with its path."""
    for info in zip_file.infolist():
        mode = stat.S_IFMT(info.external_attr >> 16)
        is_file = mode in (0, stat.S_IFREG)  # 0: packed by a program that doesn't set it
        kind: Kind = "file" if is_file else "link" if mode == stat.S_IFLNK else "other"
        name = info.filename
        if not info.flag_bits & UTF8_NAME:  # Macs write UTF-8 without marking it as such
            with suppress(UnicodeError):
                name = name.encode("cp437").decode("utf-8")
        read = partial(_open_in_zip, zip_file, info)
        yield name, _member("folder" if info.is_dir() else kind, info.file_size, read, archive)


def _tar_members(tar_file: tarfile.TarFile, archive: str) -> Iterator[tuple[str, Entry]]:
    for info in tar_file:
        if info.size < 0:  # tarfile would read the same description again, for ever
            raise SubmissionError(f"{info.name!a} has a negative size")
        is_file = info.isreg() and not info.issparse()
        kind: Kind = "file" if is_file else "link" if info.issym() or info.islnk() else "other"
        read = partial(tar_file.extractfile, info)
        yield info.name, _member("folder" if info.isdir() else kind, info.size, read, archive)


def _member(kind: Kind, size: int, read: Callable[[], IO[bytes] | None], archive: str) -> Entry:
    def opened() -> IO[bytes]:
        with archive_errors(archive):
            return cast(IO[bytes], _Reader(archive, cast(IO[bytes], read())))

    def target() -> str:
        with opened() as reader:
            return os.fsdecode(reader.read(4096).replace(b"\0", b"")) or "."

    return Entry("", kind, size, opened if kind == "file" else _no_file, target=target)


def _open_in_zip(zip_file: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    name = info.filename.rpartition("/")[2]  # folders may have a student's name
    if info.flag_bits & ENCRYPTED:
        raise SubmissionError(f"{name!a} is encrypted: pack an ordinary zip")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # With other methods, a few kilobytes are unpacked to gigabytes at once.
        raise SubmissionError(f"{name!a} uses an unusual compression method: pack an ordinary zip")
    return zip_file.open(info)


def add(tree: Tree, name: str, entry: Entry, is_whole: bool = False) -> None:
    """Add an entry to a tree.

    Args:
        name: its path, which may be anything: also one that leads elsewhere, or is there twice.
        is_whole: whether the tree has what isn't searched, too. Otherwise folders there are empty:
            a megabyte of names can mean 400,000 folders.
    """
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or (parts and DRIVE.match(parts[0])):
        raise SubmissionError(f"the name {name!a} leads outside the archive")
    if not parts:
        raise SubmissionError(f"{name!a} is not the name of a file")
    if len(parts) > MAX_DEPTH and is_whole:
        raise SubmissionError(f"{name!a:.200} is nested too deeply")
    is_folder = entry.kind == "folder" or name.endswith("\\")  # as old programs of Windows mark it
    folders = parts if is_folder else parts[:-1]
    beyond = (place for place, folder in enumerate(folders) if not is_searched(folder))
    ends = min(next(beyond, len(folders)) + 1, DEEPEST) if not is_whole else MAX_DEPTH + 1
    for folder in folders[:ends]:
        inner = tree.setdefault(folder, {})
        if not isinstance(inner, dict):
            raise _conflict(inner, f"{folder!a}", parts)
        tree = inner
    if is_folder or ends <= len(folders) or is_litter(parts[-1]):
        return
    if parts[-1] in tree:
        raise _conflict(entry, f"{name!a}", parts)
    tree[parts[-1]] = replace(entry, name=parts[-1])


def _conflict(entry: Entry, name: str, parts: list[str]) -> SubmissionError:
    """Return what to say of an entry that is in the way of another."""
    if entry.kind == "link":
        return SubmissionError(A_LINK.format(name))
    return SubmissionError(f"it contains {'/'.join(parts)!r} twice; pack your files again")
