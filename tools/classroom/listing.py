"""`list SOURCE`: show what a class handed in, before anything is graded."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from classroom.arguments import count
from grading import printable
from grading.verdicts import ExitCode

from .parsers import Commands, add_command
from .roster import Attempts, ClassRoll, read_class
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
    """Add the arguments that `read_class` takes."""
    command.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="a Gradescope export, a Canvas or Moodle download, or a folder of zips and folders",
    )
    command.add_argument(
        "--attempts",
        choices=get_args(Attempts),
        default="latest",
        help="which attempts of each student to use; default: latest",
    )


def run(asked: argparse.Namespace) -> int:
    """Print what a source contains."""
    roll = read_class(asked.source, asked.attempts)
    for submission in roll.submissions:
        print(line(submission, asked.names))
    for note in roll.notes:
        print(f"note: {note}")
    print(summary(roll))
    return ExitCode.OK


def line(submission: Submission, names: bool) -> str:
    """Return what is known about a submission; without names, only the size of a group."""
    words = [submission.submission_id]
    if submission.created_at is not None:
        words.append(submission.created_at.isoformat(" ", "minutes"))
    if submission.late:
        words.append("late")
    if submission.attempt > 1:
        words.append(f"attempt {submission.attempt}")
    if names:
        words.append(", ".join(_called(student) for student in submission.students))
    elif len(submission.students) > 1:
        words.append(f"group of {len(submission.students)}")
    return "  ".join(words)


def summary(roll: ClassRoll) -> str:
    """Return a line with the numbers of submissions, students, groups and notes."""
    students = {student.key for one in roll.submissions for student in one.students}
    groups = sum(len(one.students) > 1 for one in roll.submissions)
    counts = [
        count(len(roll.submissions), "submission"),
        count(len(students), "student"),
        count(groups, "group"),
        count(len(roll.notes), "note"),
    ]
    return f"{roll.kind}: {', '.join(counts)}"


def _called(student: Student) -> str:
    return printable.line(f"{student.name or '(no name)'} <{student.email or student.key}>")
