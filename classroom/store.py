"""A class's folder DIR, and everything that counts about the class, in one SQLite file.

    DIR/            mode 0700, every file 0600; never inside the repository
        class.db    students, submissions, records, decisions and history: see schema.sql
        lock        held while a command changes something
        report/ similar/ regrades/ grades/    what commands write, and can write again

    with Store.existing(path, writes=True) as store, store.transaction():
        store.db.execute("DELETE FROM submissions WHERE id = ?", (submission,))

Whatever ends a command, the next one sees each transaction completely or not at all.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from grading import paths
from grading.errors import GradingError, UsageError

from . import old_folder, times
from .submissions import PREVIEW, Record, Student, Submission, points, test_rows

DATABASE, LOCK = "class.db", "lock"
FORMAT = 2  # PRAGMA user_version
SCHEMA = Path(__file__).with_name("schema.sql")
BUSY_S = 5.0


class Store:
    """A class's folder, known to be private; see `create` and `existing`.

    Attributes:
        path: the folder.
        db: the database, for what has no method here; use `rows` to read.
    """

    path: Path
    db: sqlite3.Connection

    def __init__(self, path: Path, writes: bool) -> None:
        """Open a folder that exists; use `create` or `existing` instead."""
        self.path = path
        handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        self._lock = os.fdopen(handle, "rb")
        try:
            is_old = (path / old_folder.MARKER).is_file()
            if writes or is_old:
                self._hold_lock()
            _make_private(path)
            self._connect()
            if is_old:
                self._import()
            if not writes:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
        except BaseException:
            self._lock.close()
            raise

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open a class's folder for writing; make it if it doesn't exist or is empty.

        Raises:
            UsageError: it is in the repository, contains something else, can't be made, or another
                command is changing it.
        """
        path = path.resolve()
        refuse_project(path)
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_class(path):
                if {inner.name for inner in path.iterdir()} - {LOCK}:
                    raise UsageError(
                        f"{path} contains something else; expected a new folder or a class's folder"
                    )
                path.chmod(0o700)
            return cls(path, writes=True)
        except OSError as error:
            raise UsageError(f"{path} can't be a class's folder: {error.strerror}") from None

    @classmethod
    def existing(cls, path: Path, writes: bool = False) -> Store:
        """Open a class's folder, and make sure that only its owner can read it.

        Args:
            writes: keep other commands from changing anything until it is closed.

        Raises:
            UsageError: it isn't a class's folder, is in the repository, belongs to somebody else,
                or another command is changing it.
        """
        path = path.resolve()
        refuse_project(path)
        if not _is_class(path):
            raise UsageError(f"{path} is not a class's folder: it has no {DATABASE}")
        try:
            return cls(path, writes)
        except OSError as error:
            raise UsageError(f"{path} can't be opened: {error.strerror}; is it yours?") from None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database; another command may then change it."""
        self.db.close()
        self._lock.close()

    # What is in it ---------------------------------------------------------------------------

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return all rows of a query; one that isn't read to its end would keep others waiting."""
        with self._errors():
            return self.db.execute(sql, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all changes in the block, or none of them. A transaction inside another joins it.

        Raises:
            UsageError: another program is writing to the database.
            GradingError: it can't be written.
        """
        if self.db.in_transaction:
            yield
            return
        with self._errors():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk may have ended the transaction
                    self.db.execute("ROLLBACK")
                raise

    def setting(self, key: str) -> str | None:
        """Return what is known about the class: `edition`, `release`."""
        found = self.rows("SELECT value FROM class WHERE key = ?", key)
        return found[0]["value"] if found else None

    def set(self, key: str, value: str) -> None:
        """Change a setting."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO class VALUES (?, ?)", (key, value))

    def add_submissions(self, source: Path, kind: str, submissions: Iterable[Submission]) -> None:
        """Add what was read from a source to the roll; what is known already is brought up to date.

        Args:
            kind: the kind of source, in words.
        """
        with self.transaction():
            ((number,),) = self.db.execute(
                "INSERT INTO sources (path, kind, read_at) VALUES (?, ?, ?) ON CONFLICT (path) "
                "DO UPDATE SET kind = excluded.kind, read_at = excluded.read_at RETURNING id",
                (str(source.resolve()), kind, times.now()),
            )
            for submission in submissions:
                self._add_submission(submission, number)
            self.choose()

    def choose(self) -> None:
        """Mark each student's latest submission, the one that counts; unknown times are early."""
        self.db.execute(
            "UPDATE authors SET latest = submission = (SELECT s.id FROM authors a "
            "JOIN submissions s ON s.id = a.submission WHERE a.student = authors.student "
            "ORDER BY s.submitted DESC, s.number DESC, s.attempt DESC, s.id DESC LIMIT 1)"
        )

    def _add_submission(self, submission: Submission, source: int) -> None:
        submitted = times.stored(submission.submitted) if submission.submitted else None
        self.db.execute(
            "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "source = excluded.source, location = excluded.location, late = excluded.late, "
            "submitted = coalesce(excluded.submitted, submitted), attempt = excluded.attempt, "
            "note = excluded.note",
            (
                *(submission.id, source, _text(submission.upload.location), submitted),
                *(submission.late, submission.attempt, submission.number, submission.note),
            ),
        )
        self.db.execute("DELETE FROM authors WHERE submission = ?", (submission.id,))
        for student in submission.students:
            self.db.execute(
                "INSERT INTO authors (submission, student) VALUES (?, ?)",
                (submission.id, self._add_student(student)),
            )

    def _add_student(self, student: Student) -> int:
        values = [value and _text(value) for value in astuple(student)]
        ((number,),) = self.db.execute(
            "INSERT INTO students (key, name, email, sid, canvas_id, moodle_id, login) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
            "name = iif(excluded.name = '', name, excluded.name), "
            + ", ".join(f"{c} = coalesce(excluded.{c}, {c})" for c in IDS)
            + " RETURNING id",
            values,
        )
        return int(number)

    def add_record(self, record: Record) -> int:
        """Keep a record, with its tests; return its id.

        It replaces an earlier one of the same submission, release and kind, and then has its id.
        """
        results = None if record.results is None else json.loads(record.results)
        scores = [results and points(results[key]) for key in ("score", "max_score")]
        with self.transaction():
            ((number,),) = self.db.execute(
                "INSERT INTO records (submission, release, kind, outcome, score, max_score, "
                "reason, seed, upload, took_s, processor, at, results) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                + ", ".join(f"{column} = excluded.{column}" for column in REPLACED)
                + " RETURNING id",
                (
                    *(record.submission, record.release, record.kind, record.outcome, *scores),
                    *(_text(record.reason), record.seed, record.upload, record.took_s),
                    *(record.processor, record.at or times.now(), record.results),
                ),
            )
            self.db.execute("DELETE FROM tests WHERE record = ?", (number,))
            self.db.executemany(
                f"INSERT INTO tests VALUES ({', '.join('?' * 14)})",
                test_rows(number, results["tests"] if results else []),
            )
        return int(number)

    def count(self, record: int) -> None:
        """Let a record be the one that counts for its submission, in place of any other."""
        with self.transaction():
            changed = self.db.execute(
                "INSERT OR REPLACE INTO counted SELECT submission, id FROM records "
                "WHERE id = ? AND kind != ?",
                (record, PREVIEW),
            )
            assert changed.rowcount == 1, f"record {record} is a preview, or doesn't exist"

    def record(self, submission: str, release: str, kind: str) -> sqlite3.Row | None:
        """Return a row of the table `records`, or None."""
        found = self.rows(
            "SELECT * FROM records WHERE submission = ? AND release = ? AND kind = ?",
            *(submission, release, kind),
        )
        return found[0] if found else None

    def counted(self, submission: str) -> sqlite3.Row | None:
        """Return the record that counts for a submission, a row of the table `records`, or None."""
        found = self.rows(
            "SELECT records.* FROM records JOIN counted ON counted.record = records.id "
            "WHERE counted.submission = ?",
            submission,
        )
        return found[0] if found else None

    def names(self, submission: str) -> str:
        """Return the names of a submission's students."""
        students = self.rows(
            "SELECT students.* FROM students JOIN authors ON authors.student = students.id "
            "WHERE authors.submission = ? ORDER BY students.id",
            submission,
        )
        return ", ".join(student["name"] or student["key"] for student in students)

    def note(self, what: str, release: str = "", reason: str = "", author: str = "") -> None:
        """Add a line to the class's history."""
        with self.transaction():
            self.db.execute(
                "INSERT INTO history (at, what, release, reason, author) VALUES (?, ?, ?, ?, ?)",
                (times.now(), what, release, reason, author),
            )

    def compact(self) -> None:
        """Rewrite the file without the space of what was deleted."""
        with self._errors():
            self.db.execute("VACUUM")

    # How it is opened ------------------------------------------------------------------------

    def _hold_lock(self) -> None:
        """Take the lock, which the kernel releases when this process ends, however it ends."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another command is working in {self.path}; wait until it has ended"
            ) from None

    def _connect(self) -> None:
        path = self.path / DATABASE
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        with self._errors():
            self.db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            self.db.row_factory = sqlite3.Row
            for pragma in PRAGMAS:
                self.db.execute(f"PRAGMA {pragma}").fetchall()
        version = self.rows("PRAGMA user_version")[0][0]
        if version not in (0, FORMAT):
            raise UsageError(
                f"{path} has format {version}, expected {FORMAT}; another version of this command "
                "wrote it"
            )
        if version == 0:
            if self.rows("SELECT * FROM sqlite_schema"):
                raise UsageError(f"{path} is not a class's database")
            with self._errors():
                schema = SCHEMA.read_text(encoding="utf-8")
                self.db.executescript(f"BEGIN IMMEDIATE; {schema} COMMIT;")

    def _import(self) -> None:
        """Take over what is in a folder of the form before class.db, and move its files away."""
        if self.setting("imported") is None:  # otherwise, only moving them was interrupted
            with self.transaction():
                lines = old_folder.fill(self, self.path)
                self.set("imported", times.now())
            print("\n".join(lines), file=sys.stderr)
        before = self.path / old_folder.BEFORE
        before.mkdir(mode=0o700, exist_ok=True)
        kept = {DATABASE, LOCK, old_folder.BEFORE, old_folder.MARKER}
        names = {path.name for path in self.path.iterdir()} - kept
        for name in (*names, old_folder.MARKER):  # last, so that an interruption is noticed
            (self.path / name).rename(before / name)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what may happen to any database into one line.

        Raises:
            UsageError: another program is writing to it, or it is damaged.
            GradingError: it can't be written.
        """
        path = self.path / DATABASE
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its details
            if code == sqlite3.SQLITE_BUSY:
                raise UsageError(f"another program is writing to {path}: try again") from None
            if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise UsageError(f"{path} is damaged: {error}") from None
            if code in UNWRITABLE:
                raise GradingError(f"{path} can't be written: {error}") from None
            raise


