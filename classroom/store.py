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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import grading
from autograder.isolation.leftovers import remove_tree
from grading.errors import GradingError, UsageError

from . import old_folder, times
from .submissions import PREVIEW, Record, Submission, points, test_rows

DATABASE, LOCK = "class.db", "lock"
FORMAT = 2  # PRAGMA user_version
SCHEMA = Path(__file__).with_name("schema.sql")
BUSY_S = 5.0


class Store:
    """A class's folder, open until `close`, or the end of a `with` block."""

    path: Path  # the folder, which only its owner can read
    db: sqlite3.Connection  # for what has no method here; use `rows` to read

    def __init__(self, path: Path, writes: bool, is_new: bool) -> None:
        """Open a folder; use `create` or `existing` instead.

        Raises:
            UsageError: it is in the repository, isn't a class's folder, belongs to somebody else,
                or another command is changing it.
        """
        self.path = path = path.resolve()
        refuse_project(path)
        try:
            if is_new:
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_old = (path / old_folder.MARKER).is_file()
            if not is_old and not (path / DATABASE).is_file():
                if not is_new:
                    raise UsageError(f"{path} is not a class's folder: it has no {DATABASE}")
                if {inner.name for inner in path.iterdir()} - {LOCK}:
                    raise UsageError(
                        f"{path} contains something else; expected a new folder or a class's folder"
                    )
            self._open(writes, is_old)
        except BlockingIOError:
            raise UsageError(
                f"another command is working in {path}; wait until it has ended"
            ) from None
        except OSError as error:
            raise UsageError(
                f"{path} can't be opened as a class's folder: {error.strerror}; is it yours?"
            ) from None

    @classmethod
    def create(cls, path: Path) -> Store:
        """Open a class's folder for writing; make it if it doesn't exist or is empty."""
        return cls(path, writes=True, is_new=True)

    @classmethod
    def existing(cls, path: Path, writes: bool = False) -> Store:
        """Open a class's folder; if it `writes`, no other command does until it is closed."""
        return cls(path, writes, is_new=False)

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, and let other commands change it."""
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

    def row(self, sql: str, *values: Any) -> sqlite3.Row | None:
        """Return the first row of a query, or None."""
        return next(iter(self.rows(sql, *values)), None)

    def setting(self, key: str) -> str | None:
        """Return a value of the table `class`, or None."""
        row = self.row("SELECT value FROM class WHERE key = ?", key)
        return row["value"] if row else None

    def set(self, key: str, value: str) -> None:
        """Set a value of the table `class`."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO class VALUES (?, ?)", (key, value))

    def add_submissions(self, source: Path, kind: str, submissions: Iterable[Submission]) -> None:
        """Add what was read from a source, or bring it up to date; `kind` is as in `Export`."""
        with self.transaction():
            place = {"path": str(source.resolve()), "kind": kind, "read_at": times.now()}
            number = self.add("sources", place)
            for submission in submissions:
                self._add_submission(submission, number)
            self.choose()

    def add_unknown(self, submissions: Iterable[Submission]) -> None:
        """Add those that aren't known yet, without a source: nothing that counts changes."""
        with self.transaction():
            known = {row["id"] for row in self.rows("SELECT id FROM submissions")}
            for submission in submissions:
                if submission.id not in known:
                    self._add_submission(submission, None)
            self.choose()

    def choose(self, submission: str | None = None) -> None:
        """Mark the submission that counts for each student, or for the authors of a submission."""
        whose = "? IS NULL OR student IN (SELECT student FROM authors WHERE submission = ?)"
        chosen = f"UPDATE authors SET latest = submission IS ({LATEST.format(WITH_RESULT)})"
        self.db.execute(f"{chosen} WHERE {whose}", (submission, submission))

    def waiting(self) -> list[str]:
        """Return the submissions that will count in place of earlier ones when they are graded."""
        later = f"SELECT DISTINCT submission FROM authors WHERE submission IS ({LATEST.format('')})"
        return [row["submission"] for row in self.rows(f"{later} AND NOT latest ORDER BY 1")]

    def _add_submission(self, one: Submission, source: int | None) -> None:
        fields = {key: getattr(one, key) for key in ("id", "late", "attempt", "number", "note")}
        fields |= {"source": source, "location": one.upload.location}
        fields["submitted"] = times.stored(one.submitted) if one.submitted else None
        self.add("submissions", fields, submitted="coalesce(excluded.submitted, submitted)")
        self.db.execute("DELETE FROM authors WHERE submission = ?", (one.id,))
        for student in one.students:  # of whom this source may know less than an earlier one
            more = "coalesce(nullif(excluded.{0}, ''), {0})" if source else "{0}"
            known = {column: more.format(column) for column in vars(student)}
            number = self.add("students", vars(student), **known)
            self.add("authors", {"submission": one.id, "student": number})

    def add(self, table: str, fields: Mapping[str, Any], **updates: str) -> int:
        """Insert a row, or update the one that has its key, as `updates` say; return its id."""
        updates = {column: f"excluded.{column}" for column in fields} | updates
        ((number,),) = self.db.execute(
            f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({', '.join('?' * len(fields))}) "
            f"ON CONFLICT DO UPDATE SET {', '.join(f'{c} = {to}' for c, to in updates.items())} "
            "RETURNING rowid",
            [_text(value) if isinstance(value, str) else value for value in fields.values()],
        )
        return int(number)

    def add_record(self, record: Record) -> int:
        """Keep a record and its tests; return its id.

        It replaces the record of the same submission, release and kind, and takes its id.
        """
        results = None if record.results is None else json.loads(record.results)
        scores = {key: results and points(results[key]) for key in ("score", "max_score")}
        with self.transaction():
            fields = vars(record) | scores | {"at": record.at or times.now()}
            number = self.add("records", fields)
            self.db.execute("DELETE FROM tests WHERE record = ?", (number,))
            self.db.executemany(
                f"INSERT INTO tests VALUES ({', '.join('?' * 14)})",
                test_rows(number, results["tests"] if results else []),
            )
        return number

    def count(self, record: int) -> None:
        """Let a record be the one that counts for its submission, in place of any other."""
        with self.transaction():
            changed = self.db.execute(
                "INSERT OR REPLACE INTO counted SELECT submission, id FROM records "
                "WHERE id = ? AND kind != ?",
                (record, PREVIEW),
            )
            assert changed.rowcount == 1, f"record {record} is a preview, or doesn't exist"
            ((submission,),) = self.rows("SELECT submission FROM counted WHERE record = ?", record)
            self.choose(submission)

    def record(self, submission: str, release: str, kind: str) -> sqlite3.Row | None:
        """Return a row of the table `records`, or None."""
        sql = "SELECT * FROM records WHERE submission = ? AND release = ? AND kind = ?"
        return self.row(sql, submission, release, kind)

    def counted(self, submission: str) -> sqlite3.Row | None:
        """Return the row of the table `records` that counts for a submission, or None."""
        sql = "SELECT r.* FROM records r JOIN counted c ON c.record = r.id WHERE c.submission = ?"
        return self.row(sql, submission)

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
            said = {"what": what, "release": release, "reason": reason, "author": author}
            self.add("history", said | {"at": times.now()})

    def compact(self) -> None:
        """Rewrite the file without the space of what was deleted."""
        with self._errors():
            self.db.execute("VACUUM")

    # How it is opened ------------------------------------------------------------------------

    def _open(self, writes: bool, is_old: bool) -> None:
        handle = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with ExitStack() as stack:  # the kernel releases a lock, however this process ends
            self._lock = stack.enter_context(os.fdopen(handle, "rb"))
            if writes or is_old:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _make_private(self.path)
            self._connect()
            if is_old:
                old_folder.move_in(self, {DATABASE, LOCK})
            if not writes:
                fcntl.flock(self._lock, fcntl.LOCK_UN)
            stack.pop_all()

    def _connect(self) -> None:
        path = self.path / DATABASE
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        with self._errors():
            self.db = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
            self.db.row_factory = sqlite3.Row
            for pragma in PRAGMAS:
                self.db.execute(f"PRAGMA {pragma}").fetchall()
            ((version,),) = self.rows("PRAGMA user_version")
            if version not in (0, FORMAT):
                raise UsageError(
                    f"{path} has format {version}, expected {FORMAT}; another version of this "
                    "command wrote it"
                )
            if version == 0:
                if self.rows("SELECT * FROM sqlite_schema"):
                    raise UsageError(f"{path} is not a class's database")
                schema = SCHEMA.read_text(encoding="utf-8")
                self.db.executescript(f"BEGIN IMMEDIATE; {schema} COMMIT;")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what may happen to any database into one line."""
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


# A student's latest submission; unknown times are early. What has a result goes on counting until
# a later one has one, too. What was only previewed or compared has no source.
LATEST = """
SELECT s.id FROM authors a JOIN submissions s ON s.id = a.submission
WHERE a.student = authors.student AND s.source IS NOT NULL
ORDER BY {} s.submitted DESC, s.number DESC, s.attempt DESC, s.id DESC LIMIT 1"""
WITH_RESULT = "s.id IN (SELECT submission FROM counted) DESC,"
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


def _text(text: str) -> str:
    """Return a text that can be stored; a name may contain half a surrogate pair."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def refuse_project(path: Path) -> None:
    """Refuse a folder inside the repository, in this copy or another."""
    for folder in (path, *path.parents):
        is_copy = (folder / "assignment.toml").is_file() and (folder / "tools").is_dir()
        if folder == grading.ROOT or is_copy:
            raise UsageError(
                f"{path} is inside the repository {folder}, where students' work might be "
                "committed; choose a folder outside"
            )


def workshop(folder: Path) -> Path:
    """Return where `replacing` makes what replaces a folder."""
    return folder.with_name(f".{folder.name}.draft")


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, which replaces the one of this name if the block succeeds."""
    place = workshop(folder)
    draft, former = place / "draft", place / "former"
    remove_tree(place)  # of a command that was killed
    place.mkdir(mode=0o700, parents=True)
    draft.mkdir(mode=0o700)
    try:
        yield draft
        with suppress(FileNotFoundError):
            folder.rename(former)  # at once, while removing it takes time
        draft.rename(folder)
    finally:
        if former.exists() and not folder.exists():
            former.rename(folder)
        remove_tree(place)


def _make_private(root: Path) -> None:
    for folder, _, files in os.walk(root):
        for path in (Path(folder), *(Path(folder, name) for name in files)):
            with suppress(FileNotFoundError):  # another command's journal
                mode = path.lstat().st_mode
                if mode & 0o077 and not path.is_symlink():
                    path.chmod(mode & 0o700)
