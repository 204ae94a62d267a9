"""Finds the files of a class's submissions, where `grade` found them or where they are now."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from grading.errors import UsageError

from .folder import ClassFolder, Source
from .roster import read_class
from .submissions import Attempts, Submission


def add_files(command: argparse.ArgumentParser) -> None:
    """Add the arguments that say where the files are."""
    command.add_argument(
        "--source",
        type=Path,
        metavar="SOURCE",
        help="where the submissions are; default: where `grade` found them",
    )
    command.add_argument(
        "--attempts",
        choices=get_args(Attempts),
        default="latest",
        help="which attempts in --source to use; default: latest",
    )


def submissions_of(
    folder: ClassFolder, asked: argparse.Namespace, say: Callable[[str], None]
) -> list[Submission]:
    """Return the submissions with their files; if several sources have one, the latest counts.

    Args:
        say: called with a line about each source that can no longer be read.

    Raises:
        UsageError: if none can be read.
    """
    if asked.source is not None:
        folder.remember(Source(asked.source, asked.attempts))
    found: dict[str, Submission] = {}
    problems = []
    for source in folder.sources():
        try:
            roll = read_class(source.path, source.attempts)
        except UsageError as error:
            problems.append(str(error))
            continue
        found = {one.submission_id: one for one in roll.submissions} | found
    if not found:
        reasons = "; ".join(problems) or "this folder doesn't say where they are"
        raise UsageError(f"can't find the submissions: {reasons}; name them with --source SOURCE")
    for problem in problems:
        say(f"note: {problem}")
    return list(found.values())
