"""`grade SOURCE --into DIR`: grade a class on this machine's cores, or on a cluster."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm  # type: ignore[import-untyped]

from grading import paths
from grading.assignment import load_assignment
from grading.outcomes import ExitCode
from grading.runner import CourseTestRunner
from questions.course import Course

from . import shipping
from .class_run import Asked, ClassRun, Say
from .dispatching import Cluster, NoCluster, add_cluster, check_cluster
from .folder import ClassFolder, Source
from .listing import add_source, summary
from .roster import read_class

if TYPE_CHECKING:
    from argparse import _SubParsersAction

CODES = (
    "exit codes: 0 all have a result, 1 some have none, by our own fault, 2 usage or bad input, "
    "3 there is no cluster that can grade, or DIR can't be written, 130 interrupted. Whatever "
    "ended it, the same command goes on where it was"
)


def add_to(commands: _SubParsersAction) -> None:
    """Add the sub-commands."""
    command = commands.add_parser(
        "grade",
        help="grade a class into a folder of records",
        description="Grade what a class handed in, and keep a record of each submission in DIR. "
        "What has one is not graded again.",
        epilog=CODES,
    )
    add_source(command)
    command.add_argument(
        "--into", type=Path, required=True, metavar="DIR", help="outside the repository"
    )
    command.add_argument("--edition", help="default: assignment.toml's")
    add_cluster(command)
    command.add_argument(
        "--preview", action="store_true", help="on any worker, also not root's; counts for nothing"
    )
    command.set_defaults(run=run)
    made = commands.add_parser(
        "certificates", help="make what a cluster's machines show one another"
    )
    made.add_argument("folder", type=Path, metavar="DIR", help="a new folder")
    made.set_defaults(run=make_certificates)


def run(asked: argparse.Namespace) -> int:
    """Grade a class; return the exit code."""
    check_cluster(asked)
    runner = CourseTestRunner(load_assignment(paths.ASSIGNMENT), Course())
    edition = runner.assignment.edition(asked.edition).name
    roll = read_class(asked.source, asked.attempts)
    release = shipping.make_release(paths.ROOT, edition)
    print(summary(roll))
    for note in roll.notes:
        print(f"note: {note}")
    folder = ClassFolder.create(asked.into)
    with folder.locked(), tqdm(total=len(roll.submissions), unit="submission") as bar:
        folder.enroll(roll.submissions)
        folder.remember(Source(asked.source, asked.attempts))

        def say(line: str) -> None:
            bar.write(line, file=sys.stderr)  # above the bar

        wanted = Asked(edition, counts=not asked.preview)
        submissions = roll.submissions
        graded = ClassRun(wanted, folder, submissions, release, runner, say, bar.update)
        failed = _grade(asked, graded, release, say) if graded.plan() else ""
    lines, all_have_results = _totals(graded, len(roll.submissions))
    print("\n".join(lines))
    if failed:
        print(f"classroom: {failed}; {_advice(asked)}", file=sys.stderr)
        return ExitCode.GRADER_ERROR
    return ExitCode.OK if all_have_results else ExitCode.FAILED


def _grade(asked: argparse.Namespace, graded: ClassRun, release: shipping.Release, say: Say) -> str:
    """Grade with a cluster; return what cut it short, or ""."""
    cluster = Cluster(asked, release, not asked.preview, say)
    try:
        with cluster.failures(), contextlib.closing(cluster):
            graded.run(cluster.dispatcher())
    except NoCluster as failed:
        return str(failed)
    return ""


def _advice(asked: argparse.Namespace) -> str:
    """Say what to do after a failure."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if asked.preview or asked.scheduler is not None or is_root:
        return "the same command goes on from here"
    return "results count only where root grades on Linux; --preview gives some that don't count"


def _totals(graded: ClassRun, total: int) -> tuple[list[str], bool]:
    """Return lines on what there is now, and whether each submission has a result."""
    found = dict(graded.records())
    faults = {key: record for key, record in found.items() if record["fault"]}
    refused = sum(bool(record["refused"]) for record in found.values())
    previews = sum(not record["counts"] for record in found.values())
    unfinished = total - len(found) + sum(bool(record["again"]) for record in found.values())
    lines = [
        f"{len(found) - len(faults)} of {total} submissions have a result by release "
        f"{graded.release}; in {refused} there was nothing to grade"
    ]
    if previews:
        lines.append(f"{previews} of them are previews, which don't count")
    for key, record in faults.items():
        lines.append(f"staff fault: {key}: {record['fault'].splitlines()[0]:.300}")
    if unfinished:
        lines.append(f"{unfinished} are not finished")
    return lines, not faults and not unfinished


def make_certificates(asked: argparse.Namespace) -> int:
    """Write a cluster's certificates."""
    from .cluster import write_certificates

    write_certificates(asked.folder)
    print(
        f"{asked.folder} has a key: whoever has it can run code on the cluster. Copy the folder "
        "to each of its machines, and nowhere else."
    )
    return ExitCode.OK
