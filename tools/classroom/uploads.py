"""The files of one submission: checks and hashes them, and opens them for the grader."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from grading.errors import SubmissionError
from grading.staging import Provided, Staged, stage
from grading.upload import (
    CHUNK_BYTES,
    HEAD_BYTES,
    MAX_FILES,
    TAR,
    Entry,
    Folder,
    archive_suffix,
    folder_of,
    is_archive,
    is_supported,
    is_tar,
    open_archive,
    refusal,
    stored,
    unfold_backslashes,
)

from .places import opened, walk

# The grader has its own limits for the files that it takes. This one limits what is hashed; a
# folder that contains a whole Python environment is still graded.
MAX_BYTES = 1 << 30
ZIP, EMPTY_ZIP = b"PK\3\4", b"PK\5\6"  # the first bytes of a zip
ALIAS = "the upload"  # what messages call it, as they must not repeat a student's names
NOTHING = Provided()
NAME = "upload"  # the same for an archive, with an ending


@dataclass(frozen=True)
class Upload:
    """The files of one submission.

    Attributes:
        parts: (name, entry) of the files that were handed in, or of one folder, whose name is
            empty because only its contents count.
    """

    parts: tuple[tuple[str, Entry], ...]

    def files(self) -> Iterator[tuple[str, Entry]]:
        """Yield everything except folders, with its relative path.

        Raises:
            SubmissionError: if there are too many files, or they can't be listed.
        """
        count = 0
        for name, entry in self.parts:
            inner = walk(entry) if entry.kind == "folder" else iter([("", entry)])
            for way, file in inner:
                count += 1
                if count > MAX_FILES:
                    raise SubmissionError(
                        f"more than {MAX_FILES} files; is this really a submission?"
                    )
                yield "/".join(filter(None, (name, way))) or file.name, file

    def archive(self) -> Entry | None:
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
            with closing(opened(packed)) as reader:
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

    def stage(
        self, target: Path, provided: Provided = NOTHING, required: tuple[str, ...] = ()
    ) -> Staged:
        """Copy what the grader takes to the empty folder `target`; see `grading.staging.stage`."""
        with self.tree(target.parent) as top:
            return stage(top, target, provided, required)

    @contextmanager
    def tree(self, work: Path) -> Iterator[Folder]:
        """Open the files as one tree for the grader, which shows nobody's name.

        Args:
            work: a folder where an archive may be stored, in a file without a name.

        Raises:
            SubmissionError: if there are too many files, or they can't be read.
        """
        if sum(file.size for _, file in self.files()) > MAX_BYTES:
            raise SubmissionError(f"too large: more than {MAX_BYTES} bytes")
        packed = self.archive()
        if packed is None:
            yield unfold_backslashes(Folder(self._folder(), Path(NAME), ALIAS))
            return
        path = Path(f"{NAME}{archive_suffix(packed.name)}")
        with closing(opened(packed)) as reader, stored(reader, work) as file:
            with open_archive(file, path, ALIAS, work) as top:
                yield top

    def _folder(self) -> Entry:
        for name, entry in self.parts:
            if not name and entry.kind == "folder":
                return entry
        return folder_of({name or entry.name: entry for name, entry in self.parts})


def _chunks(file: Entry, most: int) -> Iterator[bytes]:
    """Yield a file's bytes, in chunks.

    Raises:
        SubmissionError: if there are more than `most`, or they can't be read.
    """
    with closing(opened(file)) as reader:
        while chunk := _read(file, reader, CHUNK_BYTES):
            most -= len(chunk)
            if most < 0:
                raise SubmissionError(f"too large: more than {MAX_BYTES} bytes")
            yield chunk


def _read(file: Entry, reader: IO[bytes], most: int) -> bytes:
    """Read at most `most` bytes."""
    try:
        return reader.read(most)
    except OSError as error:
        raise refusal(error, f"{file.name!a} can't be read") from None
