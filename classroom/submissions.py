"""Students, what they handed in, and records of how it was graded."""

from __future__ import annotations

import hashlib
import io
import re
import stat
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

from grading import upload as reading
from grading.cases import in_scope
from grading.errors import SubmissionError
from grading.staging import MAX_OUTPUT_BYTES
from grading.upload import CHUNK_BYTES, Entry, Folder

# An id is used as a file name, in keys of tasks and in logs, so it has no special characters.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
# The grader has its own limits for the files that it takes; this one limits what is sent to it.
MAX_BYTES = 1 << 30
ZIP, EMPTY_ZIP = b"PK\3\4", b"PK\5\6"  # the first bytes of a zip
DATE = (2027, 1, 1, 0, 0, 0)  # of all files that are packed, so that equal uploads are equal
ALIAS = "the upload"  # what messages call it, as they must not repeat a student's names
MODES = {
    "file": stat.S_IFREG | 0o644,
    "link": stat.S_IFLNK | 0o777,
    "other": stat.S_IFIFO | 0o644,
}
HALF_PAIR = re.compile("[\ud800-\udfff]")  # in a file's name that isn't text


@dataclass(frozen=True)
class Student:
    """A student, as one platform knows them."""

    # Unique in a class: the e-mail address, else the student ID, else what the platform uses.
    key: str
    name: str  # "" if the platform has none
    email: str | None = None
    sid: str | None = None  # the student ID, as text, because leading zeros matter
    canvas_id: str | None = None
    moodle_id: str | None = None
    login: str | None = None


@dataclass(frozen=True)
class Upload:
    """The files of one submission, read when they are needed."""

    entry: Entry = reading.folder_of({})  # what the grader reads, without the source's own names
    location: str = ""  # the names of its files or its folder in the source

    @classmethod
    def of(cls, entries: dict[str, Entry]) -> Upload:
        """Return the files with these names, or what is in the only folder."""
        location = ", ".join(entry.name for entry in entries.values())
        folders = [entry for entry in entries.values() if entry.kind == "folder"]
        return cls(folders[0] if folders else reading.folder_of({**entries}), location)

    def files(self) -> Iterator[tuple[Folder, str]]:
        """Yield everything in which the grader searches, except folders, by folder and name."""
        top = Folder(self.entry, Path("upload"), ALIAS)
        if top.entries:  # raises an error if they can't be listed, unlike `walk`
            for folder, names in top.walk():
                yield from ((folder, name) for name in names if not reading.is_litter(name))

    def archive(self) -> tuple[Folder, str] | None:
        """Return the archive if there is nothing else: some platforms don't unpack them."""
        files = list(islice(self.files(), 2))
        if len(files) != 1 or not reading.is_archive(files[0][1]):
            return None
        folder, name = files[0]
        return files[0] if folder.entries[name].kind == "file" else None

    def fault(self) -> str:
        """Return what is obviously wrong, in words; "" if nothing is."""
        try:
            if next(self.files(), None) is None:
                return "it contains no files"
            packed = self.archive()
            if packed is None:
                return ""
            name, head = packed[1], next(_chunks(*packed), b"")[: reading.HEAD_BYTES]
        except SubmissionError as error:
            return str(error)
        if head.startswith(EMPTY_ZIP):
            return f"{name!a} is an empty zip"
        if head.startswith(ZIP) or reading.is_tar(head):
            return ""
        if reading.is_supported(name, head):
            kind = "tar" if reading.archive_suffix(name) in reading.TAR else "zip"
            return f"{name!a} is not a {kind} file"
        return f"{name!a} can't be opened: ask for a zip"

    def pack(self) -> bytes:
        """Return what is sent to a grader: the archive that was handed in, or a zip of the files.

        The grader finds in it what it would find in the upload. What it never searches, such as a
        whole environment, is left out; a file that is too large for it is sent as zeros.
        Records have the digest of these bytes: packed otherwise, all files would seem to have
        changed since they were graded.

        Raises:
            SubmissionError: they can't be read, are too large, or one is a hard link to others'.
        """
        packed = self.archive()
        if packed is not None:
            return b"".join(_chunks(*packed))
        buffer, remaining = io.BytesIO(), MAX_BYTES
        with zipfile.ZipFile(buffer, "w") as writer:
            for folder, name in self.files():
                entry = folder.entries[name]
                info = zipfile.ZipInfo("/".join((*folder.parts, name)), DATE)
                info.filename = HALF_PAIR.sub("\x1a", info.filename)  # the grader refuses it, too
                info.external_attr = MODES[entry.kind] << 16
                content: Iterable[bytes] = ()
                if entry.kind == "link":
                    content = (entry.target().encode("utf-8", "surrogateescape"),)
                elif entry.kind == "file":
                    content = _chunks(folder, name, remaining)
                    if entry.size > MAX_OUTPUT_BYTES and not reading.is_archive(name):
                        info.compress_type = zipfile.ZIP_DEFLATED
                        content = _zeros(min(entry.size, MAX_BYTES))
                with writer.open(info, "w") as file:
                    file.writelines(content)
                if not info.compress_type:
                    remaining -= info.file_size
        return buffer.getvalue()

    def tree(self) -> AbstractContextManager[Folder]:
        """Open the files, or those of the archive, as the tree that `staging.stage` takes.

        Raises:
            SubmissionError: they can't be read.
        """
        return reading.open_archive(io.BytesIO(self.pack()), Path("upload"), ALIAS)