PRAGMAS = (
    "journal_mode = DELETE",  # the only one that network folders allow
    "foreign_keys = ON",
    "secure_delete = ON",  # overwrites what is deleted
    "temp_store = MEMORY",  # VACUUM would copy everything to the temporary folder
)
UNWRITABLE = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    sqlite3.SQLITE_PROTOCOL,  # of locks, on some network folders
)
IDS = ("email", "sid", "canvas_id", "moodle_id", "login")
REPLACED = (
    *("outcome", "score", "max_score", "reason", "seed", "upload", "took_s", "processor", "at"),
    "results",
)


def _text(text: str) -> str:
    """Return a text that can be stored; a name may contain half a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def refuse_project(path: Path) -> None:
    """Refuse a folder inside the repository, in this copy or another.

    Raises:
        UsageError: it is.
    """
    for folder in (path, *path.parents):
        is_copy = (folder / "assignment.toml").is_file() and (folder / "tools").is_dir()
        if folder == paths.ROOT or is_copy:
            raise UsageError(
                f"{path} is inside the repository {folder}, where students' work might be "
                "committed; choose a folder outside"
            )


def _is_class(path: Path) -> bool:
    return any((path / name).is_file() for name in (DATABASE, old_folder.MARKER))


def _make_private(root: Path) -> None:
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            with suppress(FileNotFoundError):  # another command's journal
                mode = path.lstat().st_mode
                if mode & 0o077 and not path.is_symlink():
                    path.chmod(mode & 0o700)
