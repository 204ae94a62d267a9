"""What a class handed in, from wherever it comes.

roll = read_class(Path("assignment_4711_export.zip"), "latest")
for submission in roll.submissions:
    submission.unpack(an_empty_folder)
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from grading import paths, printable
from grading.errors import UsageError

from . import downloads, gradescope_export
from .attempts import choose
from .places import Place, ZipPlace, place, tidy
from .submissions import ID, MARKER, Attempts, ClassRoll, RollEntry, Student, Submission

__all__ = ["ID", "Attempts", "ClassRoll", "RollEntry", "Student", "Submission", "read_class"]

WRAPPINGS = 2  # folders around a class, as unpacking a zip twice makes them


def read_class(source: Path, attempts: Attempts = "latest") -> ClassRoll:
    """Read what a class handed in; nothing is unpacked.

    Each entry of the source comes out as a submission, or in a note, or both. What holds no file,
    or nothing that the grader can take, is a submission all the same.

    Args:
        source: a Gradescope export, a download of Canvas or Moodle, or a folder of zips and
            folders; a folder or a zip.

    Raises:
        UsageError: it can't be read, or is something else.
    """
    given = place(source)
    root = _unwrapped(given)
    notes = list(given.odd()) if isinstance(given, ZipPlace) else []
    if source.resolve().is_relative_to(paths.ROOT):
        notes.append(f"{source} lies in the repository: move it, lest somebody commit it")
    if _metadata(root):
        kind = "Gradescope export"
        found, more = gradescope_export.read(root, attempts)
    else:
        _refuse_one_submission(root, source)
        names = [entry.name for entry in root.children()]
        kind = "download" if any(map(downloads.is_download, names)) else "folder"
        found, more = downloads.read(root)
    found, chosen = choose(_told_apart(found), attempts)
    notes += more + chosen
    for submission in found:
        fault = submission.path.fault()
        if fault:
            notes.append(f"{submission.submission_id}: {fault}")
    if not found:
        raise UsageError(
            f"{source} holds no submission; expected a Gradescope export, a download of Canvas or "
            "Moodle, or a folder of zips and folders"
        )
    lines = tuple(printable.line(note) for note in notes)
    return ClassRoll(kind, tuple(sorted(found, key=lambda one: one.submission_id)), lines)


def _unwrapped(folder: Place) -> Place:
    """Return the folder that holds the class: often the only one in a zip."""
    for _ in range(WRAPPINGS):
        inner = tidy(folder.children())
        if len(inner) != 1 or inner[0].kind != "folder" or downloads.is_download(inner[0].name):
            break
        if not _metadata(inner[0]) and is_submission(inner[0]):
            break  # a class of one
        folder = inner[0]
    return folder


def _metadata(folder: Place) -> bool:
    names = {entry.name for entry in folder.children() if entry.kind == "file"}
    return gradescope_export.METADATA in names


def is_submission(folder: Place) -> bool:
    """Return whether a folder holds what one student hands in."""
    inner = [place for place in tidy(folder.children()) if not downloads.is_download(place.name)]
    if any(place.name in ("submission", "src") and place.kind == "folder" for place in inner):
        return True
    return any(place.name.endswith(".py") and place.kind == "file" for place in inner)


def _refuse_one_submission(root: Place, source: Path) -> None:
    inner = tidy(root.children())
    if MARKER in {place.name for place in inner}:
        raise UsageError(f"{source} is a folder of results; expected what a class handed in")
    several = [p for p in inner if p.name.lower().endswith(".zip") or downloads.is_download(p.name)]
    if is_submission(root) and not several:
        raise UsageError(
            f"{source} is one submission; expected a class. To grade one: "
            f"python src/grader.py --submission {source}"
        )


def _told_apart(found: list[Submission]) -> list[Submission]:
    """Return the submissions; fail where two have one id, of which one would be lost."""
    for submission_id, count in Counter(one.submission_id for one in found).items():
        if count > 1:
            raise UsageError(f"{count} submissions have the id {submission_id}: rename one")
    return found
