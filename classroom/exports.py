"""`list SOURCE`: what a class handed in, from any platform; nothing is unpacked, no link followed.

    assignment_ID_export/                               Gradescope (`gradescope.py`)
    byronada_LATE_340934_208490284_work.zip             Canvas: a student's ID, then an upload's
    Ada Byron_657737_assignsubmission_file_work.zip     Moodle, as files
    Ada Byron_657737_assignsubmission_file/work.zip     Moodle, as folders
    ada.zip, ada.tar.gz, ada/                           anything else

Each entry becomes a submission or is named in a note, or both. One that contains no files, or
nothing that can be graded, is a submission nevertheless.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

import grading
from grading import upload as reading
from grading.errors import SubmissionError, UsageError, safe_line
from grading.staging import PACKAGE
from grading.upload import Entry, archive_suffix, is_archive, is_supported
from grading.verdicts import ExitCode

from . import cells, gradescope, times
from .arguments import Commands, add_command, count
from .store import DATABASE, Store
from .submissions import Student, Submission, Upload, children, id_of

MARKERS = {DATABASE, "classroom.json"}  # in the folder of a class's results, also of older ones
MOST_NAMES = 5  # in the note on those that several students have
WRAPPINGS = 2  # folders around a class, as there are if a zip was unpacked twice
# If Canvas hides names, it uses five letters and digits in place of name and ID.
CANVAS = re.compile(
    r"(?:(?P<name>(?!anon_)[^_]+)|(?P<anonymous>anon_[a-z0-9]+))_(?P<late>late_)?"
    r"(?(name)(?P<user>\d+)_)(?P<upload>\d+)_(?P<file>.+)",
    re.IGNORECASE | re.DOTALL,
)
# Canvas adds a number to a file that is handed in again under the same name.
CANVAS_AGAIN = re.compile(r"-\d+(?=\.[^.]*$|$)")
MOODLE = re.compile(
    r"(?P<name>.*)_(?P<user>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?", re.DOTALL
)
TEXT = "onlinetext"  # what a student typed into Moodle's form, saved as a web page


@dataclass(frozen=True)
class Export:
    """What a source contains."""

    kind: str  # of source, in words
    submissions: tuple[Submission, ...]
    # A line about whatever is left out or unusual; it may name students: show it, but never log it.
    notes: tuple[str, ...] = ()
    metadata: Entry | None = None  # Gradescope's file


def read_export(source: Path, all_attempts: bool = False) -> Export:
    """Read what a class handed in, perhaps with each student's earlier attempts.

    Raises:
        UsageError: the source can't be read, or is something else.
    """
    notes: list[str] = []
    root = _class_folder(source, notes)
    if source.resolve().is_relative_to(grading.ROOT):
        notes.append(f"{source} is inside the repository: move it, so that nobody commits it")
    metadata = gradescope.metadata_of(root)
    if metadata is not None:
        kind = "Gradescope export"
        submissions = gradescope.read(metadata, root, notes)
    else:
        _refuse_one_submission(root, source)
        kind = "download" if any(_is_download(e.name) for e in children(root)) else "folder"
        submissions = _read_files(root, notes)
    for submission_id, number in Counter(one.id for one in submissions).items():
        if number > 1:
            raise UsageError(f"{number} submissions have the same id {submission_id}: rename one")
    _compare_names(submissions, notes)
    if not all_attempts:
        submissions = _latest(submissions, notes)
    submissions = [replace(one, note=one.upload.fault()) for one in submissions]
    notes += [f"{one.id}: {one.note}" for one in submissions if one.note]
    if not submissions:
        raise UsageError(
            f"{source} contains no submissions; expected a Gradescope export, a download from "
            "Canvas or Moodle, or a folder of zips and folders"
        )
    submissions.sort(key=lambda one: one.id)
    return Export(kind, tuple(submissions), tuple(map(safe_line, notes)), metadata)


def _compare_names(submissions: list[Submission], notes: list[str]) -> None:
    """Note which students share an e-mail address, an ID or a name."""
    students = {student for one in submissions for student in one.students}
    for key, number in sorted(Counter(student.key for student in students).items()):
        if number > 1:
            ids = [one.id for one in submissions if key in {s.key for s in one.students}]
            notes.append(f"{', '.join(ids)}: {key} has more than one name, or more than one ID")
    names = Counter(name for _, name in {(s.key, s.name) for s in students} if name)
    shared = [f"{safe_line(n, 200)} ({count})" for n, count in sorted(names.items()) if count > 1]
    if shared:  # one note, since a large class has many
        more = f", and {len(shared) - MOST_NAMES} more" if len(shared) > MOST_NAMES else ""
        notes.append(
            "students share a name, and differ in their e-mail address, ID or file's name: "
            + ", ".join(shared[:MOST_NAMES])
            + more
        )


# The source ---------------------------------------------------------------------------------------


def _class_folder(source: Path, notes: list[str]) -> Entry:
    folder = _opened(source, notes)
    for _ in range(WRAPPINGS):  # it is often the only one in a zip
        inner = children(folder)
        if len(inner) != 1 or inner[0].kind != "folder" or _is_download(inner[0].name):
            break
        if not gradescope.metadata_of(inner[0]) and _is_submission(inner[0]):
            break  # a class with one submission
        folder = inner[0]
    return folder


def _opened(source: Path, notes: list[str]) -> Entry:
    """Open a folder or zip; one odd name in a zip doesn't concern all the others."""
    try:
        entry = reading.on_disk(source.resolve())
    except OSError as error:
        raise UsageError(f"{source} can't be read: {error.strerror}") from None
    if entry.kind == "folder":
        return entry
    if entry.kind != "file":
        raise UsageError(f"{source} is neither a folder nor a zip")
    try:
        opened = zipfile.ZipFile(source.resolve())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise UsageError(
            f"{source} can't be read as a zip ({error!s:.100}); expected a folder or a zip; was "
            "the download complete?"
        ) from None
    tree: reading.Tree = {}
    for name, entry in reading.zip_members(opened, source.name):
        try:
            reading.add(tree, name, entry, is_whole=True)
        except SubmissionError as error:
            notes.append(f"{source.name}: {name!r:.200} is left out: {error}")
    return reading.folder_of(tree, source.name)


