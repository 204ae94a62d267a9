"""The files of one submission: what is odd about them, a hash of them, a copy of them."""

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
from grading.staging import DEEPEST

from .places import Place

# The grader has limits of its own, for what it takes. These keep a flood off the disk; whoever
# handed in a folder with all of a Python environment in it is still graded.
MAX_BYTES = 1 << 30
MAX_FILES = 50_000
CHUNK_BYTES = 1 << 20
ZIP, EMPTY_ZIP = b"PK\3\4", b"PK\5\6"  # how one begins
COPY = "upload"  # what the copy is called: a folder; with `.zip`, a zip
# What names can cause, and thus who chose them. All else, a full disk say, is ours.
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
        parts: places with the names under which they are handed in: files, or one folder, whose
            name is empty since all in it counts.
    """

    parts: tuple[tuple[str, Place], ...]

    def files(self) -> Iterator[tuple[str, Place]]:
        """Yield all files, and what else there is besides folders, with the way to each.

        Raises:
            SubmissionError: there are too many, or they can't be listed.
        """
        count = 0
        for name, place in self.parts:
            inner = place.walk() if place.kind == "folder" else iter([("", place)])
            for way, file in inner:
                count += 1
                if count > MAX_FILES:
                    raise SubmissionError(f"more than {MAX_FILES} files: is this a submission?")
                yield "/".join(filter(None, (name, way))) or file.name, file

    def zip(self) -> Place | None:
        """Return the zip that is all there is, as a platform keeps one that it doesn't unpack.

        Raises:
            SubmissionError: the files can't be listed.
        """
        found = [file for _, file in itertools.islice(self.files(), 2)]
        is_zip = len(found) == 1 and found[0].kind == "file"
        return found[0] if is_zip and found[0].name.lower().endswith(".zip") else None

    def fault(self) -> str | None:
        """Return what is wrong at first sight, in words; None where nothing is."""
        try:
            if not list(self.files()):
                return "no file is here"
            packed = self.zip()
            if packed is None:
                return None
            with packed.open() as reader:
                begins = _read(packed, reader, 4)
        except SubmissionError as error:
            return str(error)
        if begins == EMPTY_ZIP:
            return f"{packed.name!a} is a zip without files"
        return None if begins == ZIP else f"{packed.name!a} does not begin as a zip does"

    def digest(self) -> str:
        """Return the SHA-256 of all files with their names, in hexadecimal digits.

        Raises:
            SubmissionError: they can't be read.
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
        """Copy the files into an empty folder; return the folder or zip to grade.

        Links are laid out as links, last of all, so that the grader refuses them in its own words
        and nothing is ever written through one. Of what lies deeper than the grader looks, there
        is a folder and no more: a flood of folders takes long to make and to remove.

        Raises:
            SubmissionError: there are too many, they are too large, two are one, or they can't be
                read.
            OSError: they can't be written, and not because of their names.
        """
        try:
            packed = self.zip()
            if packed is not None:
                target = into / f"{COPY}.zip"
                _copy(packed, target, MAX_BYTES)
                return target
            target = into / COPY
            target.mkdir(mode=0o700)
            self._copy_all(target)
            return target
        except FileExistsError as error:
            # Of a link, the second name is its own.
            name = os.path.relpath(error.filename2 or error.filename, into / COPY)
            raise SubmissionError(f"{name!a} is there twice") from None
        except OSError as error:
            if error.errno not in BAD_NAME:
                raise
            raise SubmissionError(f"a name can't be used: {error.strerror}") from None

    def _copy_all(self, target: Path) -> None:
        left, links = MAX_BYTES, []
        for name, file in self.files():
            parts = name.split("/")
            if len(parts) > DEEPEST:
                folder = target.joinpath(*parts[:DEEPEST])
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
    """Copy a file to a path where there is none yet; return how many bytes it has."""
    size = 0
    with open(target, "xb", opener=_privately) as writer:
        for chunk in _chunks(file, most):
            writer.write(chunk)
            size += len(chunk)
    return size


def _chunks(file: Place, most: int) -> Iterator[bytes]:
    """Yield a file's bytes, at most so many.

    Raises:
        SubmissionError: there are more, or they can't be read.
    """
    with file.open() as reader:
        while chunk := _read(file, reader, CHUNK_BYTES):
            most -= len(chunk)
            if most < 0:
                raise SubmissionError(f"too large, more than {MAX_BYTES} bytes")
            yield chunk


def _read(file: Place, reader: IO[bytes], most: int) -> bytes:
    """Read at most so many bytes; a zip's may turn out to be broken at any of them."""
    try:
        return reader.read(most)
    except (OSError, EOFError, ValueError, RuntimeError, BadZipFile, zlib.error) as error:
        raise SubmissionError(f"{file.name!a} can't be read: {error!s:.200}") from None


def _privately(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
