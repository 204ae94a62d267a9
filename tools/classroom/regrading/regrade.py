"""The commands `regrade`, `apply`, `discard` and `history`."""

from __future__ import annotations

import argparse
import contextlib
import getpass
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm  # type: ignore[import-untyped]

from classroom.arguments import count
from grading import paths, printable
from grading.edition import load_assignment
from grading.errors import UsageError
from grading.runner import Runner
from grading.verdicts import ExitCode
from questions.course import Course

from .. import shipping
from ..choosing import chosen
from ..dispatching import (
    Cluster,
    Say,
    add_cluster,
    check_cluster,
    cut_short,
    report_failure,
    teller,
)
from ..folder import ClassFolder
from ..handed_files import add_files, submissions_of
from ..parsers import GRADING, Commands, add_command, add_folder
from ..records import Record
from ..table import newest_release
from . import difference, history, plan, preview
from .history import Regrade
from .other_release import Described, describe
from .plan import Rules
from .regrade_run import RegradeRun, Regrading


def add_to(commands: Commands) -> None:
    """Add the commands."""
    _add_regrade(commands)
    for name, run, words in (
        ("apply", run_apply, "let the results of a regrade count"),
        ("discard", run_discard, "drop the results of a regrade"),
    ):
        decided = add_command(commands, name, run, words)
        add_folder(decided)
        decided.add_argument(
            "--reason", required=name == "apply", default="", help="recorded in the history"
        )
        decided.add_argument("--author", help="recorded in the history; default: your user name")
    add_folder(
        add_command(commands, "history", run_history, "show all regrades, what was decided and why")
    )


def _add_regrade(commands: Commands) -> None:
    command = add_command(
        commands,
        "regrade",
        run_regrade,
        "grade a class again with another release, and show the differences",
        "Run the tests that changed, each with the seed of the result that it would replace, and "
        "show whose points go up or down. Nothing counts until `apply`.",
        GRADING,
    )
    add_folder(command)
    command.add_argument(
        "--release",
        type=Path,
        default=paths.ROOT,
        metavar="CHECKOUT",
        help="a checkout of the repository to grade with; default: this one",
    )
    add_scope(command)
    add_files(command)
    add_cluster(command)
    command.add_argument("--names", action="store_true", help="show the students' names")


def add_scope(command: argparse.ArgumentParser) -> None:
    """Add the arguments that restrict a command to some tests and submissions."""
    command.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TEST",
        help="only this test or question, such as 1e; may be repeated",
    )
    command.add_argument(
        "--students",
        type=Path,
        metavar="FILE",
        help="only these students: a CSV file with a column submission_id, sid or email, or a list "
        "with one of these on each line",
    )


def run_regrade(asked: argparse.Namespace) -> int:
    """Run the tests that changed, and show the differences."""
    check_cluster(asked)
    folder = ClassFolder.existing(asked.folder)
    with folder.locked(), tqdm(unit="submission", disable=None) as bar:
        history.drop_records(folder)
        before = Before.read(folder, newest_release(folder))
        release = before.release_of(asked.release)
        described = describe(asked.release, before.edition)
        described.scope(asked.only)
        ids = chosen(folder, asked.students)
        wanted = Regrade(
            0,
            "open",
            release.digest[:16],
            before.name,
            tuple(asked.only),
            None if ids is None else tuple(sorted(ids)),
            begun="",
        )
        regrade = history.begin(folder, wanted)
        say = teller(bar)
        with contextlib.closing(Cluster(asked, release, before.counts, say)) as cluster:

            def work() -> None:
                _run(asked, folder, before, described, regrade, cluster, release, bar, say)

            failed = cut_short(work, folder)
        return _show(asked, folder, regrade, failed)


@dataclass(frozen=True)
class Before:
    """The results that a regrade would replace."""

    name: str
    records: dict[str, Record]

    @classmethod
    def read(cls, folder: ClassFolder, name: str) -> Before:
        """Read the results of a release.

        Raises:
            UsageError: if there are none, or they can't be compared.
        """
        found = {
            one.submission_id: record
            for one in folder.records(name)
            if (record := folder.read_record(one.submission_id, name)) is not None
        }
        made = cls(name, found)
        if not made.editions:
            raise UsageError(f"{folder.path} has no results from release {name}: run `grade` first")
        if len(made.editions) > 1:
            raise UsageError(
                f"release {name} graded several editions, {' and '.join(sorted(made.editions))}; "
                "expected one"
            )
        return made

    @property
    def editions(self) -> set[str]:
        results = [record["results"] for record in self.records.values()]
        return {each["edition"] for each in results if each is not None}

    @property
    def edition(self) -> str:
        (found,) = self.editions
        return found

    @property
    def counts(self) -> bool:
        """Whether they count; if so, the results that replace them have to count as well."""
        return any(record["counts"] for record in self.records.values())

    def release_of(self, checkout: Path) -> shipping.Release:
        """Pack a checkout, with the seed with which these results were graded."""
        release = shipping.make_release(checkout, self.edition)
        seed = plan.common_seed(self.records.values())
        return release if seed is None else replace(release, seed=int(seed))


