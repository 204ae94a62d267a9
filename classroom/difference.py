"""A regrade, and what it changes: whose points go up or down, which verdicts change, and how."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from sqlite3 import Row
from typing import Any

from grading.cases import in_scope
from grading.errors import UsageError
from grading.verdicts import Outcome, cause_of

from .arguments import count
from .records import points, with_tests
from .store import Store

Test = dict[str, Any]
OPEN = "regrade"  # the setting that describes the regrade that hasn't been decided yet
GONE = "its files are no longer there"
CHANGED = "its files have changed since; --new-files grades them"
NO_TEST = "(no such test)"
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


@dataclass(frozen=True)
class Change:
    """A submission before and after a regrade.

    Attributes:
        before, after: its points; None if it has no result.
        worth: the maximum points before and after.
        verdicts: the tests whose verdict changed, each with the old and the new verdict.
        kept: why it keeps its earlier result; "" if it has a new one.
        fault: why it has no new result although it should; "" if it has one.
    """

    submission: str
    before: Decimal | None
    after: Decimal | None
    worth: tuple[Decimal | None, Decimal | None] = (None, None)
    verdicts: tuple[tuple[str, str, str], ...] = ()
    kept: str = ""
    fault: str = ""

    @property
    def gain(self) -> Decimal:
        if self.before is None or self.after is None:
            return Decimal(0)
        return self.after - self.before

    @property
    def group(self) -> str:
        """The list in which it is shown; "" if nothing changes."""
        if self.kept or self.fault:
            return KEPT if self.kept else MISSING
        if self.before is None:
            return NEW
        if self.gain:
            return UP if self.gain > 0 else TO_ZERO if self.after == 0 else DOWN
        return SIDEWAYS if self.verdicts else ""


@dataclass
class TestChange:
    """What changes in a test for the whole class.

    Attributes:
        moves: how often a verdict changed, by the old and the new verdict.
        gained: how many points all submissions together gain.
    """

    __test__ = False

    test_id: str
    name: str
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    gained: Decimal = Decimal(0)


@dataclass(frozen=True)
class Difference:
    """Everything that a regrade changes."""

    changes: tuple[Change, ...]
    tests: tuple[TestChange, ...]

    def of(self, group: str) -> list[Change]:
        """Return the changes of a group, the largest first."""
        changes = [change for change in self.changes if change.group == group]
        return sorted(changes, key=lambda change: (-abs(change.gain), change.before or 0))

    @property
    def counts(self) -> str:
        """The numbers of changes, in words."""
        up, down, zero, new = (len(self.of(g)) for g in (UP, DOWN, TO_ZERO, NEW))
        verdicts = sum(test.moves.total() for test in self.tests)
        words = f"up {up}, down {down + zero} (to zero {zero}), "
        words += f"same {len(self.changes) - up - down - zero - new}"
        words += f", without a result before {new}" if new else ""
        return f"{words}; {count(verdicts, 'verdict')} changed"


@dataclass(frozen=True)
class Regrade:
    """A regrade that hasn't been decided yet.

    Attributes:
        baseline: the release whose results it would replace.
        tests: the words that name the tests to run; empty for all.
        new_files: whether it grades files that have changed since the class was graded.
        gone: the submissions whose files are no longer there.
    """

    release: str
    edition: str
    baseline: str
    tests: tuple[str, ...]
    new_files: bool
    number: int = 0
    gone: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The kind of its records."""
        return f"regrade-{self.number}"

    @property
    def summary(self) -> str:
        """What it does, in words."""
        only = f", only {' '.join(self.tests)}" if self.tests else ""
        return f"release {self.release} in place of {self.baseline}{only}"

    @classmethod
    def of(cls, store: Store) -> Regrade | None:
        """Return a class's open regrade, or None."""
        text = store.setting(OPEN)
        if text is None:
            return None
        fields = json.loads(text)
        return cls(**{key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()})

    def pairs(self, store: Store) -> Iterator[tuple[Row, Row | None, str]]:
        """Yield each submission's record that counts, the new one, and why it keeps the former."""
        for base in store.rows(COUNTED):
            new = store.record(base["submission"], self.release, self.name)
            kept = GONE if base["submission"] in self.gone else ""
            if new is not None and not self.new_files and base["upload"] not in ("", new["upload"]):
                kept = CHANGED
            yield base, new, kept

    def difference(self, store: Store) -> Difference:
        """Compare the records that count with the new ones."""
        tests: dict[str, TestChange] = {}
        changes = tuple(_change(*pair, self.tests, tests) for pair in self.pairs(store))
        return Difference(changes, tuple(tests.values()))


