"""What a class handed in: students, submissions and the roll of both."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from .uploads import Upload

# An id is a file's name, a task's key and a word of the log: no character that means something.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
MARKER = "classroom.json"  # stands in every folder that `folder.py` keeps
Attempts = Literal["latest", "best", "all"]


@dataclass(frozen=True)
class Student:
    """Who handed something in.

    Attributes:
        key: tells this student from all others of the class, two of one name included: the e-mail
            address, else the student ID, else what the platform has in its place.
        name: as the platform gives it; empty where it gives none.
        sid: the university's ID of the student, as text: leading zeros count.
    """

    key: str
    name: str
    sid: str | None = None
    email: str | None = None


@dataclass(frozen=True)
class RollEntry:
    """What is known of a submission, besides its files.

    Attributes:
        submission_id: matches `ID`; holds no name. It is the same each time that the same thing is
            read.
        students: for whom it counts: everybody in a group.
        created_at: when it was handed in, where the platform tells; without a zone where it has
            none.
        late: whether the platform marks it as late. Gradescope's exports mark none.
        attempt: 1 for the student's first attempt that is known of.
        score: the points that the platform recorded, if any.
    """

    submission_id: str
    students: tuple[Student, ...]
    created_at: datetime | None = None
    late: bool = False
    attempt: int = 1
    score: float | None = None

    @property
    def moment(self) -> float:
        """Return the time in seconds since 1970, for comparisons; unknown times come first.

        A time without a zone is taken for UTC, as most readers of YAML leave it.
        """
        if self.created_at is None:
            return float("-inf")
        return utc(self.created_at).timestamp()


@dataclass(frozen=True)
class Submission(RollEntry):
    """A submission with its files, which `unpack` lays out for the grader."""

    path: Upload = Upload(())

    def unpack(self, into: Path) -> Path:
        """Lay the files out in an empty folder; return what `grader.py --submission` takes.

        Nothing in `into` has a name that tells whose it is.

        Raises:
            SubmissionError: they can't be laid out; one line says why.
        """
        return self.path.unpack(into)

    def digest(self) -> str:
        """Return a hash of all files: another one means that something else was handed in.

        Raises:
            SubmissionError: they can't be read.
        """
        return self.path.digest()


@dataclass(frozen=True)
class ClassRoll:
    """What a source holds.

    Attributes:
        kind: the kind of source, in words.
        notes: a line for each thing that was skipped or is odd. They may name students: show them,
            never log them.
    """

    kind: str
    submissions: tuple[Submission, ...]
    notes: tuple[str, ...] = ()


def utc(time: datetime) -> datetime:
    """Return a time with a zone: its own, else UTC."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def same(text: str) -> str:
    """Return a form of a name or address in which spellings of the same are equal."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def id_of(prefix: str, text: str) -> str:
    """Return an id for something that only has a name of its own: a hash tells nobody's name."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}_{digest[:16]}"
