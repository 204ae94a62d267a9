"""Reads what Gradescope calls "Export Submissions": a folder for each submission, and metadata.

    assignment_ID_export/
        submission_metadata.yml     whose each submission is, and its results
        submission_ID/              its files, unpacked

The format is not documented. What we assume is what independent programs read: zucchini (Georgia
Tech) and Provenance (Berkeley) use `:submitters` below the folder's name, with `:name`, `:email`
and sometimes `:sid`; others use `:created_at` and `:history`. An export has the files of active
attempts only.

The metadata contain all results of all attempts, which may be hundreds of megabytes, and the
objects that PyYAML would make from them take twenty times as much memory. We read the parser's
events instead, each of which contains at most one text. Tags are ignored: all values are texts.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Any, TypeAlias
from zipfile import BadZipFile

import yaml

from grading.errors import UsageError
from grading.upload import Entry

from .submissions import ID, Student, Submission, Upload, children, id_of

METADATA = "submission_metadata.yml"
RESULTS = ":results"  # the autograder's output, which is nearly all of the file
MAX_TEXT = 1_000  # how many characters of a text are kept
MAX_RESULT = 4 << 20  # the same in results: the end of the staff output is needed
# Roughly how many bytes of memory one entry and what anchors keep may take, if each alias were a
# copy: a hostile file could repeat aliases of aliases.
MAX_SIZE = 256 << 20
NODE_SIZE = 64  # of a value, without its text
NULL = ("", "~", "null", "Null", "NULL")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version is twenty times as fast
Node: TypeAlias = "str | None | list[Node] | dict[str, Node]"


# The metadata -------------------------------------------------------------------------------------


def entries(stream: IO[bytes], name: str, results: bool = False) -> Iterator[tuple[str, Node, int]]:
    """Yield each entry of the metadata: its key, its value, and its line.

    Texts are as in the file, including leading zeros; nulls are None. The results of each active
    attempt are left out unless `results` says otherwise.

    Raises:
        UsageError: it can't be read, isn't YAML or a table, or takes too much memory.
    """
    try:
        yield from _Reader(yaml.parse(stream, Loader=LOADER), name, results).entries()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise UsageError(
            f"{name}{line}: not valid YAML: {problem!s:.200}; was the download complete?"
        ) from None
    except (OSError, EOFError, BadZipFile, zlib.error) as error:
        raise UsageError(
            f"{name} can't be read: {error!s:.200}; download the export again"
        ) from None


def moment(text: str) -> datetime:
    """Read a time as Ruby writes it: `2026-11-02 14:22:32.365935000 -08:00`, `... Z`, `... UTC`.

    One without a zone is taken as UTC; ValueError: it isn't a time.
    """
    text = re.sub(r"UTC$", "Z", text.strip())
    time = datetime.fromisoformat(re.sub(r"\s+(?=Z$|[+-]\d\d:?\d\d$)", "", text))
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


class _Reader:
    """Builds the value of each entry from events, with texts only as long as needed."""

    def __init__(self, events: Iterator[yaml.Event], name: str, results: bool) -> None:
        self._events, self._name, self._results = events, name, results
        # If an object occurs twice, Ruby writes it once, and then refers to it.
        self._anchors: dict[str, tuple[Node, int]] = {}  # with its size
        self._kept = 0  # the size of all of them
        self._size = 0  # of these and of the present entry

    def entries(self) -> Iterator[tuple[str, Node, int]]:
        begin = next((e for e in self._events if isinstance(e, yaml.NodeEvent)), None)
        if begin is None:
            raise UsageError(f"{self._name}: it is empty; was the download complete?")
        if not isinstance(begin, yaml.MappingStartEvent):
            raise self._fault(begin, "expected `submission_1234:`")
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            self._size = self._kept
            key = self._value(event)
            if not isinstance(key, str):
                raise self._fault(event, "expected `submission_1234:`")
            try:
                entry = self._value(next(self._events), is_entry=True)
            except RecursionError:
                raise self._fault(event, "nested too deeply") from None
            yield key, entry, _line(event)

    def _fault(self, event: yaml.Event, what: str) -> UsageError:
        return UsageError(f"{self._name}:{_line(event)}: {what}")

    def _value(self, event: yaml.Event, most: int = MAX_TEXT, is_entry: bool = False) -> Node:
        """Build the value that begins with this event, with texts of at most `most` characters."""
        if isinstance(event, yaml.AliasEvent):
            value, size = self._anchors.get(event.anchor or "", (None, 0))
            self._grow(event, size)
            return value
        value, before = None, self._size
        if isinstance(event, yaml.ScalarEvent):
            is_null = event.implicit[0] and event.value in NULL
            value = None if is_null else event.value[:most]
            self._grow(event, len(value or ""))
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not isinstance(inner := next(self._events), yaml.SequenceEndEvent):
                value.append(self._value(inner, most))
        elif isinstance(event, yaml.MappingStartEvent):
            value = {}
            while not isinstance(inner := next(self._events), yaml.MappingEndEvent):
                key = self._value(inner)
                is_kept = is_entry and self._results and key == RESULTS
                inner_value = self._value(next(self._events), MAX_RESULT if is_kept else most)
                if isinstance(key, str) and (key != RESULTS or is_kept):
                    value[key] = inner_value
        self._grow(event, NODE_SIZE)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            size = self._size - before
            self._anchors[event.anchor] = value, size
            self._kept += size
        return value

    def _grow(self, event: yaml.Event, size: int) -> None:
        self._size += size
        if self._size > MAX_SIZE:
            raise self._fault(event, f"this entry would take more than {MAX_SIZE >> 20} MiB")


def _line(event: yaml.Event) -> int:
    """Return the line on which an event begins, which the parser always marks."""
    return event.start_mark.line + 1 if event.start_mark else 0


# The export ---------------------------------------------------------------------------------------


def metadata_of(folder: Entry) -> Entry | None:
    """Return the metadata in an export's folder; None if it isn't an export's."""
    files = (entry for entry in children(folder) if entry.kind == "file")
    return next((entry for entry in files if entry.name == METADATA), None)


