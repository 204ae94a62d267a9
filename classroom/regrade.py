"""Grade a class again, see what changes for whom, and then decide.

    python -m classroom regrade DIR --release FILE    grade again, and preview the changes
    python -m classroom apply DIR --reason TEXT       let the previewed results count
    python -m classroom discard DIR                   drop them
    python -m classroom history DIR                   show what was decided, when and why

The records of a regrade have the kind `regrade-N`. If only some tests were run, they lack the
others until the regrade is applied; `Regrade.difference` adds them.
"""

from __future__ import annotations

import argparse
import getpass
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from autograder.isolation.leftovers import remove_tree
from autograder.pages import WIDE
from grading.errors import UsageError, safe_line
from grading.report import points as shown_points
from grading.report import render
from grading.verdicts import ExitCode, Outcome, cause_of, write_atomically

from . import times
from .arguments import Commands, add_cluster, add_command, add_folder, count, where_of
from .exports import submissions_of
from .grade import FAULT, GRADING, Job, Release, add_release, grade_all, release_of
from .report.result_pages import write_result
from .store import Store, replacing
from .submissions import Record, is_named, points, with_tests

Row = dict[str, Any]  # of the table `records`
Test = dict[str, Any]
OPEN = "regrade"  # the setting that describes the regrade that hasn't been decided yet
PAGES = "regrades"  # the folder in DIR
GONE = "its files are no longer there"
CHANGED = "its files have changed since; --new-files grades them"
NO_TEST = "(no such test)"
LAST_NUMBER = "SELECT max(CAST(substr(what, 9) AS INT)) FROM history WHERE what LIKE 'regrade-%'"
COUNTED = "SELECT records.* FROM records JOIN counted ON record = id ORDER BY counted.submission"
FULL = (Outcome.PASSED.value, Outcome.DROPPED.value)  # outcomes with all points
# The lists of changes, in their order on a page.
GROUPS = TO_ZERO, DOWN, UP, NEW, SIDEWAYS, KEPT, MISSING = (
    "Down to zero",
    "Down",
    "Up",
    "No result before",
    "Same points, but different verdicts",
    "Earlier result kept",
    "No new result",
)


class Verdict(NamedTuple):
    """How a test ended before and after a regrade; `moved`: whether the verdict is another one."""

    test_id: str
    name: str
    was: str
    now: str
    moved: bool
    gain: Decimal


@dataclass
class TestChange:
    """What changes in a test for the whole class: verdicts by the old and new one, and points."""

    test_id: str
    name: str
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    gained: Decimal = Decimal(0)


@dataclass(frozen=True)
class Change:
    """A submission before and after a regrade.

    Attributes:
        before: the record that counts.
        after: the one that would count.
        group: the list in which it is shown; "" if nothing changes.
        why: why it has no new result, or keeps its earlier one; "" otherwise.
    """

    before: Row
    after: Row
    group: str
    why: str = ""
    verdicts: tuple[Verdict, ...] = ()

    @property
    def submission(self) -> str:
        return str(self.before["submission"])

    @property
    def gain(self) -> Decimal:
        was, now = self.before["score"], self.after["score"]
        return Decimal(0) if was is None or now is None else Decimal(now) - Decimal(was)

    @property
    def moved(self) -> tuple[str, str]:
        """The points before and after, with the maximum points if these have changed."""
        worth, words = {self.before["max_score"], self.after["max_score"]}, []
        for record in (self.before, self.after):
            keys = ("score", "max_score") if len(worth - {None}) > 1 else ("score",)
            shown = [shown_points(Decimal(record[key])) for key in keys if record[key] is not None]
            words.append(" of ".join(shown) or "no result")
        return words[0], words[1]


@dataclass(frozen=True)
class Difference:
    """Everything that a regrade changes."""

    changes: list[Change]

    def of(self, group: str) -> list[Change]:
        """Return the changes of a group, the largest first."""
        changes = [change for change in self.changes if change.group == group]
        return sorted(changes, key=lambda c: (-abs(c.gain), Decimal(c.before["score"] or 0)))

    @cached_property
    def tests(self) -> list[TestChange]:
        tests: dict[str, TestChange] = {}
        for each in (verdict for change in self.changes for verdict in change.verdicts):
            test = tests.setdefault(each.test_id, TestChange(each.test_id, each.name))
            test.gained += each.gain
            if each.moved:
                test.moves[each.was, each.now] += 1
        return [*tests.values()]

    @property
    def counts(self) -> str:
        """The numbers of changes, in words."""
        up, down, zero, new = (len(self.of(g)) for g in (UP, DOWN, TO_ZERO, NEW))
        words = f"up {up}, down {down + zero} (to zero {zero}), "
        words += f"same {len(self.changes) - up - down - zero - new}"
        words += f", without a result before {new}" if new else ""
        verdicts = sum(test.moves.total() for test in self.tests)
        return f"{words}; {count(verdicts, 'verdict')} changed"


