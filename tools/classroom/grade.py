"""`grade SOURCE --into DIR`: grade a class on the cores of this machine, or on a cluster."""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path

from tqdm import tqdm  # type: ignore[import-untyped]

from grading import paths
from grading.edition import load_assignment
from grading.runner import Runner
from grading.verdicts import ExitCode
from questions.course import Course

from . import shipping
from .class_run import Asked, ClassRun
from .dispatching import (
    CONTINUE,
    Cluster,
    Say,
    add_cluster,
    check_cluster,
    cut_short,
    report_failure,
    teller,
)
from .folder import ClassFolder, Source
from .listing import add_source, summary
from .parsers import GRADING, Commands, add_command, add_into
from .roster import read_class


def add_to(commands: Commands) -> None:
    """Add the commands."""
    command = add_command(
        commands,
        "grade",
        run,
        "grade a class, and keep a record of each submission",
        "Grade what a class handed in, and keep a record of each submission in DIR. Submissions "
        "that already have a record are skipped.",
        GRADING,
    )
    add_source(command)
    add_into(command)
    command.add_argument(
        "--edition", metavar="EDITION", help="default: the default edition in assignment.toml"
    )
    add_cluster(command)
    command.add_argument(
        "--preview",
        action="store_true",
        help="also grade on workers that aren't root; the results don't count",
    )
    made = add_command(
        commands,
        "certificates",
        make_certificates,
        "make the certificates with which a cluster's machines authenticate each other",
    )
    made.add_argument("folder", type=Path, metavar="DIR", help="a new folder")


def run(asked: argparse.Namespace) -> int:
    """Grade a class; return the exit code."""
    check_cluster(asked)
    runner = Runner(load_assignment(paths.ROOT), Course())
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
        say = teller(bar)
        wanted = Asked(edition, counts=not asked.preview)
        submissions = roll.submissions
        graded = ClassRun(wanted, folder, submissions, release, runner, say, bar.update)
        failed = _grade(asked, graded, release, say, folder) if graded.plan() else ""
    lines, all_have_results = _totals(graded, len(roll.submissions))
    print("\n".join(lines))
    if failed:
        return report_failure(failed, _advice(asked))
    return ExitCode.OK if all_have_results else ExitCode.FAILED


def _grade(
    asked: argparse.Namespace,
    graded: ClassRun,
    release: shipping.Release,
    say: Say,
    folder: ClassFolder,
) -> str:
    """Grade with a cluster; return what cut it short, or ""."""

    def work() -> None:
        with contextlib.closing(Cluster(asked, release, not asked.preview, say)) as cluster:
            graded.run(cluster.dispatcher())

    return cut_short(work, folder)


def _advice(asked: argparse.Namespace) -> str:
    """Return what to do after a failure."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if asked.preview or asked.scheduler is not None or is_root:
        return CONTINUE
    return "results count only if workers run as root on Linux; --preview grades without counting"


def _totals(graded: ClassRun, total: int) -> tuple[list[str], bool]:
    """Return lines that sum up the records, and whether each submission has a result."""
    found = dict(graded.records())
    faults = {key: record for key, record in found.items() if record["fault"]}
    refused = sum(bool(record["refused"]) for record in found.values())
    previews = sum(not record["counts"] for record in found.values())
    unfinished = total - len(found) + sum(bool(record["again"]) for record in found.values())
    lines = [
        f"{len(found) - len(faults)} of {total} submissions have a result from release "
        f"{graded.release}; {refused} of them had nothing to grade"
    ]
    if previews:
        lines.append(f"{previews} of them are previews, which don't count")
    for key, record in faults.items():
        lines.append(f"staff fault: {key}: {record['fault'].splitlines()[0]:.300}")
    if unfinished:
        lines.append(f"{unfinished} {'is' if unfinished == 1 else 'are'} not finished")
    return lines, not faults and not unfinished


def make_certificates(asked: argparse.Namespace) -> int:
    """Write a cluster's certificates."""
    from .cluster import write_certificates

    write_certificates(asked.folder)
    print(
        f"{asked.folder} contains a key: whoever has it can run code on the cluster. Copy the "
        "folder to each machine of the cluster, and nowhere else."
    )
    return ExitCode.OK