def _is_submission(folder: Entry) -> bool:
    """Return whether a folder contains what one student hands in."""
    inner = [entry for entry in children(folder) if not _is_download(entry.name)]
    folders = [entry.name for entry in inner if entry.kind == "folder"]
    if any(name == "src" or PACKAGE.fullmatch(name) for name in folders):
        return True
    return any(entry.name.endswith(".py") and entry.kind == "file" for entry in inner)


def _refuse_one_submission(root: Entry, source: Path) -> None:
    if _is_results(root):
        raise UsageError(f"{source} is a class's folder of results; expected submissions")
    is_class = any(is_archive(e.name) or _is_download(e.name) for e in children(root))
    if _is_submission(root) and not is_class:
        raise UsageError(
            f"{source} is a single submission; expected a class. To grade one submission, run "
            f"python src/grader.py --submission {source}"
        )


# Downloads from Canvas and Moodle, and plain folders ----------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """A file or folder in a download, and whose it is."""

    id: str  # what the ids of the student's submissions begin with
    student: Student
    entry: Entry
    name: str  # the file's name when it was handed in; "" for a folder
    number: int = 0  # see `Submission`
    late: bool = False


def _read_files(folder: Entry, notes: list[str]) -> list[Submission]:
    """Return all attempts that are in a folder or zip."""
    submissions: list[Submission] = []
    pieces: dict[str, list[_Piece]] = defaultdict(list)
    for entry in children(folder):
        if piece := _piece(entry):
            pieces[piece.id].append(piece)
        elif entry.kind == "folder" and _is_results(entry):
            notes.append(f"{entry.name} is left out: it is a class's folder")
        elif entry.kind == "folder" or is_archive(entry.name):
            name, upload = entry.name, Upload.of({entry.name: entry})
            # The key includes the ending: `ada.zip` and `ada/` may be one student or two.
            student = Student(name, name[: len(name) - len(archive_suffix(name))])
            submissions.append(Submission(id_of("upload", name), (student,), upload=upload))
        else:
            notes.append(f"{entry.name} is left out: neither a folder nor an archive")
    for owned in pieces.values():
        submissions += _attempts(owned, notes)
    return submissions


def _is_results(folder: Entry) -> bool:
    with suppress(SubmissionError):  # it can't be listed: it is a submission, which says so
        return bool(MARKERS & {entry.name for entry in children(folder)})
    return False


def _is_download(name: str) -> bool:
    """Return whether a name is one that Canvas or Moodle gives to what a student handed in."""
    return bool(CANVAS.fullmatch(name) or MOODLE.fullmatch(name))


