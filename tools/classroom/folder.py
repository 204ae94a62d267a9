"""A class's folder DIR: the roll, and one record for each submission and release.

    DIR/                            mode 0700, every file 0600
        classroom.json              marks the folder as a class's
        roll.json                   who handed in what, with names; pages and grades have some, too
        sources.json                where the files of submissions are
        records/SUBMISSION/         everything that belongs to one submission
            RELEASE.json            its result from that release
        similar/                    pages of `similar`: code of pairs, without names
        lock                        held while a command changes something

Each file is written completely or not at all, so however a command ends, the next one can continue.
A folder inside the repository is refused, because students' work must not be committed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from autograder.isolation.leftovers import remove_tree
from grading import paths
from grading.errors import UsageError
from grading.results import replacing

from .submissions import ID, MARKER, Attempts, RollEntry, Student

ROLL, RECORDS, LOCK, SOURCES = "roll.json", "records", "lock", "sources.json"
FORMAT = 1
RELEASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
UNFINISHED = re.compile(r".+\.json\.[a-z0-9_]{8}")  # what `replacing` leaves if it is killed


@dataclass(frozen=True)
class Record:
    """Where a submission's record from a release is."""

    submission_id: str
    release: str
    path: Path


@dataclass(frozen=True)
class Source:
    """Where the files of submissions are: the SOURCE that `grade` was given."""

    path: Path
    attempts: Attempts


class ClassFolder:
    """A class's folder, known to be private. See `create` and `existing`."""

    def __init__(self, path: Path, tightened: int) -> None:
        """Use `create` or `existing` instead.

        Args:
            tightened: how many files and folders others could read until now.
        """
        self.path = path
        self.tightened = tightened

    @classmethod
    def create(cls, path: Path) -> ClassFolder:
        """Return the folder; create it if it doesn't exist or is empty.

        Raises:
            UsageError: if it is in the repository, contains something else, or can't be created.
        """
        path = path.resolve()
        refuse_project(path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (path / MARKER).is_file():
                if any(path.iterdir()):
                    raise UsageError(
                        f"{path} contains something else; expected a new folder or a class's folder"
                    )
                path.chmod(0o700)
                write_json(path / MARKER, {"format": FORMAT})
            (path / RECORDS).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{path} can't be a class's folder: {error.strerror}") from None
        return cls.existing(path)

    @classmethod
    def existing(cls, path: Path) -> ClassFolder:
        """Return an existing folder, and make sure that only its owner can read it.

        Raises:
            UsageError: if it isn't a class's folder, is in the repository, or belongs to somebody
                else.
        """
        path = path.resolve()
        refuse_project(path)
        marker = read_json(path / MARKER) if (path / MARKER).is_file() else None
        if not isinstance(marker, dict):
            raise UsageError(f"{path} is not a class's folder: it has no {MARKER}")
        if marker.get("format") != FORMAT:
            raise UsageError(
                f"{path} has format {marker.get('format')!r:.20}, expected {FORMAT}; another "
                "version of this command wrote it"
            )
        try:
            return cls(path, _tighten(path))
        except OSError as error:
            raise UsageError(
                f"{path} can't be made private (chmod 700): {error.strerror}; is it yours?"
            ) from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from changing anything; remove what killed commands left.

        The kernel releases the lock when the process ends, however it ends.

        Raises:
            UsageError: if another command holds the lock.
        """
        handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another command is working in {self.path}; wait until it has ended"
                ) from None
            for folder in (self.path, *_folders(self.path / RECORDS)):
                for path in folder.iterdir():
                    if UNFINISHED.fullmatch(path.name):
                        path.unlink()
            yield
        finally:
            os.close(handle)

    def roll(self) -> dict[str, RollEntry]:
        """Return who handed in what, by submission.

        Raises:
            UsageError: if the file can't be read.
        """
        path = self.path / ROLL
        if not path.is_file():
            return {}
        try:
            entries = read_json(path)["submissions"]
            return {key: _entry(key, fields) for key, fields in entries.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"{path} is damaged: {error!r:.200}") from None

    def enroll(self, entries: Iterable[RollEntry]) -> None:
        """Add submissions to the roll; other entries are kept."""
        self.write_roll(self.roll() | {entry.submission_id: entry for entry in entries})

    def write_roll(self, roll: dict[str, RollEntry]) -> None:
        """Replace the roll."""
        entries = {key: _fields(entry) for key, entry in sorted(roll.items())}
        write_json(self.path / ROLL, {"format": FORMAT, "submissions": entries})

    def sources(self) -> list[Source]:
        """Return the sources that were graded into this folder, the latest first."""
        path = self.path / SOURCES
        kept = read_json(path)["sources"] if path.is_file() else []
        return [Source(Path(fields["path"]), fields["attempts"]) for fields in kept]

    def remember(self, source: Source) -> None:
        """Record where a source is, for commands that need its files again."""
        absolute = Source(source.path.resolve(), source.attempts)
        others = [one for one in self.sources() if one.path != absolute.path]
        fields = [{"path": str(s.path), "attempts": s.attempts} for s in (absolute, *others)]
        write_json(self.path / SOURCES, {"format": FORMAT, "sources": fields})

    def submission(self, submission_id: str) -> Path:
        """Return the folder for everything that belongs to a submission; it may not exist yet."""
        assert ID.fullmatch(submission_id), submission_id
        return self.path / RECORDS / submission_id

    def write_record(self, submission_id: str, release: str, record: dict[str, Any]) -> None:
        """Write a submission's record; it replaces an earlier one from the same release."""
        assert RELEASE.fullmatch(release), release
        folder = self.submission(submission_id)
        folder.mkdir(mode=0o700, exist_ok=True)
        write_json(folder / f"{release}.json", record)

    def read_record(self, submission_id: str, release: str) -> dict[str, Any] | None:
        """Return a record, or None if there is none.

        Raises:
            UsageError: if it can't be read.
        """
        path = self.submission(submission_id) / f"{release}.json"
        return read_json(path) if path.is_file() else None

    def records(self, release: str | None = None) -> list[Record]:
        """Return where the records are, of one release or of all, sorted by submission."""
        return [
            Record(folder.name, path.stem, path)
            for folder in _folders(self.path / RECORDS)
            for path in sorted(folder.glob("*.json"))
            if release in (None, path.stem)
        ]

    def records_of(self, release: str) -> list[Record]:
        """Return where the records of a release are, sorted by submission.

        Raises:
            UsageError: if it has none.
        """
        found = self.records(release)
        if not found:
            known = ", ".join(sorted({record.release for record in self.records()})) or "none"
            raise UsageError(f"{self.path} has no records of release {release}; it has {known}")
        return found

    def remove(self, submission_id: str) -> int:
        """Remove a submission's files, but not its roll entry; return how many files."""
        folder = self.submission(submission_id)
        files = sum(1 for path in folder.rglob("*") if not path.is_dir())
        remove_tree(folder)
        return files


def write_json(path: Path, value: Any) -> None:
    """Write plain data to a file that only its owner may read, completely or not at all."""
    text = json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False)
    with replacing(path) as writer:
        # A name may contain half a surrogate pair, which isn't valid UTF-8.
        writer.write(text.encode("utf-8", "backslashreplace"))
        writer.flush()
        os.fsync(writer.fileno())


