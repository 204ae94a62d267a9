"""Reads what Gradescope calls "Export Submissions": a folder for each submission, and metadata.

    assignment_ID_export/
        submission_metadata.yml     whose each submission is (`symbols.py`)
        submission_ID/              its files, unpacked

The format is not documented. What we assume agrees with what independent programs read. Zucchini
(Georgia Tech) uses `:submitters` and `:name` below the top-level key, which is the folder's name.
Provenance (Berkeley) uses `:name`, `:sid` and `:email` of each member of a group, where `:sid` may
be absent. Both find the metadata in the zip's only folder. Others use `:created_at`, `:score` and
`:history`. An export contains the files of active attempts only.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grading import printable
from grading.upload import Entry

from . import places
from .submissions import ID, Attempts, Student, Submission, id_of
from .symbols import Node, entries, moment
from .uploads import Upload

METADATA = "submission_metadata.yml"


@dataclass(frozen=True)
class _Attempt:
    """An attempt in the metadata; `folder` is the name that its folder would have."""

    folder: str
    created_at: datetime | None
    score: float | None

    @property
    def moment(self) -> float:
        return Submission("", (), self.created_at).moment


def read(export: Entry, attempts: Attempts) -> tuple[list[Submission], list[str]]:
    """Read an export; return all attempts whose files it contains, and notes.

    Args:
        export: the folder that contains the metadata.

    Raises:
        UsageError: if the metadata can't be read.
    """
    folders = {place.name: place for place in places.children(export) if place.name != METADATA}
    reader = _Export(folders, attempts)
    (metadata,) = (place for place in places.children(export) if place.name == METADATA)
    with places.opened(metadata) as stream:
        for key, entry, line in entries(stream, METADATA):
            reader.take(key, entry, f"{METADATA}:{line}")
    reader.take_strangers()
    reader.compare_names()
    if attempts != "latest" and reader.without_files:
        reader.notes.append(
            f"{reader.without_files} earlier attempts are left out: Gradescope only exports the "
            "files of active attempts"
        )
    return reader.found, reader.notes


def metadata_of(source: Path) -> Entry | None:
    """Return the metadata of an export, or None if there is none.

    Raises:
        UsageError: if the source can't be read.
    """
    root = places.place(source)
    for folder in (root, *(inner for inner in places.children(root) if inner.kind == "folder")):
        for found in places.children(folder):
            if found.name == METADATA and found.kind == "file":
                return found
    return None


class _Export:
    """Collects submissions from the entries of the metadata."""

    def __init__(self, folders: dict[str, Entry], attempts: Attempts) -> None:
        self._folders, self._attempts = folders, attempts
        self._taken: set[str] = set()
        self.found: list[Submission] = []
        self.notes: list[str] = []
        self.without_files = 0

    def take(self, key: str, entry: Node, where: str) -> None:
        """Take a submission with its earlier attempts."""
        if key in self._taken:
            self.notes.append(f"{where}: there are two entries {key}: the second is left out")
            return
        if not isinstance(entry, dict):
            self.notes.append(f"{where}: {key} has no table, so it is unknown whose it is")
            entry = {}
        students = self._students(key, entry, where)
        active = self._attempt(key, entry, where)
        earlier = [
            self._attempt(f"submission_{old.get(':id')}", old, where)
            for old in _tables(entry.get(":history"))
            if old.get(":id")
        ]
        known = sorted(
            [*(old for old in earlier if old.folder != key), active], key=lambda a: a.moment
        )
        for number, attempt in enumerate(known, 1):
            place = self._folders.get(attempt.folder)
            if attempt is not active and (place is None or attempt.folder in self._taken):
                self.without_files += place is None
                continue
            self._taken.add(attempt.folder)
            self._add(attempt, place, students, number)
        self._compare_points(active, known)
        newest = max(known, key=lambda attempt: (attempt.moment, attempt is active))
        if newest is not active and active.created_at is not None:
            self.notes.append(
                f"{key} is active on Gradescope, although {newest.folder} is newer"
                + ("" if newest.folder in self._folders else "; the newer one's files are missing")
            )

    def _compare_points(self, active: _Attempt, known: list[_Attempt]) -> None:
        """Add a note if the best attempt was asked for, but its files are missing."""
        lost = [old for old in known if old.folder not in self._folders and old is not active]
        best = max(lost, key=lambda attempt: attempt.score or 0.0, default=active)
        if self._attempts == "best" and (best.score or 0.0) > (active.score or 0.0):
            self.notes.append(
                f"{best.folder} has more points than {active.folder}, but its files are missing"
            )

    def take_strangers(self) -> None:
        """Take the folders that the metadata doesn't mention."""
        for name, place in self._folders.items():
            if name not in self._taken:
                self.notes.append(
                    f"{printable.line(name)} is not in {METADATA}, so it is unknown whose it is"
                )
                self._taken.add(name)
                self._add(_Attempt(name, None, None), place, (Student(_id(name), ""),), 1)

    def compare_names(self) -> None:
        """Add notes about students who share an e-mail address or a name."""
        students = {student for submission in self.found for student in submission.students}
        keys = Counter(student.key for student in students)
        twice = {key for key, count in keys.items() if count > 1}
        for key in sorted(twice):
            ids = [s.submission_id for s in self.found if key in {one.key for one in s.students}]
            self.notes.append(
                f"{', '.join(ids)}: {key} has more than one name, or more than one ID"
            )
        names = Counter(name for _, name in {(s.key, s.name) for s in students} if name)
        for name, count in sorted(names.items()):
            if count > 1:
                shown = printable.line(name, 200)
                self.notes.append(
                    f"{count} students are called {shown}; their e-mail addresses or IDs differ"
                )

    def _add(
        self, attempt: _Attempt, place: Entry | None, students: tuple[Student, ...], number: int
    ) -> None:
        upload = Upload((("", place),) if place and place.kind == "folder" else ())
        if place is not None and place.kind != "folder":
            upload = Upload(((place.name, place),))
        submission_id = _id(attempt.folder)
        self.found.append(
            Submission(
                submission_id,
                students,
                attempt.created_at,
                attempt=number,
                score=attempt.score,
                upload=upload,
            )
        )

    def _students(self, key: str, entry: dict[str, Node], where: str) -> tuple[Student, ...]:
        found: dict[str, Student] = {}
        for submitter in _tables(entry.get(":submitters")):
            name, sid, email = (_text(submitter.get(k)) for k in (":name", ":sid", ":email"))
            # Two members of a group with neither are different people.
            other = _id(key) + (f":{len(found) + 1}" if found else "")
            own = email.casefold() if email else sid or other
            if own in found:
                self.notes.append(f"{where}: {key} names a student twice")
            found[own] = Student(own, name or "", sid, email)
            if not (email or sid):
                self.notes.append(f"{where}: {key} has a student without :email and :sid")
        if not found:
            self.notes.append(f"{where}: {key} has no :submitters, so it is unknown whose it is")
            found[""] = Student(_id(key), "")
        return tuple(found.values())

    def _attempt(self, folder: str, entry: dict[str, Node], where: str) -> _Attempt:
        created, score = _text(entry.get(":created_at")), _text(entry.get(":score"))
        time = points = None
        try:
            time = moment(created) if created else None
        except (ValueError, OverflowError):
            self.notes.append(f"{where}: {folder}: :created_at is not a time: {created!r:.60}")
        try:
            points = float(score) if score else None
        except ValueError:
            self.notes.append(f"{where}: {folder}: :score is not a number: {score!r:.60}")
        if points is not None and not math.isfinite(points):
            points = None
        return _Attempt(folder, time, points)


def _id(folder: str) -> str:
    return folder if ID.fullmatch(folder) else id_of("gradescope", folder)


def _tables(value: Node) -> list[dict[str, Node]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _text(value: Node) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