@dataclass(frozen=True)
class Regrade:
    """A regrade that hasn't been decided yet.

    Attributes:
        tests: the words that name the tests to run; empty for all.
        new_files: whether it grades files that have changed since the class was graded.
    """

    release: str
    edition: str
    tests: list[str]
    new_files: bool
    number: int

    @property
    def name(self) -> str:
        """The kind of its records."""
        return f"regrade-{self.number}"

    @classmethod
    def of(cls, store: Store) -> Regrade | None:
        """Return a class's open regrade, or None."""
        fields = json.loads(store.setting(OPEN) or "{}")
        return cls(*(fields[key] for key in cls.__dataclass_fields__)) if fields else None

    def summary(self, store: Store) -> str:
        """Return what it does, in words."""
        only = f", only {' '.join(self.tests)}" if self.tests else ""
        return f"release {self.release} in place of {store.setting('release')}{only}"

    def difference(self, store: Store) -> Difference:
        """Compare the records that count with the new ones."""
        changes = []
        for base in map(dict, store.rows(COUNTED)):
            new = store.record(base["submission"], self.release, self.name)
            changes.append(self._change(base, dict(new) if new else None))
        return Difference(changes)

    def _change(self, base: Row, new: Row | None) -> Change:
        if new and new["reason"] == GONE:
            return Change(base, base, KEPT, GONE)
        if new and not self.new_files and base["upload"] not in ("", new["upload"]):
            return Change(base, base, KEPT, CHANGED)
        if new is None or base["seed"] not in ("", new["seed"]):
            return Change(base, base, MISSING, "not run yet, or graded again since")
        if new["results"] is None:
            return Change(base, base, MISSING, new["reason"].partition("\n")[0])
        completed = self._completed(base, new)
        change = Change(base, completed, "", "", tuple(_verdicts(base, completed)))
        if base["score"] is None:
            group = NEW
        elif change.gain:
            group = UP if change.gain > 0 else DOWN if Decimal(completed["score"]) else TO_ZERO
        else:
            group = SIDEWAYS if any(verdict.moved for verdict in change.verdicts) else ""
        return replace(change, group=group)

    def _completed(self, base: Row, new: Row) -> Row:
        """Return a new record, with the tests of the earlier one that were not run again.

        Raises:
            UsageError: these have other ids in the new release.
        """
        if not self.tests or base["results"] is None:
            return new
        earlier, results = json.loads(base["results"]), json.loads(new["results"])
        tests = []
        for old, test in _matched(earlier["tests"], results["tests"]):
            if test is not None and is_named(test["test_id"], self.tests):
                tests.append(test)
            elif old is not None and (test is not None or not is_named(old["test_id"], self.tests)):
                tests.append(old)
        twice = [i for i, n in Counter(test["test_id"] for test in tests).items() if n > 1]
        if twice:
            raise UsageError(
                f"{', '.join(twice)} is another test in the new release: regrade without --tests"
            )
        results = with_tests(earlier | {"facts": results["facts"]}, tests)
        sums = {key: points(results[key]) for key in ("score", "max_score")}
        text, reason = json.dumps(results, ensure_ascii=False), base["reason"] or new["reason"]
        outcome = base["outcome"]
        return new | sums | {"results": text, "outcome": outcome, "reason": reason}


def _verdicts(base: Row, new: Row) -> Iterator[Verdict]:
    """Yield how each test ended; without an earlier result, nothing has changed."""
    has_base = base["results"] is not None
    before = json.loads(base["results"])["tests"] if has_base else []
    for old, now in _matched(before, json.loads(new["results"])["tests"]):
        test = now or old
        assert test is not None
        moved = has_base and not (old and now and _is_same(old, now))
        gain = _score(now) - _score(old) if has_base else Decimal(0)
        yield Verdict(test["test_id"], test["name"], _cause(old), _cause(now), moved, gain)


def _matched(
    before: Iterable[Test], after: Iterable[Test]
) -> Iterator[tuple[Test | None, Test | None]]:
    """Yield the tests of two releases in pairs; None where one doesn't have it.

    A test is identified by its topic and name, because its id changes if tests are inserted; in
    results from Gradescope, only ids are known.
    """
    left = {_key(test): test for test in before}
    for test in after:
        yield left.pop((test["topic"], test["test"]), None) or left.pop(test["test_id"], None), test
    yield from ((old, None) for old in left.values())


def _key(test: Test) -> tuple[str, str] | str:
    return (test["topic"], test["test"]) if "test" in test else test["test_id"]


