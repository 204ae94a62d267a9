"""Reads downloads from Canvas and Moodle, and any folder of archives and folders.

    byronada_LATE_340934_208490284_work.zip             Canvas: a student's ID, then an upload's
    Ada Byron_657737_assignsubmission_file_work.zip     Moodle, as files
    Ada Byron_657737_assignsubmission_file/work.zip     Moodle, as folders
    ada.zip, ada.tar.gz, ada/                           anything else

Each entry is read by its own name, so an unusual name doesn't affect the other entries.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from grading import printable
from grading.upload import Entry, archive_suffix, is_archive, is_supported

from .places import children
from .submissions import MARKER, Student, Submission, id_of
from .uploads import Upload

# If Canvas hides names, it uses five letters and digits in place of name and ID.
CANVAS = re.compile(
    r"(?P<name>(?!anon_)[^_]+)_(?P<late>late_)?(?P<user>\d+)_(?P<upload>\d+)_(?P<file>.+)"
    r"|(?P<anonymous>anon_[a-z0-9]+)_(?P<anonymous_late>late_)?(?P<anonymous_upload>\d+)_"
    r"(?P<anonymous_file>.+)",
    re.IGNORECASE | re.DOTALL,
)
# Canvas adds a number to a file that is handed in again under the same name.
CANVAS_AGAIN = re.compile(r"-\d+(?=\.[^.]*$|$)")
MOODLE = re.compile(
    r"(?P<name>.*)_(?P<user>\d+)_assignsubmission_(?P<kind>[a-z]+)(?:_(?P<file>.*))?", re.DOTALL
)
TEXT = "onlinetext"  # what a student typed into Moodle's form, saved as a web page


@dataclass(frozen=True)
class _Piece:
    """A file or folder that belongs to a student on a platform.

    Attributes:
        owner: the platform, and the student's ID there.
        name: the file's name when it was handed in; empty for a folder.
        upload: a number that grows with each upload; 0 if the platform doesn't provide one.
    """

    owner: tuple[str, str]
    student: str
    place: Entry
    name: str
    upload: int = 0
    late: bool = False


def read(folder: Entry) -> tuple[list[Submission], list[str]]:
    """Read what is in a folder or zip; return all attempts, and notes."""
    found: list[Submission] = []
    notes: list[str] = []
    pieces: dict[tuple[str, str], list[_Piece]] = defaultdict(list)
    for place in children(folder):
        piece = _canvas(place) or _moodle(place)
        if piece is not None:
            pieces[piece.owner].append(piece)
        elif place.kind == "folder" and MARKER in {inner.name for inner in children(place)}:
            notes.append(f"{printable.line(place.name)} is left out: it is a class's folder")
        elif place.kind == "folder" or is_archive(place.name):
            found.append(_plain(place))
        else:
            notes.append(
                f"{printable.line(place.name)} is left out: neither a folder nor an archive"
            )
    for owned in pieces.values():
        found += _attempts(owned, notes)
    _compare_names(found, notes)
    return found, notes


def is_download(name: str) -> bool:
    """Return whether a name is one that Canvas or Moodle gives to what a student handed in."""
    return bool(CANVAS.fullmatch(name) or MOODLE.fullmatch(name))


def _canvas(place: Entry) -> _Piece | None:
    match = CANVAS.fullmatch(place.name)
    if not match or place.kind == "folder":
        return None
    if match["anonymous"]:
        user, name = match["anonymous"].lower(), ""
        late, upload, file = (match[f"anonymous_{key}"] for key in ("late", "upload", "file"))
    else:
        user, name = match["user"], match["name"]
        late, upload, file = match["late"], match["upload"], match["file"]
    file = CANVAS_AGAIN.sub("", file) or file
    return _Piece(("canvas", user), name, place, file, int(upload), bool(late))


def _moodle(place: Entry) -> _Piece | None:
    match = MOODLE.fullmatch(place.name)
    if not match:
        return None
    file = "" if place.kind == "folder" else match["file"] or place.name
    if match["kind"] == TEXT and not file.endswith(".html"):
        file = f"{TEXT}.html" if file else ""
    return _Piece(("moodle", match["user"]), match["name"], place, file)


def _plain(place: Entry) -> Submission:
    name = place.name
    stem = name[: len(name) - len(archive_suffix(name))]
    submission_id = id_of("upload", name)
    upload = Upload((("" if place.kind == "folder" else name, place),))
    # The key includes the ending: `ada.zip` and `ada/` may be one student or two.
    return Submission(submission_id, (Student(name, stem),), upload=upload)


def _attempts(pieces: list[_Piece], notes: list[str]) -> list[Submission]:
    """Return a student's attempts: each archive or folder is one, and all loose files are one."""
    whole = [piece for piece in pieces if not piece.name or is_supported(piece.name)]
    whole = [piece for piece in whole if not (TEXT in piece.place.name and len(pieces) > 1)]
    whole.sort(key=lambda piece: (piece.upload, piece.place.name))
    loose = [piece for piece in pieces if piece not in whole]
    (platform, user), student = pieces[0].owner, _student(pieces[0])
    if not whole:
        return [_loose(f"{platform}_{user}", student, loose, notes)]
    for piece in loose:
        shown = printable.line(piece.place.name)
        notes.append(f"{shown} is left out: the same student has an archive or folder")
    if len({piece.name for piece in whole}) > 1:
        names = ", ".join(printable.line(piece.place.name, 200) for piece in whole)
        notes.append(
            f"{names}: each of a student's several archives or folders counts as an attempt"
        )
    found = []
    for number, piece in enumerate(whole, 1):
        submission_id = f"{platform}_{user}"
        if piece.upload:
            submission_id += f"_{piece.upload}"
        elif len(whole) > 1:
            submission_id = id_of(submission_id, piece.place.name)
        upload = Upload(((piece.name, piece.place),))
        found.append(
            Submission(submission_id, (student,), late=piece.late, attempt=number, upload=upload)
        )
    return found


def _loose(
    submission_id: str, student: Student, pieces: list[_Piece], notes: list[str]
) -> Submission:
    """Return the submission that consists of these files; of two with one name, the later."""
    newest: dict[str, _Piece] = {}
    for piece in sorted(pieces, key=lambda piece: (piece.upload, piece.place.name)):
        if piece.name in newest:
            old = printable.line(newest[piece.name].place.name)
            notes.append(f"{old} is left out: it was handed in again later")
        newest[piece.name] = piece
    last = max(piece.upload for piece in pieces)
    if last:
        submission_id += f"_{last}"
    late = any(piece.late for piece in newest.values())
    parts = tuple((piece.name, piece.place) for piece in newest.values())
    return Submission(submission_id, (student,), late=late, upload=Upload(parts))


def _student(piece: _Piece) -> Student:
    platform, user = piece.owner
    return Student(f"{platform}:{user}", piece.student)


def _compare_names(found: list[Submission], notes: list[str]) -> None:
    """Add a note about students who have the same name."""
    students = {student for submission in found for student in submission.students}
    for name, count in sorted(Counter(s.name for s in students if s.name).items()):
        if count > 1:
            notes.append(
                f"{count} entries are called {printable.line(name, 200)}: each counts as a "
                "different student"
            )
