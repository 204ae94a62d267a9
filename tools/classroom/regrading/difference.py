"""What a regrade changes: whose points go up or down, and which verdicts change, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from grading.verdicts import Outcome, cause_of

from ..folder import ClassFolder
from ..records import Record, credit_of, points
from . import plan

PASSED = "passed"
NO_TEST = "(no such test)"


@dataclass(frozen=True)
class Change:
    """A submission before and after a regrade.

    Attributes:
        before, after: its points; None if it has no result.
        worth: the maximum points before and after.
        changed: the tests whose verdict changed, each with the old and the new verdict.
        kept: why it keeps its result without a run; "" if it was run.
        fault: why it has no new result; "" if it has one.
    """

    submission_id: str
    before: Decimal | None
    after: Decimal | None
    worth: tuple[Decimal | None, Decimal | None] = (None, None)
    changed: tuple[tuple[str, str, str], ...] = ()
    kept: str = ""
    fault: str = ""
    unfinished: bool = False

    @property
    def gain(self) -> Decimal:
        if self.before is None or self.after is None:
            return Decimal(0)
        return self.after - self.before

    @property
    def is_new(self) -> bool:
        """Whether there was no result before."""
        return self.before is None and self.after is not None

    @property
    def falls_to_zero(self) -> bool:
        return self.after == 0 and self.gain < 0


@dataclass
class TestChange:
    """What changes in a test for the whole class.

    Attributes:
        ran: for how many submissions it was run.
        moves: how often a verdict changed, by the old and the new verdict.
        gained: how many points all submissions together gain.
    """

    __test__ = False

    test_id: str
    name: str
    ran: int = 0
    changed: int = 0
    moves: Counter[tuple[str, str]] = field(default_factory=Counter)
    gained: Decimal = Decimal(0)


@dataclass(frozen=True)
class Difference:
    """Everything that a regrade changes."""

    changes: tuple[Change, ...]
    tests: tuple[TestChange, ...]

    @property
    def up(self) -> list[Change]:
        return sorted((c for c in self.changes if c.gain > 0), key=lambda c: (-c.gain, c.before))

    @property
    def down(self) -> list[Change]:
        return sorted((c for c in self.changes if c.gain < 0), key=lambda c: (c.gain, c.before))

    @property
    def to_zero(self) -> list[Change]:
        return [c for c in self.changes if c.falls_to_zero]

    @property
    def new(self) -> list[Change]:
        return [c for c in self.changes if c.is_new]

    @property
    def kept(self) -> list[Change]:
        return [c for c in self.changes if c.kept]

    @property
    def unfinished(self) -> list[Change]:
        """The submissions that keep the regrade from being applied."""
        return [c for c in self.changes if c.fault or c.unfinished]

    @property
    def sideways(self) -> list[Change]:
        """The submissions in which a verdict changed, but not the points."""
        return [c for c in self.changes if c.changed and not c.gain and not c.is_new]

    def numbers(self) -> dict[str, int]:
        """Return the counts that are kept in the history."""
        return {
            "submissions": len(self.changes),
            "up": len(self.up),
            "down": len(self.down),
            "to zero": len(self.to_zero),
            "new": len(self.new),
            "verdicts": sum(test.changed for test in self.tests),
        }


def compare(folder: ClassFolder, baseline: str, name: str) -> Difference:
    """Compare the records of two releases of a class.

    Args:
        name: the name of the regrade's records; submissions without one are unfinished.
    """
    counted: dict[str, TestChange] = {}
    changes = []
    for found in folder.records(baseline):
        before = folder.read_record(found.submission_id, baseline)
        assert before is not None
        after = folder.read_record(found.submission_id, name)
        changes.append(_change(found.submission_id, before, after, counted, baseline))
    tests = [test for test in counted.values() if test.ran or test.changed or test.gained]
    return Difference(tuple(changes), tuple(tests))


def _change(
    submission_id: str,
    before: Record,
    after: Record | None,
    counted: dict[str, TestChange],
    baseline: str,
) -> Change:
    had = None if before["results"] is None else plan.total(before["results"])
    if after is None:
        return Change(submission_id, had, had, unfinished=True)
    stale = after.get("base") != plan.identity(before)
    has = None if after["results"] is None else plan.total(after["results"])
    changed = tuple(_moves(before, after, counted, baseline))
    return Change(
        submission_id,
        had,
        has,
        (_worth(before), _worth(after)),
        changed,
        after.get("kept", ""),
        after["fault"] if not after.get("kept") and _in_run(before, after) else "",
        unfinished=bool(after["again"]) or stale,
    )


def _worth(record: Record) -> Decimal | None:
    results = record["results"]
    return None if results is None else points(results["max_score"])


def _in_run(before: Record, after: Record) -> bool:
    """Return whether a fault occurred in the regrade, and not before."""
    return after["fault"] != before["fault"]


def _moves(
    before: Record, after: Record, counted: dict[str, TestChange], baseline: str
) -> Iterable[tuple[str, str, str]]:
    """Yield each test whose verdict changed, and count it."""
    was = {plan.key(t): t for t in _tests(before)} | {(t["test_id"],): t for t in _tests(before)}
    is_ = _tests(after)
    seen = set()
    for test in is_:
        old = was.get(plan.key(test)) or was.get((test["test_id"],))
        change = counted.setdefault(
            test["test_id"], TestChange(test["test_id"], test.get("name", ""))
        )
        change.ran += test.get("release") not in (None, baseline, (old or {}).get("release"))
        if before["results"] is None:
            continue
        change.gained += points(test["score"]) - (points(old["score"]) if old else 0)
        if old is not None:
            seen.add(old["test_id"])
        if old is None or verdict(old) != verdict(test):
            yield _count(change, NO_TEST if old is None else cause(old), cause(test))
    if before["results"] is not None and after["results"] is not None:
        for old in _tests(before):
            if old["test_id"] not in seen:
                change = counted.setdefault(
                    old["test_id"], TestChange(old["test_id"], old.get("name", ""))
                )
                change.gained -= points(old["score"])
                yield _count(change, cause(old), NO_TEST)


def _count(change: TestChange, was: str, now: str) -> tuple[str, str, str]:
    change.changed += 1
    change.moves[was, now] += 1
    return change.test_id, was, now


def _tests(record: Record) -> list[dict[str, Any]]:
    return [] if record["results"] is None else record["results"]["tests"]


def verdict(test: dict[str, Any]) -> tuple[str, Fraction]:
    """Return a test's outcome and share of points, without its message and number of points."""
    credit = credit_of(test)
    if credit is None:  # only rounded points were kept
        credit = Fraction(points(test["score"])) / Fraction(points(test["max_score"]))
    return test["outcome"], credit


def cause(test: dict[str, Any]) -> str:
    """Return the id of the way in which a test ended."""
    if test["outcome"] == PASSED:
        return PASSED
    return test.get("cause") or cause_of(Outcome(test["outcome"]), "")
