"""Reads the code, parameters and predictions of a class and of references.

Each submission is copied to a folder of its own by the grader's rules (`grading/staging.py`), read,
and removed, so only one at a time takes space on the disk. Nothing in it is run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from grading import printable, upload
from grading.errors import SubmissionError, UsageError
from grading.staging import MAX_OUTPUT_BYTES, Provided, copy

from ..places import children, place
from ..roster import is_submission
from ..submissions import Submission
from ..uploads import Upload
from . import texts, torch_files
from .index import Entry, entry_of
from .parameters import Parameters, parameters_of
from .predictions import Predictions, lines_of
from .texts import Known

MAX_FILES = 2_000  # in a reference
MAX_CODE_BYTES = 4 << 20  # of all files of an entry together
CODE, PARAMETERS, PREDICTIONS = ".py", ".params", ".predictions"
Note = Callable[[str], None]


@dataclass
class Handed:
    """What is compared: the class's entries first, then the references."""

    entries: list[Entry] = field(default_factory=list)
    parameters: list[Parameters] = field(default_factory=list)
    predictions: list[Predictions] = field(default_factory=list)


def read_submission(
    into: Handed,
    submission: Submission,
    authors: frozenset[str],
    known: Known,
    provided: Provided,
    note: Note,
) -> None:
    """Read a submission of the class; if it can't be read, it is noted, and has no text."""
    with tempfile.TemporaryDirectory(prefix="similar-") as folder:
        work = Path(folder)
        files: list[Path] = []
        try:
            staged = submission.upload.stage(work / "staged", provided)
            files = [staged.root / name for name in sorted(staged.taken)]
        except SubmissionError as error:
            note(f"{submission.submission_id}: nothing to compare: {error}")
        _read(into, submission.submission_id, authors, False, files, known, note)


def read_references(into: Handed, folder: Path, known: Known, note: Note) -> None:
    """Read a folder of references: each folder or zip in it is one, or the folder itself.

    Raises:
        UsageError: if it contains none.
    """
    found = 0
    for name, entry in _references(folder):
        with tempfile.TemporaryDirectory(prefix="similar-") as work:
            files: list[Path] = []
            try:
                files = _reference_files(entry, Path(work), note)
            except (SubmissionError, UsageError, OSError) as error:
                note(f"reference {name}: {error}")
            if any(path.suffix == CODE for path in files):
                found += 1
                _read(into, name, frozenset(), True, files, known, note)
            else:
                note(f"reference {name}: it contains no Python files")
    if not found:
        raise UsageError(
            f"{folder} contains no references; expected folders or zips with *.py in them"
        )


def _references(folder: Path) -> Iterator[tuple[str, upload.Entry]]:
    """Yield the references in a folder, each with a name to show."""
    top = place(folder)
    if is_submission(top):
        yield _named(folder.resolve().name), top
        return
    for child in children(top):
        name = _named(f"{folder.resolve().name}/{child.name}")
        if child.kind == "folder":
            yield name, child
        elif child.kind == "file" and child.name.lower().endswith(".zip"):
            yield name, child


def _named(name: str) -> str:
    return printable.line(name, 120)


def _reference_files(entry: upload.Entry, work: Path, note: Note) -> list[Path]:
    """Copy the files of a reference, which may be in any of its folders; return the copies."""
    found: list[Path] = []
    wanted = (CODE, PARAMETERS, PREDICTIONS)
    with Upload((("", entry),)).tree(work) as top:
        for folder, names in top.walk():
            for name in names:
                is_file = folder.entries[name].kind == "file" and Path(name).name == name
                if not is_file or Path(name).suffix not in wanted or len(found) == MAX_FILES:
                    continue
                target = work / str(len(found)) / name
                target.parent.mkdir(exist_ok=True)
                if copy(folder, name, target, MAX_OUTPUT_BYTES) > MAX_OUTPUT_BYTES:
                    note(f"{_named(name)} is not compared: more than {MAX_OUTPUT_BYTES} bytes")
                else:
                    found.append(target)
    return found


def _read(
    into: Handed,
    name: str,
    authors: frozenset[str],
    is_reference: bool,
    files: list[Path],
    known: Known,
    note: Note,
) -> None:
    number, pieces, left = len(into.entries), [], MAX_CODE_BYTES
    for path in files:
        if path.suffix == CODE:
            text = texts.decoded(path.read_bytes())[:left]
            left -= len(text)
            pieces += texts.pieces_of(path.name, text, known)
        elif path.suffix == PREDICTIONS:
            lines = lines_of(path.read_bytes())
            into.predictions.append(Predictions(number, path.name, lines))
        elif path.suffix == PARAMETERS:
            try:
                tensors = torch_files.read_tensors(path)
            except torch_files.Unreadable as error:
                note(f"{name}: {printable.line(path.name, 80)} is not compared: {error}")
                continue
            into.parameters.append(parameters_of(number, path.name, tensors))
    into.entries.append(entry_of(name, authors, is_reference, pieces, known))


def known_results(folder: Path, note: Note) -> tuple[list[Parameters], list[Predictions]]:
    """Return the reference's own parameters and predictions, if there are any."""
    handed = Handed()
    files = [*sorted(folder.glob("*.params")), *sorted(folder.glob("*.predictions"))]
    _read(handed, "reference", frozenset(), True, files, texts.known_of([]), note)
    return handed.parameters, handed.predictions
