"""Grade a class again, see what changes for whom, and then decide.

    python -m classroom regrade DIR --release FILE    grade again, and preview the changes
    python -m classroom apply DIR --reason TEXT       let the previewed results count
    python -m classroom discard DIR                   drop them
    python -m classroom history DIR                   show what was decided, when and why

The records of a regrade have the kind `regrade-N`. If only some tests were run, they lack the
others until the regrade is applied.
"""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from collections.abc import Collection
from dataclasses import asdict, replace
from sqlite3 import Row

from autograder.isolation.leftovers import remove_tree
from grading import printable
from grading.cases import in_scope
from grading.errors import UsageError
from grading.verdicts import ExitCode

from . import difference, preview, times
from .arguments import Commands, add_cluster, add_command, add_folder, count, where_of
from .difference import MISSING, OPEN, Regrade
from .grade import GRADING, Job, Release, add_release, grade_all, progress_bar, release_of, teller
from .listing import submissions_of
from .records import Record
from .store import Store


def add_to(commands: Commands) -> None:
    """Add the commands."""
    command = add_command(
        commands,
        "regrade",
        run_regrade,
        "grade a class again, and show the differences",
        "Grade a class again, each submission with the inputs of the result that it would replace, "
        "and show whose points go up or down. Nothing counts until `apply`.",
        GRADING,
    )
    add_folder(command)
    add_release(command)
    command.add_argument(
        "--tests",
        nargs="+",
        default=[],
        metavar="TEST",
        help="only these tests, questions or parts, such as 1e-8-hidden 1g",
    )
    command.add_argument(
        "--new-files", action="store_true", help="also grade files that have changed since"
    )
    add_cluster(command)
    apply = add_command(commands, "apply", run_apply, "let the results of a regrade count")
    apply.add_argument("--reason", required=True, help="recorded in the history")
    discard = add_command(commands, "discard", run_discard, "drop the results of a regrade")
    history = add_command(commands, "history", run_history, "show what counts since when, and why")
    for each in (apply, discard, history):
        add_folder(each)


# regrade ------------------------------------------------------------------------------------------


def run_regrade(asked: argparse.Namespace) -> int:
    """Grade a class again, and show the differences."""
    where = where_of(asked)
    if asked.tests and asked.new_files:
        raise UsageError("--new-files needs all tests of the new files: leave out --tests")
    with Store.existing(asked.folder, writes=True) as store:
        release = release_of(asked, store)
        files = submissions_of(store, lambda line: print(line, file=sys.stderr))
        regrade = _begin(store, asked, release, files)
        jobs = [
            Job(
                files[base["submission"]],
                base["seed"] or release.seed(base["submission"]),
                () if base["results"] is None else regrade.tests,
            )
            for base, _, _ in regrade.pairs(store)
            if base["submission"] not in regrade.gone
        ]
        with progress_bar(len(jobs)) as bar:
            grade_all(store, jobs, release, regrade.name, where, teller(bar), bar.update)
        return _show(store, regrade)


def _begin(
    store: Store, asked: argparse.Namespace, release: Release, files: Collection[str]
) -> Regrade:
    """Return the open regrade if it is the one that is asked for; begin that one if none is open.

    Args:
        files: the submissions whose files are there.

    Raises:
        UsageError: there is nothing to regrade, or another one is open.
    """
    baseline, edition = store.setting("release"), store.setting("edition")
    if baseline is None:
        raise UsageError(f"{store.path} has no results that count: run `grade` first")
    if asked.tests:
        _check_tests(asked.tests, release, edition)
    regrade = Regrade(release.id, release.edition, baseline, tuple(asked.tests), asked.new_files)
    before = Regrade.of(store)
    if before is not None and replace(before, number=0, gone=()) != regrade:
        raise UsageError(
            f"{before.name} is still open, with another release or other options: `apply` or "
            "`discard` it first"
        )
    counted = {row["submission"] for row in store.rows("SELECT submission FROM counted")}
    number = before.number if before else _next_number(store)
    regrade = replace(regrade, number=number, gone=tuple(sorted(counted.difference(files))))
    with store.transaction():
        store.set(OPEN, json.dumps(asdict(regrade)))
        if before is None:
            store.note(f"{regrade.name} begun", release.id)
    return regrade