def _piece(entry: Entry) -> _Piece | None:
    """Return whose a file or folder of a download is; None if its name doesn't say."""
    is_folder = entry.kind == "folder"
    if (match := CANVAS.fullmatch(entry.name)) and not is_folder:
        user = match["user"] or match["anonymous"].lower()
        student = Student(f"canvas:{user}", match["name"] or "", canvas_id=user)
        file = CANVAS_AGAIN.sub("", match["file"]) or match["file"]
        number, is_late = int(match["upload"]), bool(match["late"])
        return _Piece(f"canvas_{user}", student, entry, file, number, is_late)
    if match := MOODLE.fullmatch(entry.name):
        file = "" if is_folder else match["file"] or entry.name
        if match["kind"] == TEXT and file and not file.endswith(".html"):
            file = f"{TEXT}.html"
        user = match["user"]
        student = Student(f"moodle:{user}", match["name"], moodle_id=user)
        return _Piece(f"moodle_{user}", student, entry, file)
    return None


def _attempts(pieces: list[_Piece], notes: list[str]) -> list[Submission]:
    """Return a student's attempts: each archive or folder is one, and all loose files are one."""
    pieces = sorted(pieces, key=lambda piece: (piece.number, piece.entry.name))
    whole = [piece for piece in pieces if not piece.name or is_supported(piece.name)]
    if len(pieces) > 1:
        whole = [piece for piece in whole if TEXT not in piece.entry.name]
    if whole:
        attempts, why = [[piece] for piece in whole], "the same student has an archive or folder"
    else:  # loose files
        newest = {piece.name: piece for piece in pieces}
        attempts, why = [[*newest.values()]], "it was handed in again later"
    for piece in pieces:
        if not any(piece in parts for parts in attempts):
            notes.append(f"{piece.entry.name} is left out: {why}")
    if len({piece.name for piece in whole}) > 1:
        names = ", ".join(safe_line(piece.entry.name, 200) for piece in whole)
        notes.append(
            f"{names}: each of a student's several archives or folders counts as an attempt"
        )
    submissions: list[Submission] = []
    for parts in attempts:
        first, number = parts[0], max(piece.number for piece in parts)
        submission_id = f"{first.id}_{number}" if number else first.id
        if not number and len(whole) > 1:
            submission_id = id_of(first.id, first.entry.name)
        one = Submission(
            submission_id,
            (first.student,),
            late=any(piece.late for piece in parts),
            attempt=len(submissions) + 1,
            number=number,
            upload=Upload.of({piece.name: piece.entry for piece in parts}),
        )
        submissions.append(one)
    return submissions


# Several attempts ---------------------------------------------------------------------------------


def _latest(submissions: list[Submission], notes: list[str]) -> list[Submission]:
    """Return the submissions that count, and note each that doesn't.

    A member of a group may hand in again alone. Each submission then counts for those students for
    whom it is the latest.
    """
    newest: dict[str, Submission] = {}
    for one in sorted(submissions, key=lambda one: (one.moment, one.number, one.attempt, one.id)):
        newest |= {student.key: one for student in one.students}
    counting = []
    for one in submissions:
        students = tuple(student for student in one.students if newest[student.key] is one)
        others = len(one.students) - len(students)
        if not students:
            notes.append(f"{one.id} is left out: its students have a later one")
            continue
        counting.append(replace(one, students=students))
        if others:
            has = "has" if others == 1 else "have"
            notes.append(f"{one.id}: {others} of the group {has} a later one")
    return counting


# Moodle's grading worksheet -----------------------------------------------------------------------
#
#     Identifier,Full name,Email address,Status,...,Last modified (submission),...
#     Participant 657737,Ada Byron,ada@x.edu,Submitted ...,"Monday, 2 November 2026, 2:22 PM",...
#
# Columns differ between courses, and all but `Identifier` may be missing. Moodle writes times in
# the site's zone without saying so: they are taken to be in the course's.

IDENTIFIER, MODIFIED = "Identifier", "Last modified (submission)"
FIELDS = {"name": "Full name", "email": "Email address", "sid": "ID number", "login": "Username"}
TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p", "%A, %d %B %Y, %H:%M")