def _score(test: Test | None) -> Decimal:
    return Decimal(0) if test is None else Decimal(points(test["score"]))


def _is_same(old: Test, new: Test) -> bool:
    """Return whether outcome and share of points are the same, whatever the points are.

    Nothing changes for those who passed a test that is dropped.
    """
    if old["outcome"] != new["outcome"] and not {old["outcome"], new["outcome"]} <= {*FULL}:
        return False
    if "credit" in old and "credit" in new:
        return Fraction(old["credit"]) == Fraction(new["credit"])
    return old["max_score"] != new["max_score"] or old["score"] == new["score"]


def _cause(test: Test | None) -> str:
    """Return the id of the way in which a test ended."""
    if test is None:
        return NO_TEST
    if test["outcome"] == Outcome.PASSED.value:
        return Outcome.PASSED.value
    return test.get("cause") or cause_of(Outcome(test["outcome"]), "")


# The preview in a terminal ------------------------------------------------------------------------

MOST_LINES = 20  # of each list, in a terminal


def _preview_lines(store: Store, regrade: Regrade, changes: Difference) -> list[str]:
    """Return the lines of the preview in a terminal, where nobody is named."""
    shown = [f"{regrade.name}: {regrade.summary(store)}", changes.counts]
    changed = [test for test in changes.tests if test.moves or test.gained]
    for test in changed:
        number = test.moves.total()
        line = f"{test.test_id}: {count(number, 'verdict') if number else 'no verdict'} changed"
        line += f", {_signed(test.gained)} points in total" if test.gained else ""
        shown.append(f"{line}  {test.name}")
        for (was, now), number in test.moves.most_common(MOST_LINES):
            shown.append(f"  {number:>5}  {was} -> {now}")
    if same := len(changes.tests) - len(changed):
        shown.append(f"{count(same, 'other test' if changed else 'test')}: no verdict changed")
    for group in (UP, TO_ZERO, DOWN, NEW, KEPT, MISSING):
        listed = changes.of(group)
        for change in listed[:MOST_LINES]:
            how = change.why or " -> ".join(change.moved)
            shown.append(f"{group.lower()}: {change.submission}  {how}")
        if (more := len(listed) - MOST_LINES) > 0:
            shown.append(f"... and {more} more, on the page")
    if missing := changes.of(MISSING):
        left = count(len(missing), "submission")
        shown.append(f"{left} without a new result: run the same command again")
    shown.append(
        f"Nothing counts yet: continue with `apply {store.path} --reason ...` or `discard "
        f"{store.path}`"
    )
    return [safe_line(line) for line in shown]


def _signed(gain: Decimal) -> str:
    return ("+" if gain > 0 else "-") + shown_points(abs(gain)) if gain else "0"


# The page -----------------------------------------------------------------------------------------


def _write_pages(store: Store, regrade: Regrade, changes: Difference, folder: Path) -> None:
    """Write the page, and pages of both results of each submission that changes."""
    for change in changes.changes:
        if change.group and not change.why:
            key, names = change.submission, store.names(change.submission)
            for word, record in (("before", change.before), ("after", change.after)):
                note = f"{key}, {word} {regrade.name}"
                write_result(folder / key / f"{word}.html", record, names, staff=True, note=note)
    text = render(
        Path(__file__).with_name("report") / "regrade.html.j2",
        WIDE,
        title=f"{regrade.name}: what would change",
        summary=regrade.summary(store),
        counts=changes.counts,
        signed=_signed,
        tests=changes.tests,
        lists={group: changes.of(group) for group in GROUPS},
        names=store.names,
    )
    write_atomically(folder / "index.html", text)


# The commands -------------------------------------------------------------------------------------


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


def run_regrade(asked: argparse.Namespace) -> int:
    """Grade a class again, and show the differences."""
    where = where_of(asked)
    if asked.tests and asked.new_files:
        raise UsageError("--new-files needs all tests of the new files: leave out --tests")
    with Store.existing(asked.folder, writes=True) as store:
        release = release_of(asked, store)
        files = submissions_of(store)
        regrade, jobs = _begin(store, asked, release), []
        for base in store.rows(COUNTED):
            key, seed = base["submission"], base["seed"]
            if key in files:
                tests = () if base["results"] is None else tuple(regrade.tests)
                jobs.append(Job(files[key], seed or release.seed(key), tests))
                continue
            graded = store.record(key, release.id, regrade.name)
            # What was graded before they went stays, unless its inputs were others.
            if not graded or graded["results"] is None or seed not in ("", graded["seed"]):
                fault = Record(key, release.id, regrade.name, FAULT, seed, "", None, GONE)
                store.add_record(fault)
        grade_all(store, jobs, release, regrade.name, where)
        changes, folder = regrade.difference(store), store.path / PAGES / regrade.name
        with replacing(folder) as draft:
            _write_pages(store, regrade, changes, draft)
        print(*_preview_lines(store, regrade, changes), sep="\n")
    page = folder / "index.html"
    print(f"Open {page} in a browser: it links to both results of each submission that changes")
    return ExitCode.FAILED if changes.of(MISSING) else ExitCode.OK