def read(metadata: Entry, export: Entry, notes: list[str]) -> list[Submission]:
    """Return an export's submissions, and note what is unusual; UsageError: it can't be read."""
    folders = {entry.name: entry for entry in children(export) if entry.name != METADATA}
    submissions: dict[str, Submission] = {}
    active: dict[str, str] = {}  # by the names of earlier attempts
    with metadata.open() as stream:
        for key, entry, line in entries(stream, METADATA):
            where = f"{METADATA}:{line}"
            if _id(key) in submissions:
                notes.append(f"{where}: there are two entries {key}: the second is left out")
                continue
            if not isinstance(entry, dict):
                notes.append(f"{where}: {key} has no table, so it is unknown whose it is")
                entry = {}
            one, others = _active(key, entry, folders.get(key), where, notes)
            submissions[one.id] = one
            active |= dict.fromkeys(others, one.id)
    for name, folder in folders.items():
        key = _id(name)
        if key not in submissions and name in active:
            notes.append(f"{name} is left out: {active[name]} is active instead")
        elif key not in submissions:
            notes.append(f"{name} is not in {METADATA}, so it is unknown whose it is")
            upload = Upload.of({name: folder})
            submissions[key] = Submission(key, (Student(key, ""),), upload=upload)
    return [*submissions.values()]


def _active(
    key: str, entry: dict[str, Node], folder: Entry | None, where: str, notes: list[str]
) -> tuple[Submission, list[str]]:
    """Return a submission, and the names of the other attempts, of which only times are known."""
    students, time = _students(key, entry, where, notes), _time(key, entry, where, notes)
    upload = Upload.of({folder.name: folder}) if folder else Upload()
    one = Submission(_id(key), students, time, upload=upload)
    others = {
        name: replace(one, submitted=_time(name, old, where, notes)).moment
        for old in tables(entry.get(":history"))
        if old.get(":id") and (name := f"submission_{old[':id']}") != key
    }
    newest = max(others, key=lambda name: others[name], default=key)
    if one.submitted and others.get(newest, one.moment) > one.moment:
        notes.append(
            f"{one.id} is active on Gradescope, although {newest} is newer; the newer one's files "
            "are missing"
        )
    attempt = 1 + sum(moment <= one.moment for moment in others.values())
    return replace(one, attempt=attempt), [*others]


def _students(
    key: str, entry: dict[str, Node], where: str, notes: list[str]
) -> tuple[Student, ...]:
    students: dict[str, Student] = {}
    for submitter in tables(entry.get(":submitters")):
        name, sid, email = (_text(submitter.get(k)) for k in (":name", ":sid", ":email"))
        # Two members of a group with neither are different people.
        other = _id(key) + (f":{len(students) + 1}" if students else "")
        own = email.casefold() if email else sid or other
        if own in students:
            notes.append(f"{where}: {key} names a student twice")
        students[own] = Student(own, name or "", email, sid)
        if not (email or sid):
            notes.append(f"{where}: {key} has a student without :email and :sid")
    if not students:
        notes.append(f"{where}: {key} has no :submitters, so it is unknown whose it is")
        students[""] = Student(_id(key), "")
    return tuple(students.values())


def _time(name: str, entry: dict[str, Node], where: str, notes: list[str]) -> datetime | None:
    created = _text(entry.get(":created_at"))
    try:
        return moment(created) if created else None
    except (ValueError, OverflowError):
        notes.append(f"{where}: {name}: :created_at is not a time: {created!r:.60}")
        return None


def _id(folder: str) -> str:
    return folder if ID.fullmatch(folder) else id_of("gradescope", folder)


def tables(value: Any) -> list[dict[str, Any]]:
    """Return the tables in a list; [] if it isn't one."""
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _text(value: Node) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
