"""Reads what a class handed in, from any platform.

roll = read_class(Path("assignment_4711_export.zip"), "latest")
for submission in roll.submissions:
    submission.upload.stage(a_new_folder)
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from grading import paths, printable
from grading.errors import UsageError
from grading.staging import PACKAGE
from grading.upload import Entry, is_archive

from . import downloads, gradescope_export
from .attempts import choose
from .places import children, place
from .submissions import ID, MARKER, Attempts, ClassRoll, RollEntry, Student, Submission

__all__ = ["ID", "Attempts", "ClassRoll", "RollEntry", "Student", "Submission", "read_class"]

WRAPPINGS = 2  # folders around a class, as there are if a zip was unpacked twice


def read_class(source: Path, attempts: Attempts = "latest") -> ClassRoll:
    """Read what a class handed in, without unpacking anything.

    Each entry of the source becomes a submission or is named in a note, or both. An entry that
    contains no files, or nothing that can be graded, is a submission nevertheless.

    Args:
        source: a Gradescope export, a download from Canvas or Moodle, or a folder of zips and
            folders. It may be a folder or a zip.

    Raises:
        UsageError: if it can't be read, or is something else.
    """
    notes: list[str] = []
    root = _unwrapped(place(source, notes))
    if source.resolve().is_relative_to(paths.ROOT):
        notes.append(f"{source} is inside the repository: move it, so that nobody commits it")
    if _metadata(root):
        kind = "Gradescope export"
        found, more = gradescope_export.read(root, attempts)
    else:
        _refuse_one_submission(root, source)
        names = [entry.name for entry in children(root)]
        kind = "download" if any(map(downloads.is_download, names)) else "folder"
        found, more = downloads.read(root)
    found, chosen = choose(_told_apart(found), attempts)
    notes += more + chosen
    for submission in found:
        fault = submission.upload.fault()
        if fault:
            notes.append(f"{submission.submission_id}: {fault}")
    if not found:
        raise UsageError(
            f"{source} contains no submissions; expected a Gradescope export, a download from "
            "Canvas or Moodle, or a folder of zips and folders"
        )
    lines = tuple(printable.line(note) for note in notes)
    return ClassRoll(kind, tuple(sorted(found, key=lambda one: one.submission_id)), lines)


def _unwrapped(folder: Entry) -> Entry:
    """Return the folder that contains the class: often the only one in a zip."""
    for _ in range(WRAPPINGS):
        inner = children(folder)
        if len(inner) != 1 or inner[0].kind != "folder" or downloads.is_download(inner[0].name):
            break
        if not _metadata(inner[0]) and is_submission(inner[0]):
            break  # a class with one submission
        folder = inner[0]
    return folder


def _metadata(folder: Entry) -> bool:
    names = {entry.name for entry in children(folder) if entry.kind == "file"}
    return gradescope_export.METADATA in names


def is_submission(folder: Entry) -> bool:
    """Return whether a folder contains what one student hands in."""
    inner = [place for place in children(folder) if not downloads.is_download(place.name)]
    folders = [place.name for place in inner if place.kind == "folder"]
    if any(name == "src" or PACKAGE.fullmatch(name) for name in folders):
        return True
    return any(place.name.endswith(".py") and place.kind == "file" for place in inner)


def _refuse_one_submission(root: Entry, source: Path) -> None:
    inner = children(root)
    if MARKER in {place.name for place in inner}:
        raise UsageError(f"{source} is a class's folder of results; expected submissions")
    several = [p for p in inner if is_archive(p.name) or downloads.is_download(p.name)]
    if is_submission(root) and not several:
        raise UsageError(
            f"{source} is a single submission; expected a class. To grade one submission, run "
            f"python src/grader.py --submission {source}"
        )


def _told_apart(found: list[Submission]) -> list[Submission]:
    """Return the submissions; fail if two have the same id, since one of them would be lost."""
    for submission_id, count in Counter(one.submission_id for one in found).items():
        if count > 1:
            raise UsageError(f"{count} submissions have the same id {submission_id}: rename one")
    return found