def _run(
    asked: argparse.Namespace,
    folder: ClassFolder,
    before: Before,
    described: Described,
    regrade: Regrade,
    cluster: Cluster,
    release: shipping.Release,
    bar: tqdm,
    say: Say,
) -> None:
    """Run the tests that changed."""
    rules = Rules(described, tuple(cluster.environments()), before.name, tuple(asked.only))
    ids = frozenset(before.records if regrade.students is None else regrade.students)
    ids &= before.records.keys()
    needed = [key for key in sorted(ids) if rules.plan(before.records[key]).wanted]
    submissions = submissions_of(folder, asked, say) if needed else []
    regrading = Regrading(rules, regrade.name, ids, str(release.seed))
    runner = Runner(load_assignment(paths.ROOT), Course())
    bar.reset(total=len(before.records))
    made = RegradeRun(
        regrading, before.counts, folder, submissions, release, runner, say, bar.update
    )
    if made.plan():
        made.run(cluster.dispatcher())


def _show(asked: argparse.Namespace, folder: ClassFolder, regrade: Regrade, failed: str) -> int:
    """Print and write the preview; drop a regrade that changes nothing."""
    found = difference.compare(folder, regrade.baseline, regrade.name)
    if not (failed or found.tests or found.unfinished or found.new):
        history.leave_out(folder, regrade)
        print("No test and no points have changed, so there is nothing to regrade.")
        return ExitCode.OK
    page = preview.write_page(folder, regrade, found)
    for line in preview.lines(folder, regrade, found, names=asked.names):
        print(line)
    print(f"Open {page} in a browser: it links to both results of each submission that changes")
    if failed:
        return report_failure(failed)
    return ExitCode.FAILED if found.unfinished else ExitCode.OK


def run_apply(asked: argparse.Namespace) -> int:
    """Let the results of the open regrade count."""
    folder = ClassFolder.existing(asked.folder)
    with folder.locked():
        regrade = history.the_open_one(folder)
        reason = printable.line(asked.reason.strip())
        if not reason:
            raise UsageError("--reason is blank; the history should say why points changed")
        found = difference.compare(folder, regrade.baseline, regrade.name)
        if newest_release(folder) != regrade.baseline or found.unfinished:
            left = count(len(found.unfinished), "submission")
            raise UsageError(
                f"{regrade.name} is not complete: {left} without a new result, or graded again "
                "since; run `regrade` again, or `discard` it"
            )
        kept = replace(regrade, changes=found.numbers())
        history.decide(folder, kept, "applied", _author(asked), reason)
    print(f"{regrade.name} counts now: {preview.counts(found)}")
    return ExitCode.OK


def run_discard(asked: argparse.Namespace) -> int:
    """Drop the open regrade."""
    folder = ClassFolder.existing(asked.folder)
    with folder.locked():
        regrade = history.the_open_one(folder)
        found = difference.compare(folder, regrade.baseline, regrade.name)
        kept = replace(regrade, changes=found.numbers())
        reason = printable.line(asked.reason.strip())
        history.decide(folder, kept, "discarded", _author(asked), reason)
        history.drop_records(folder)
        preview.remove_page(folder, regrade)
    print(f"{regrade.name} is dropped; the results of {regrade.baseline} still count")
    return ExitCode.OK


def _author(asked: argparse.Namespace) -> str:
    return printable.line(asked.author or getpass.getuser(), 200)


def run_history(asked: argparse.Namespace) -> int:
    """Print what was decided about each regrade."""
    folder = ClassFolder.existing(asked.folder)
    found = history.read(folder)
    for regrade in found:
        for line in preview.history_lines(regrade):
            print(line)
    if not found:
        print("There were no regrades.")
    print(f"What counts now: {newest_release(folder)}")
    return ExitCode.OK