def with_worksheet(export: Export, path: Path) -> Export:
    """Return an export with what a worksheet knows; UsageError: it is another assignment's."""
    zone = times.course_zone()
    _, *every = cells.table(cells.read(path), (IDENTIFIER,), None).rows
    rows = {row.cell(IDENTIFIER).rpartition(" ")[2]: row for row in every}
    notes, submissions = list(export.notes), []
    for one in export.submissions:
        (student, *_) = one.students
        row = rows.get(student.moodle_id) if student.moodle_id else None
        if row is None:
            notes.append(f"{one.id} is not in the worksheet")
        else:
            text = row.cell(MODIFIED)
            time = _time(text, zone)
            if time is None and any(map(str.isdigit, text)):
                notes.append(f"{one.id}: not a time: {text!r:.60}")
            texts = {field: row.cell(column) for field, column in FIELDS.items()}
            student = replace(student, **{field: text for field, text in texts.items() if text})
            one = replace(one, students=(student,), submitted=time)
        submissions.append(one)
    known = {student.moodle_id for one in submissions for student in one.students}
    if not known & rows.keys():
        raise UsageError(f"{path} has nobody who is in the download: is it the same assignment's?")
    for number, row in rows.items():
        if number not in known and _time(row.cell(MODIFIED), zone):
            shown = safe_line(row.cell(FIELDS["name"]) or number, 200)
            notes.append(f"{shown} has a time in {path.name}, but no files in the download")
    return replace(export, submissions=tuple(submissions), notes=tuple(notes))


def _time(text: str, zone: tzinfo) -> datetime | None:
    for form in TIMES:
        with suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=zone)
    return None


# `list SOURCE`: before anything is graded ---------------------------------------------------------


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "list",
        run,
        "show what a class handed in, with notes on anything unusual",
        "Show what would be graded: a line for each submission, then notes on anything unusual.",
    )
    add_source(command)
    command.add_argument("--names", action="store_true", help="show who handed in what")


def add_source(command: argparse.ArgumentParser) -> None:
    """Add the arguments that `read_source` takes."""
    command.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="a Gradescope export, a Canvas or Moodle download, or a folder of zips and folders",
    )
    command.add_argument(
        "--worksheet",
        type=Path,
        metavar="FILE",
        help="Moodle's grading worksheet, which has names, addresses and times",
    )


def run(asked: argparse.Namespace) -> int:
    """Print what a source contains."""
    export, zone = read_source(asked), times.course_zone()
    for one in export.submissions:
        words = [one.id]
        if one.submitted:
            words.append(times.shown(one.submitted, zone))
        if one.late:
            words.append("late")
        if one.attempt > 1:
            words.append(f"attempt {one.attempt}")
        if asked.names:
            names = (f"{s.name or '(no name)'} <{s.email or s.key}>" for s in one.students)
            words.append(", ".join(map(safe_line, names)))
        elif len(one.students) > 1:
            words.append(f"group of {len(one.students)}")
        print("  ".join(words))
    show_notes(export)
    return ExitCode.OK


def read_source(asked: argparse.Namespace) -> Export:
    """Read the source that was named in a command."""
    export = read_export(asked.source)
    return with_worksheet(export, asked.worksheet) if asked.worksheet else export


def show_notes(export: Export) -> None:
    """Print the notes, and the numbers of submissions, students, groups and notes."""
    for note in export.notes:
        print(f"note: {note}")
    students = {student.key for one in export.submissions for student in one.students}
    groups = sum(len(one.students) > 1 for one in export.submissions)
    counts = {"submission": len(export.submissions), "student": len(students), "group": groups}
    counts["note"] = len(export.notes)
    print(f"{export.kind}: {', '.join(count(number, word) for word, number in counts.items())}")


def submissions_of(store: Store) -> dict[str, Submission]:
    """Return the submissions of a class with their files, by id, where they were read last.

    A source that can no longer be read is named on standard error.

    Raises:
        UsageError: none can be read.
    """
    submissions: dict[str, Submission] = {}
    problems = []
    for (path,) in store.rows("SELECT path FROM sources ORDER BY read_at DESC, id DESC"):
        try:
            export = read_export(Path(path), all_attempts=True)
            submissions = {one.id: one for one in export.submissions} | submissions
        except UsageError as error:
            problems.append(str(error))
    known = {row["id"] for row in store.rows("SELECT id FROM submissions")}
    submissions = {key: one for key, one in submissions.items() if key in known}
    if not submissions:
        reasons = "; ".join(problems) or "no source is known"
        raise UsageError(f"can't find the submissions: {reasons}; run `grade SOURCE` again")
    for problem in problems:
        print(f"note: {problem}", file=sys.stderr)
    return submissions
