"""`similar SOURCE --into DIR`: show which submissions share something that few others have."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm  # type: ignore[import-untyped]

import grading
from autograder import isolation, solutions
from grading.errors import SubmissionError, UsageError, safe_line
from grading.staging import MAX_OUTPUT_BYTES
from grading.upload import Folder
from grading.verdicts import ExitCode

from .. import times
from ..arguments import USUAL, Commands, add_command, add_folder
from ..exports import add_source, read_export, read_source, show_notes
from ..store import Store
from ..submissions import Submission, same
from . import parameters
from .pages import INDEX, Comparison
from .ranking import ANSWERS, TENSORS, Entry
from .texts import MOST_TOKENS, Known, Text

CODE, PARAMETERS, PREDICTIONS = ".py", ".params", ".predictions"
MOST_BYTES = {CODE: 1 << 20, PARAMETERS: MAX_OUTPUT_BYTES, PREDICTIONS: 1 << 20}  # of a file
MOST_FILES = 400  # of one submission
RESULTS = grading.ROOT / "build" / "reference"  # what `make reference` trains


class Reading:
    """Reads one entry after the other; `close` ends the workers that read parameters."""

    def __init__(self, work: Path, note: Callable[[str], None]) -> None:
        """
        Args:
            work: an empty folder.
            note: called with a line about everything that isn't compared.
        """
        self._note, self._known = note, Known()
        self._reader = parameters.Reader(work) if isolation.is_available() else None
        self._places: dict[str, list[str]] = {}  # the right answers of each split
        for split, folder in (("dev", grading.DATA), ("test", solutions.ANSWERS)):
            path = folder / f"birth_{split}.tsv"
            if path.is_file():
                rows = path.read_text(encoding="utf-8").splitlines()
                self._places[split] = [row.rpartition("\t")[2] for row in rows]
            else:
                note(f"predictions for {split} are not compared: the answers are missing")
        self._ours = Entry("reference")
        for path in (*RESULTS.glob("*.params"), *RESULTS.glob("*.predictions")):
            self._add(self._ours, path.name, path.read_bytes())
        if self._reader is None:
            note("parameters are not compared: their files can only be read on Linux")
        elif not self._ours.signatures:
            note(
                "build/reference/ has no parameters, so copies of the reference's are not "
                "recognized; train them with `make reference`"
            )

    def close(self) -> None:
        """End the workers."""
        if self._reader is not None:
            self._reader.close()

    def entry(self, submission: Submission, name: str, authors: frozenset[str]) -> Entry:
        """Return what is compared of a submission, or of a reference, which has no authors."""
        entry = Entry(name, authors)
        with TemporaryDirectory(prefix="similar-") as work:
            try:
                with submission.upload.tree(Path(work)) as top:
                    for number, (folder, file) in enumerate(_files(top)):
                        if number == MOST_FILES:
                            self._note(f"{name}: only the first {MOST_FILES} files are compared")
                            break
                        most = MOST_BYTES[Path(file).suffix]
                        with folder.file(file) as reader:
                            content = reader.read(most + 1)
                        if len(content) <= most:
                            self._add(entry, file, content)
                        else:
                            self._leave_out(entry, file, f"more than {most} bytes")
            except SubmissionError as error:
                self._note(f"{name}: not everything is compared: {error}")
        if not any(entry.features.values()):
            self._note(f"{name}: nothing to compare")
        return entry

    def _leave_out(self, entry: Entry, file: str, why: object) -> None:
        shown = safe_line(file, 80)
        self._note(safe_line(f"{entry.name}: {shown} is not compared: {why}"))

    def _add(self, entry: Entry, file: str, content: bytes) -> None:
        if file.endswith(PARAMETERS):
            self._add_parameters(entry, file, content)
        elif file.endswith(PREDICTIONS):
            self._add_answers(entry, file, content.decode("utf-8-sig", "replace"))
        else:
            self._add_code(entry, file, content.decode("utf-8-sig", "replace"))

    def _add_code(self, entry: Entry, file: str, content: str) -> None:
        text = Text(file, content, self._known)
        most = MOST_TOKENS - sum(len(text.tokens) for text in entry.texts)
        if text.is_cut or len(text.tokens) > most:
            self._leave_out(entry, f"a part of {file}", f"more than {MOST_TOKENS} words and signs")
            del text.tokens[most:]
        if text.tokens:
            entry.add(text, self._known)

    def _add_answers(self, entry: Entry, file: str, content: str) -> None:
        """Add the wrong answers of a file, if there is one for each question and they differ."""
        lines = [line.strip() for line in content.removesuffix("\n").split("\n")]
        places = self._places.get(Path(Path(file).stem).suffix.removeprefix("."))
        if places is not None and len(places) == len(lines) and len(set(lines)) > 1:
            answers = enumerate(zip(lines, places, strict=True), start=1)
            wrong = {(file, n, said) for n, (said, place) in answers if said != place}
            if wrong != {answer for answer in self._ours.features[ANSWERS] if answer[0] == file}:
                entry.features[ANSWERS] |= wrong

    def _add_parameters(self, entry: Entry, file: str, content: bytes) -> None:
        if self._reader is None:
            return
        try:
            tensors = self._reader.read(content)
        except parameters.Unreadable as error:
            return self._leave_out(entry, file, error)
        hashes, ours = parameters.hashes_of(tensors), self._ours.features[TENSORS]
        if 2 * len(hashes & ours) <= len(hashes):  # otherwise it is one of ours
            entry.features[TENSORS] |= hashes - ours
            entry.signatures.append(parameters.signature_of(tensors))


def _files(top: Folder) -> Iterator[tuple[Folder, str]]:
    """Yield the files that are compared."""
    for folder, names in top.walk():
        for file in names:
            if Path(file).suffix in MOST_BYTES and folder.entries[file].kind == "file":
                yield folder, file


# The command --------------------------------------------------------------------------------------

NAME = "similar"  # of the folder in DIR


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "similar",
        run,
        "show which submissions share something that few others have",
        "Rank pairs of submissions by what they share that few others have, and write pages with "
        "both texts to DIR/similar/. Open DIR/similar/index.html in a browser.",
        f"{USUAL}. The pages set no threshold and give no verdict. Before you talk to anybody, "
        "read the section 'Similarity' in docs/grading-a-class.md.",
    )
    add_source(command)
    add_folder(command, "--into")
    command.add_argument(
        "--references",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="also compare with the folders and zips in these, such as earlier years or clones of "
        "public repositories",
    )
    command.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="STUDENT",
        help="leave out submissions of this student (name, address or ID) or with this id, unless "
        "others are authors, too; can be repeated",
    )


def run(asked: argparse.Namespace) -> int:
    """Compare, write the pages, and say where they are."""
    export, zone = read_source(asked), times.course_zone()
    show_notes(export)
    submissions = _without(asked.exclude, export.submissions)
    notes = []
    if len(submissions) < len(export.submissions):
        notes = [f"left out with --exclude: {len(export.submissions) - len(submissions)}"]
    with Store.create(asked.folder) as store:
        store.add_submissions(asked.source, export.kind, export.submissions)
        with (
            TemporaryDirectory() as work,
            contextlib.closing(Reading(Path(work), notes.append)) as reading,
        ):
            entries = _entries(asked, submissions, reading)
        compared = Comparison(entries, [*export.notes, *notes])
        handed_in = {o.id: times.shown(o.submitted, zone) for o in submissions if o.submitted}
        target, unfinished = store.path / NAME, store.path / f"{NAME}.unfinished"
        try:
            count = compared.write(unfinished, handed_in)
            shutil.rmtree(target, ignore_errors=True)
            unfinished.rename(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    for note in notes:
        print(f"note: {note}")
    print(f"{compared.pairs} pairs compared, {count} of them have a page")
    print(f"Open {target / INDEX} in a browser")
    return ExitCode.OK


def _without(excluded: list[str], submissions: tuple[Submission, ...]) -> list[Submission]:
    """Return the submissions of which somebody who isn't excluded is an author.

    Raises:
        UsageError: nobody has one of these names.
    """
    unknown, remaining = {same(word): word for word in excluded}, []
    words = set(unknown)
    for one in submissions:
        people = [{same(one.id), *map(same, filter(None, vars(s).values()))} for s in one.students]
        for name in {same(one.id)}.union(*people):
            unknown.pop(name, None)
        if not all(words & names for names in people or [{same(one.id)}]):
            remaining.append(one)
    for word in unknown.values():
        raise UsageError(f"--exclude {word}: nobody in this class has this name or ID")
    return remaining


def _entries(
    asked: argparse.Namespace, submissions: list[Submission], reading: Reading
) -> list[Entry]:
    """Read the class, then the references."""
    # Whoever was in a group at any time may know everything that the group handed in.
    authors = {
        one.id: one.students for one in read_export(asked.source, all_attempts=True).submissions
    }
    entries = []
    for one in tqdm(submissions, unit="submission", disable=not sys.stderr.isatty()):
        keys = {student.key for student in (*authors.get(one.id, ()), *one.students)}
        entries.append(reading.entry(one, one.id, frozenset(keys or {one.id})))
    for folder in asked.references:
        export = read_export(folder)
        for one in export.submissions:
            # Platforms' names of files may name students.
            shown = one.upload.location if export.kind == "folder" else one.id
            entries.append(reading.entry(one, f"{folder.resolve().name}/{shown}", frozenset()))
    return entries
