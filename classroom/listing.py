"""`list SOURCE`: show what a class handed in, before anything is graded."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from grading import printable
from grading.errors import UsageError
from grading.verdicts import ExitCode

from . import times
from .arguments import Commands, add_command, count
from .exports import Export, read_export, with_worksheet
from .store import Store
from .submissions import Student, Submission


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
        print(line(one, asked.names, times.shown(one.submitted, zone) if one.submitted else ""))
    show_notes(export)
    return ExitCode.OK


def read_source(asked: argparse.Namespace) -> Export:
    """Read the source that was named in a command.

    Raises:
        UsageError: it can't be read.
    """
    export = read_export(asked.source)
    if asked.worksheet is None:
        return export
    return with_worksheet(export, asked.worksheet, times.course_zone())


def show_notes(export: Export) -> None:
    """Print the notes, and the numbers of submissions, students, groups and notes."""
    for note in export.notes:
        print(f"note: {note}")
    students = {student.key for one in export.submissions for student in one.students}
    groups = sum(len(one.students) > 1 for one in export.submissions)
    counts = [
        count(len(export.submissions), "submission"),
        count(len(students), "student"),
        count(groups, "group"),
        count(len(export.notes), "note"),
    ]
    print(f"{export.kind}: {', '.join(counts)}")


def line(submission: Submission, names: bool, submitted: str) -> str:
    """Return what is known about a submission; without names, only the size of a group."""
    words = [submission.id, *filter(None, [submitted])]
    if submission.late:
        words.append("late")
    if submission.attempt > 1:
        words.append(f"attempt {submission.attempt}")
    if names:
        words.append(", ".join(_called(student) for student in submission.students))
    elif len(submission.students) > 1:
        words.append(f"group of {len(submission.students)}")
    return "  ".join(words)


def _called(student: Student) -> str:
    return printable.line(f"{student.name or '(no name)'} <{student.email or student.key}>")


def submissions_of(store: Store, say: Callable[[str], None] = print) -> dict[str, Submission]:
    """Return the submissions of a class with their files, by id, where they were read last.

    Args:
        say: called with a line about each source that can no longer be read.

    Raises:
        UsageError: none can be read.
    """
    submissions: dict[str, Submission] = {}
    problems = []
    for (path,) in store.rows("SELECT path FROM sources ORDER BY read_at DESC, id DESC"):
        try:
            export = read_export(Path(path), all_attempts=True)
        except UsageError as error:
            problems.append(str(error))
            continue
        submissions = {one.id: one for one in export.submissions} | submissions
    known = {row["id"] for row in store.rows("SELECT id FROM submissions")}
    submissions = {key: one for key, one in submissions.items() if key in known}
    if not submissions:
        reasons = "; ".join(problems) or "no source is known"
        raise UsageError(f"can't find the submissions: {reasons}; run `grade SOURCE` again")
    for problem in problems:
        say(f"note: {problem}")
    return submissions
