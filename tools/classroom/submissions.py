"""Students, submissions, and the roll of a class."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from .uploads import Upload

# An id is used as a file name, in keys of tasks and in logs, so it has no special characters.
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
MARKER = "classroom.json"  # is in every class's folder (`folder.py`)
Attempts = Literal["latest", "best", "all"]


@dataclass(frozen=True)
class Student:
    """A student who handed something in.

    Attributes:
        key: identifies the student in the class, even if two have the same name: the e-mail
            address, else the student ID, else what the platform uses instead.
        name: the name on the platform; empty if there is none.
        sid: the university's student ID, as text, because leading zeros matter.
    """

    key: str
    name: str
    sid: str | None = None
    email: str | None = None


@dataclass(frozen=True)
class RollEntry:
    """What is known about a submission, besides its files.

    Attributes:
        submission_id: matches `ID`, and contains no name. It is the same whenever the same
            submission is read.
        students: the students for whom it counts: everybody in a group.
        created_at: when it was handed in, if the platform says so; without a time zone if the
            platform gives none.
        late: whether the platform marks it as late. Gradescope's exports have no such mark.
        attempt: 1 for the student's first known attempt.
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

        A time without a time zone is taken as UTC.
        """
        if self.created_at is None:
            return float("-inf")
        return utc(self.created_at).timestamp()


@dataclass(frozen=True)
class Submission(RollEntry):
    """A submission with its files."""

    upload: Upload = Upload(())


@dataclass(frozen=True)
class ClassRoll:
    """What a source contains.

    Attributes:
        kind: the kind of source, in words.
        notes: a line about everything that was skipped or is unusual. Notes may name students:
            show them, but never log them.
    """

    kind: str
    submissions: tuple[Submission, ...]
    notes: tuple[str, ...] = ()


def utc(time: datetime) -> datetime:
    """Return a time with a time zone: its own, or else UTC."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def same(text: str) -> str:
    """Return a normal form of a name or address, for comparisons."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def id_of(prefix: str, text: str) -> str:
    """Return an id for something that only has a name: a hash, which doesn't reveal the name."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}_{digest[:16]}"