def _begin(store: Store, asked: argparse.Namespace, release: Release) -> Regrade:
    """Return the open regrade if it is the one that is asked for; begin it if none is open."""
    edition, before = store.setting("edition"), Regrade.of(store)
    if edition is None:
        raise UsageError(f"{store.path} has no results that count: run `grade` first")
    if asked.tests:
        _check_tests(asked.tests, release, edition)
    ((last,),) = store.rows(LAST_NUMBER)
    number = before.number if before else 1 + (last or 0)
    regrade = Regrade(release.id, release.edition, asked.tests, asked.new_files, number)
    if before not in (None, regrade):
        raise UsageError(
            f"regrade-{number} is still open, with another release or other options: `apply` or "
            "`discard` it first"
        )
    if before is None:
        with store.transaction():
            store.set(OPEN, json.dumps(asdict(regrade)))
            store.note(f"{regrade.name} begun", release.id)
    return regrade


def _check_tests(words: list[str], release: Release, edition: str) -> None:
    if release.edition != edition:
        raise UsageError(f"--tests needs a release of the class's edition {edition}")
    questions = json.loads(release.description)["editions"][release.edition]["questions"]
    tests = [test["test_id"] for question in questions for test in question["tests"]]
    for word in words:
        if not any(is_named(test, [word]) for test in tests):
            raise UsageError(
                f"--tests {safe_line(word, 60)}: {release.edition} has no such test or question"
            )


# apply, discard, history --------------------------------------------------------------------------


def run_apply(asked: argparse.Namespace) -> int:
    """Let the results of the open regrade count."""
    reason = asked.reason.strip()
    if not reason:
        raise UsageError("--reason is blank; the history should say why points changed")
    with Store.existing(asked.folder, writes=True) as store:
        regrade = _the_open_one(store)
        with store.transaction():
            changes = regrade.difference(store)
            if missing := changes.of(MISSING):
                left = count(len(missing), "submission")
                raise UsageError(
                    f"{regrade.name} is not complete: {left} without a new result, or graded "
                    "again since; run `regrade` again, or `discard` it"
                )
            for change in changes.changes:
                if not change.why:
                    fields = {key: change.after[key] for key in Record.__dataclass_fields__}
                    store.count(store.add_record(Record(**fields)))
            store.set("release", regrade.release)
            store.set("edition", regrade.edition)
            _close(store, regrade, f"applied: {changes.counts}", reason)
    print(f"{regrade.name} counts now: {changes.counts}")
    return ExitCode.OK


def run_discard(asked: argparse.Namespace) -> int:
    """Drop the open regrade."""
    with Store.existing(asked.folder, writes=True) as store:
        regrade = _the_open_one(store)
        with store.transaction():
            store.db.execute("DELETE FROM records WHERE kind = ?", (regrade.name,))
            _close(store, regrade, "discarded")
        remove_tree(store.path / PAGES / regrade.name)
        print(f"{regrade.name} is dropped; the results of {store.setting('release')} still count")
    return ExitCode.OK


def _the_open_one(store: Store) -> Regrade:
    regrade = Regrade.of(store)
    if regrade is None:
        raise UsageError(f"{store.path} has no open regrade; start one with `regrade DIR`")
    return regrade


def _close(store: Store, regrade: Regrade, what: str, reason: str = "") -> None:
    store.db.execute("DELETE FROM class WHERE key = ?", (OPEN,))
    store.note(f"{regrade.name} {what}", regrade.release, reason, getpass.getuser())


def run_history(asked: argparse.Namespace) -> int:
    """Print what was decided, when and why."""
    zone = times.course_zone()
    with Store.existing(asked.folder) as store:
        for row in store.rows("SELECT * FROM history ORDER BY id"):
            by = f" by {row['author']}" if row["author"] else ""
            reason = f": {row['reason']}" if row["reason"] else ""
            release = f" (release {row['release']})" if row["release"] else ""
            at = times.shown(row["at"], zone)
            print(safe_line(f"{at}  {row['what']}{release}{by}{reason}"))
        regrade = Regrade.of(store)
        if regrade is not None:
            print(f"{regrade.name} is not decided yet: `apply` or `discard` it")
        counts, edition = store.setting("release"), store.setting("edition")
        print(f"What counts: {f'release {counts} of {edition}' if counts else 'nothing yet'}")
    return ExitCode.OK
