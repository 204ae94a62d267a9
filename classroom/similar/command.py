"""`similar SOURCE --into DIR`: show which submissions share something that few others have."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm  # type: ignore[import-untyped]

from grading.errors import UsageError
from grading.verdicts import ExitCode

from .. import times
from ..arguments import USUAL, Commands, add_command, add_folder
from ..exports import read_export
from ..listing import add_source, read_source, show_notes
from ..store import Store
from ..submissions import Submission, same
from .pages import INDEX, Comparison
from .ranking import Entry
from .reading import Reading

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
    export = read_source(asked)
    show_notes(export)
    submissions = _without(asked.exclude, export.submissions)
    notes = []
    if len(submissions) < len(export.submissions):
        notes = [f"left out with --exclude: {len(export.submissions) - len(submissions)}"]
    with Store.create(asked.folder) as store:
        store.add_submissions(asked.source, export.kind, export.submissions)
        with contextlib.ExitStack() as stack:
            reading = Reading(Path(stack.enter_context(TemporaryDirectory())), notes.append)
            stack.callback(reading.close)
            entries = _entries(asked, submissions, reading)
        zone = times.course_zone()
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
        for name in set().union(*people):
            unknown.pop(name, None)
        if not all(words & names for names in people):
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