def read_json(path: Path) -> Any:
    """Read plain data.

    Raises:
        UsageError: if it can't be read.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} can't be read: {type(error).__name__}: {error!s:.200}") from None


def refuse_project(path: Path) -> None:
    """Refuse a folder inside the repository, in this copy or another."""
    for folder in (path, *path.parents):
        is_copy = (folder / "assignment.toml").is_file() and (folder / "tools").is_dir()
        if folder == paths.ROOT or is_copy:
            raise UsageError(
                f"{path} is inside the repository {folder}, where students' work might be "
                "committed; choose a folder outside"
            )


def _tighten(root: Path) -> int:
    """Make everything private; return how many files and folders others could read."""
    changed = 0
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            mode = path.lstat().st_mode
            if mode & 0o077 and not path.is_symlink():
                path.chmod(mode & 0o700)
                changed += 1
    return changed


def _folders(path: Path) -> list[Path]:
    return sorted(inner for inner in path.iterdir() if inner.is_dir()) if path.is_dir() else []


def _fields(entry: RollEntry) -> dict[str, Any]:
    created = entry.created_at
    return {
        "students": [asdict(student) for student in entry.students],
        "created_at": created.isoformat() if created else None,
        "late": entry.late,
        "attempt": entry.attempt,
        "score": entry.score,
    }


def _entry(submission_id: str, fields: dict[str, Any]) -> RollEntry:
    created = fields["created_at"]
    return RollEntry(
        submission_id,
        tuple(Student(**student) for student in fields["students"]),
        datetime.fromisoformat(created) if created else None,
        fields["late"],
        fields["attempt"],
        fields["score"],
    )


def written_at(path: Path) -> datetime:
    """Return when a file was written."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