def merged(base: Row, new: Row, words: Sequence[str]) -> dict[str, Any]:
    """Return the results that a regrade would let count, from a record and its new one.

    Args:
        words: those that name the tests that were run; empty for all tests.

    Raises:
        UsageError: the other tests have other ids in the new release.
    """
    results: dict[str, Any] = json.loads(new["results"])
    if not words or base["results"] is None:
        return results
    earlier: dict[str, Any] = json.loads(base["results"])
    tests = []
    for old, test in _matched(earlier["tests"], results["tests"]):
        if test is not None and _is_named(test, words):
            tests.append(test)
        elif old is not None and (test is not None or not _is_named(old, words)):
            tests.append(old)
    twice = [i for i, n in Counter(test["test_id"] for test in tests).items() if n > 1]
    if twice:
        raise UsageError(
            f"{', '.join(twice)} is another test in the new release: regrade without --tests"
        )
    return with_tests(earlier | {"facts": results["facts"]}, tests)


def _change(
    base: Row, new: Row | None, kept: str, words: Sequence[str], tests: dict[str, TestChange]
) -> Change:
    before = _points(base["score"])
    if kept:
        return Change(base["submission"], before, before, kept=kept)
    if new is None or base["seed"] not in ("", new["seed"]):
        return Change(
            base["submission"], before, before, fault="not run yet, or graded again since"
        )
    if new["results"] is None:
        return Change(base["submission"], before, before, fault=new["reason"])
    results = merged(base, new, words)
    return Change(
        base["submission"],
        before,
        _points(results["score"]),
        (_points(base["max_score"]), _points(results["max_score"])),
        tuple(_verdicts(base, results, tests)),
    )


def _points(number: float | str | None) -> Decimal | None:
    return None if number is None else Decimal(points(number))


def _verdicts(
    base: Row, results: dict[str, Any], tests: dict[str, TestChange]
) -> Iterable[tuple[str, str, str]]:
    """Yield each test whose verdict changed, and count it."""
    before = [] if base["results"] is None else json.loads(base["results"])["tests"]
    for old, new in _matched(before, results["tests"]):
        test = new or old
        assert test is not None
        change = tests.setdefault(test["test_id"], TestChange(test["test_id"], test["name"]))
        if base["results"] is None:
            continue
        change.gained += _score(new) - _score(old)
        if old is None or new is None or not _is_same(old, new):
            was, now = _cause(old), _cause(new)
            change.moves[was, now] += 1
            yield test["test_id"], was, now


def _matched(
    before: Iterable[Test], after: Iterable[Test]
) -> Iterator[tuple[Test | None, Test | None]]:
    """Yield the tests of two releases in pairs; None where one doesn't have it.

    A test is identified by its topic and name, because its id changes if tests are inserted; in
    results from Gradescope, only ids are known.
    """
    left = {(test["topic"], test["test"]) if "test" in test else test["test_id"]: test
            for test in before}  # fmt: skip
    for test in after:
        yield left.pop((test["topic"], test["test"]), None) or left.pop(test["test_id"], None), test
    yield from ((old, None) for old in left.values())


def _score(test: Test | None) -> Decimal:
    return Decimal(0) if test is None else Decimal(points(test["score"]))


def _is_named(test: Test, words: Sequence[str]) -> bool:
    return any(in_scope(word, test["test_id"]) for word in words)


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
