"""Opens the folder or zip in which a class was handed in, as the tree that the grader reads.

A zip is read without unpacking it, as the disk may have no room for a second copy of a class. No
link is ever followed.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from grading import upload
from grading.errors import SubmissionError, UsageError
from grading.upload import Entry, is_litter, refusal


def place(path: Path, notes: list[str] | None = None) -> Entry:
    """Open a folder or zip that was named in a command.

    Args:
        notes: gets a line about each entry of a zip that is left out.

    Raises:
        UsageError: if it doesn't exist, or can't be read.
    """
    try:
        found = upload.on_disk(path.resolve())
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    if found.kind == "file":
        return _zip(path.resolve(), [] if notes is None else notes)
    if found.kind != "folder":
        raise UsageError(f"{path} is neither a folder nor a zip")
    return found


def _zip(archive: Path, notes: list[str]) -> Entry:
    """Open a zip as a folder; one odd name in it doesn't concern all the others."""
    try:
        opened = zipfile.ZipFile(archive)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError) as error:
        raise UsageError(
            f"{archive} can't be read as a zip ({error!s:.100}); expected a folder or a zip; was "
            "the download complete?"
        ) from None
    tree: upload.Tree = {}
    for name, entry in upload.zip_members(opened, archive.name):
        try:
            upload.add(tree, name, entry, is_whole=True)
        except SubmissionError as error:
            notes.append(f"{archive.name}: {name!r:.200} is left out: {error}")
    return upload.folder_of(tree, archive.name)


def children(folder: Entry) -> list[Entry]:
    """List what a folder contains, sorted by name, without what systems and editors leave behind.

    Raises:
        SubmissionError: if it can't be listed.
    """
    try:
        found = folder.entries()
    except OSError as error:
        raise refusal(error, f"{folder.name!a} can't be listed") from None
    return [found[name] for name in sorted(found) if not is_litter(name)]


def walk(folder: Entry) -> Iterator[tuple[str, Entry]]:
    """Yield everything in a folder, at any depth, except folders, with its relative path.

    Raises:
        SubmissionError: if a folder can't be listed.
    """
    waiting = [("", folder)]
    while waiting:
        way, inner = waiting.pop()
        found = [(f"{way}{child.name}", child) for child in children(inner)]
        yield from (each for each in found if each[1].kind != "folder")
        waiting += [(f"{n}/", child) for n, child in reversed(found) if child.kind == "folder"]


def opened(file: Entry) -> IO[bytes]:
    """Open a file for reading.

    Raises:
        SubmissionError: if it can't be opened.
    """
    try:
        return file.open()
    except upload.HardLink as error:
        raise SubmissionError(f"{file.name!a} is {error}") from None
    except OSError as error:
        raise refusal(error, f"{file.name!a} can't be read") from None
    except ValueError as error:
        raise SubmissionError(f"{file.name!a}: {error}") from None
