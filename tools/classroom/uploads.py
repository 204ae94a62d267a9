"""The files of one submission: checks, hashes and copies them."""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import BadZipFile

from grading.errors import SubmissionError
from grading.upload import (
    CHUNK_BYTES,
    DEEPEST,
    HEAD_BYTES,
    MAX_FILES,
    TAR,
    archive_suffix,
    is_archive,
    is_searched,
    is_supported,
    is_tar,
)

from .places import Place

# The grader has its own limits for the files that it takes. This limit protects the disk, but a
# folder that contains a whole Python environment is still graded.
MAX_BYTES = 1 << 30
ZIP, EMPTY_ZIP = b"PK\3\4", b"PK\5\6"  # the first bytes of a zip
COPY = "upload"  # the name of the copied folder; with an ending, of a copied archive
SHALLOW = 2  # of what isn't searched, no deeper folders are made
# Errors caused by names, which students choose. Any other, such as a full disk, is a staff fault.
BAD_NAME = (
    errno.ENAMETOOLONG,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.EINVAL,
    errno.EILSEQ,
)


@dataclass(frozen=True)
class Upload:
    """The files of one submission.

    Attributes:
        parts: (name, place) of the files that were handed in, or of one folder, whose name is
            empty because only its contents count.
    """

    parts: tuple[tuple[str, Place], ...]

    def files(self) -> Iterator[tuple[str, Place]]:
        """Yield everything except folders, with its relative path.

        Raises:
            SubmissionError: if there are too many files, or they can't be listed.
        """
        count = 0
        for name, place in self.parts:
            inner = place.walk() if place.kind == "folder" else iter([("", place)])
            for way, file in inner:
                count += 1
                if count > MAX_FILES:
                    raise SubmissionError(
                        f"more than {MAX_FILES} files; is this really a submission?"
                    )
                yield "/".join(filter(None, (name, way))) or file.name, file

    def archive(self) -> Place | None:
        """Return the archive if there is nothing else: some platforms don't unpack them.

        Raises:
            SubmissionError: if the files can't be listed.
        """
        found = [file for _, file in itertools.islice(self.files(), 2)]
        is_file = len(found) == 1 and found[0].kind == "file"
        return found[0] if is_file and is_archive(found[0].name) else None

    def fault(self) -> str | None:
        """Return what is obviously wrong, in words, or None."""
        try:
            if not list(self.files()):
                return "it contains no files"
            packed = self.archive()
            if packed is None:
                return None
            with packed.open() as reader:
                head = _read(packed, reader, HEAD_BYTES)
        except SubmissionError as error:
            return str(error)
        if head.startswith(EMPTY_ZIP):
            return f"{packed.name!a} is an empty zip"
        if head.startswith(ZIP) or is_tar(head):
            return None
        if is_supported(packed.name, head):
            kind = "tar" if archive_suffix(packed.name) in TAR else "zip"
            return f"{packed.name!a} is not a {kind} file"
        return f"{packed.name!a} can't be opened: ask for a zip"

    def digest(self) -> str:
        """Return the SHA-256 of all files and their names, in hexadecimal digits.

        Raises:
            SubmissionError: if they can't be read.
        """
        digest, left = hashlib.sha256(), MAX_BYTES
        for name, file in sorted(self.files(), key=lambda found: found[0]):
            text = name.encode("utf-8", "surrogatepass")
            content = hashlib.sha256()
            if file.kind == "file":
                for chunk in _chunks(file, left):
                    content.update(chunk)
                    left -= len(chunk)
            elif file.kind == "link":
                content.update(os.fsencode(file.target()))
            digest.update(b"%d:%s:%s:" % (len(text), text, file.kind.encode()))
            digest.update(content.digest())
        return digest.hexdigest()

    def unpack(self, into: Path) -> Path:
        """Copy the files to an empty folder; return the folder or archive to grade.

        Links are copied as links, after everything else, so the grader can refuse them and nothing
        is ever written through one. Of anything in a folder where the grader doesn't look, at most
        two folders are made, because a flood of folders takes long to make and to remove.

        Raises:
            SubmissionError: if there are too many files, they are too large, two have the same
                name, or they can't be read.
            OSError: if they can't be written, although their names are valid.
        """
        try:
            packed = self.archive()
            if packed is not None:
                target = into / f"{COPY}{archive_suffix(packed.name)}"
                _copy(packed, target, MAX_BYTES)
                return target
            target = into / COPY
            target.mkdir(mode=0o700)
            self._copy_all(target)
            return target
        except FileExistsError as error:
            # For a link, filename2 is its own name.
            name = os.path.relpath(error.filename2 or error.filename, into / COPY)
            raise SubmissionError(f"there are two files {name!a}") from None
        except OSError as error:
            if error.errno not in BAD_NAME:
                raise
            raise SubmissionError(f"a file name can't be used: {error.strerror}") from None

    def _copy_all(self, target: Path) -> None:
        left, links = MAX_BYTES, []
        for name, file in self.files():
            parts = name.split("/")
            if len(parts) > DEEPEST or not all(map(is_searched, parts[:-1])):
                folder = target.joinpath(*parts[: min(SHALLOW, len(parts) - 1)])
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                continue
            path = target / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if file.kind == "file":
                left -= _copy(file, path, left)
            elif file.kind == "link":
                links.append((path, file.target()))
        for path, leads_to in links:
            os.symlink(leads_to, path)


def _copy(file: Place, target: Path, most: int) -> int:
    """Copy a file to a path that doesn't exist yet; return its number of bytes."""
    size = 0
    with open(target, "xb", opener=_privately) as writer:
        for chunk in _chunks(file, most):
            writer.write(chunk)
            size += len(chunk)
    return size


def _chunks(file: Place, most: int) -> Iterator[bytes]:
    """Yield a file's bytes, in chunks.

    Raises:
        SubmissionError: if there are more than `most`, or they can't be read.
    """
    with file.open() as reader:
        while chunk := _read(file, reader, CHUNK_BYTES):
            most -= len(chunk)
            if most < 0:
                raise SubmissionError(f"too large: more than {MAX_BYTES} bytes")
            yield chunk


def _read(file: Place, reader: IO[bytes], most: int) -> bytes:
    """Read at most `most` bytes; a damaged zip may fail anywhere."""
    try:
        return reader.read(most)
    except (OSError, EOFError, ValueError, RuntimeError, BadZipFile, zlib.error) as error:
        raise SubmissionError(f"{file.name!a} can't be read: {error!s:.200}") from None


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