def _check_tests(words: list[str], release: Release, edition: str | None) -> None:
    if release.edition != edition:
        raise UsageError(f"--tests needs a release of the class's edition {edition}")
    questions = json.loads(release.description)["editions"][release.edition]["questions"]
    tests = [test["test_id"] for question in questions for test in question["tests"]]
    for word in words:
        if not any(in_scope(word, test) for test in tests):
            raise UsageError(
                f"--tests {printable.line(word, 60)}: {release.edition} has no such test or "
                "question"
            )


def _next_number(store: Store) -> int:
    names = [row["what"].split()[0] for row in store.rows("SELECT what FROM history")]
    numbers = [name.removeprefix("regrade-") for name in names if name.startswith("regrade-")]
    return 1 + max((int(number) for number in numbers if number.isdecimal()), default=0)


def _show(store: Store, regrade: Regrade) -> int:
    """Print and write the preview."""
    changes = regrade.difference(store)
    page = preview.write_pages(store, regrade, changes)
    for line in preview.lines(store, regrade, changes):
        print(line)
    print(f"Open {page} in a browser: it links to both results of each submission that changes")
    return ExitCode.FAILED if changes.of(MISSING) else ExitCode.OK


# apply, discard, history --------------------------------------------------------------------------


def run_apply(asked: argparse.Namespace) -> int:
    """Let the results of the open regrade count."""
    reason = printable.line(asked.reason.strip())
    if not reason:
        raise UsageError("--reason is blank; the history should say why points changed")
    with Store.existing(asked.folder, writes=True) as store:
        regrade = _the_open_one(store)
        changes = regrade.difference(store)
        if missing := changes.of(MISSING):
            left = count(len(missing), "submission")
            raise UsageError(
                f"{regrade.name} is not complete: {left} without a new result, or graded again "
                "since; run `regrade` again, or `discard` it"
            )
        with store.transaction():
            for base, new, kept in regrade.pairs(store):
                if not kept:
                    assert new is not None  # otherwise, it isn't complete
                    store.count(_complete(store, base, new, regrade.tests))
            store.set("release", regrade.release)
            store.set("edition", regrade.edition)
            _close(store, regrade, f"applied: {changes.counts}", reason)
    print(f"{regrade.name} counts now: {changes.counts}")
    return ExitCode.OK


def _complete(store: Store, base: Row, new: Row, tests: tuple[str, ...]) -> int:
    """Return the id of a new record, with the tests that were not run again."""
    if not tests or base["results"] is None:
        return int(new["id"])
    fields = {key: new[key] for key in Record.__dataclass_fields__}
    results = json.dumps(difference.merged(base, new, tests), ensure_ascii=False)
    outcome, reason = base["outcome"], base["reason"] or new["reason"]
    return store.add_record(
        Record(**fields | {"results": results, "outcome": outcome, "reason": reason})
    )


def run_discard(asked: argparse.Namespace) -> int:
    """Drop the open regrade."""
    with Store.existing(asked.folder, writes=True) as store:
        regrade = _the_open_one(store)
        with store.transaction():
            store.db.execute("DELETE FROM records WHERE kind = ?", (regrade.name,))
            _close(store, regrade, "discarded")
        remove_tree(preview.folder_of(store, regrade.name))
    print(f"{regrade.name} is dropped; the results of {regrade.baseline} still count")
    return ExitCode.OK


def _the_open_one(store: Store) -> Regrade:
    regrade = Regrade.of(store)
    if regrade is None:
        raise UsageError(f"{store.path} has no open regrade; start one with `regrade DIR`")
    return regrade


def _close(store: Store, regrade: Regrade, what: str, reason: str = "") -> None:
    store.db.execute("DELETE FROM class WHERE key = ?", (OPEN,))
    author = printable.line(getpass.getuser(), 200)
    store.note(f"{regrade.name} {what}", regrade.release, reason, author)


def run_history(asked: argparse.Namespace) -> int:
    """Print what was decided, when and why."""
    zone = times.course_zone()
    with Store.existing(asked.folder) as store:
        for row in store.rows("SELECT * FROM history ORDER BY id"):
            by = f" by {row['author']}" if row["author"] else ""
            reason = f": {row['reason']}" if row["reason"] else ""
            release = f" (release {row['release']})" if row["release"] else ""
            at = times.shown(row["at"], zone)
            print(printable.line(f"{at}  {row['what']}{release}{by}{reason}"))
        regrade = Regrade.of(store)
        if regrade is not None:
            print(f"{regrade.name} is not decided yet: `apply` or `discard` it")
        counts, edition = store.setting("release"), store.setting("edition")
        print(f"What counts: {f'release {counts} of {edition}' if counts else 'nothing yet'}")
    return ExitCode.OK