@dataclass(frozen=True)
class Submission:
    """What was handed in once, and by whom."""

    id: str  # matches `ID`, contains no name, and is the same whenever the submission is read
    students: tuple[Student, ...]  # those for whom it counts: everybody in a group
    submitted: datetime | None = None  # if the platform says so
    late: bool = False  # whether the platform marks it as late; Gradescope has no such mark
    attempt: int = 1  # 1 for the student's first known attempt
    number: int = 0  # the platform's number of the upload, which grows; 0 if there is none
    upload: Upload = Upload()
    note: str = ""  # what is obviously wrong with the upload; "" if nothing is

    @property
    def moment(self) -> float:
        """The time in seconds since 1970, for comparisons; unknown times come first."""
        return self.submitted.timestamp() if self.submitted else float("-inf")


def same(text: str) -> str:
    """Return a normal form of a name or address, for comparisons."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def id_of(prefix: str, text: str) -> str:
    """Return an id with a hash of a text, which doesn't reveal it."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}_{digest[:16]}"


def _zeros(size: int) -> Iterator[bytes]:
    for start in range(0, size, CHUNK_BYTES):
        yield bytes(min(CHUNK_BYTES, size - start))


def _chunks(folder: Folder, name: str, most: int = MAX_BYTES) -> Iterator[bytes]:
    """Yield the bytes of a file; if there are more than `most`, raise a SubmissionError."""
    try:
        with closing(folder.file(name)) as reader:
            while chunk := reader.read(CHUNK_BYTES):
                most -= len(chunk)
                if most < 0:
                    raise SubmissionError(f"too large: more than {MAX_BYTES} bytes")
                yield chunk
    except OSError as error:
        raise reading.refusal(error, f"{name!a} can't be read") from None
    except ValueError as error:
        raise SubmissionError(f"{name!a}: {error}") from None


def children(folder: Entry) -> list[Entry]:
    """List what a folder contains by name, except litter; SubmissionError: it can't be listed."""
    try:
        entries = folder.entries()
    except OSError as error:
        raise reading.refusal(error, f"{folder.name!a} can't be listed") from None
    return [entries[name] for name in sorted(entries) if not reading.is_litter(name)]


# Records ------------------------------------------------------------------------------------------

PREVIEW = "preview"


@dataclass(frozen=True)
class Record:
    """How a submission was graded, once: a row of the table `records`, see schema.sql."""

    submission: str
    release: str
    kind: str
    outcome: str
    seed: str
    upload: str
    results: str | None
    reason: str = ""  # why there was nothing to grade, or no result
    took_s: float = 0.0
    processor: str = ""
    at: str = ""  # when, as `times.stored` writes it; "" means now


def points(number: float | str) -> str:
    """Return points as they are stored: exact hundredths."""
    return f"{Decimal(str(number)):.2f}"


def question_of(test_id: str) -> str:
    """Return the question of a test: `1e` of `1e-0-basic`."""
    return test_id.partition("-")[0]


def test_rows(record: int, tests: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table `tests` that are derived from a record's results."""
    worth = {question_of(test["test_id"]) for test in tests if test["max_score"]}
    for test in tests:
        question = question_of(test["test_id"])
        yield (
            *(record, test["test_id"], question, test["kind"], test["name"]),
            *(test["outcome"], test.get("cause", "")),
            *(points(test["score"]), points(test["max_score"])),
            *(question not in worth, bool(test.get("is_extra_credit"))),
            *(test.get("wall_s", 0.0), test.get("cpu_s", 0.0), test.get("peak_bytes", 0)),
        )


def is_named(test_id: str, words: Iterable[str]) -> bool:
    """Return whether one of these words, such as `1e` or `1e-0-basic`, means a test."""
    return any(in_scope(word, test_id) for word in words)


def with_tests(results: dict[str, Any], tests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return results with these tests, and with the sums of their points.

    Neither extra credit nor tests that weren't asked for add to the maximum.
    """
    paid = [test for test in tests if not test.get("is_extra_credit")]
    if asked := results.get("asked"):
        paid = [test for test in paid if is_named(test["test_id"], asked)]
    return results | {
        "tests": tests,
        "score": float(sum(Decimal(points(test["score"])) for test in tests)),
        "max_score": float(sum(Decimal(points(test["max_score"])) for test in paid)),
    }
