"""Decides which tests of a record to keep and which to run again, and makes the new record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from grading.cases import in_scope
from grading.results import share_of
from grading.verdicts import Outcome

from .. import records
from ..dispatching import Environment
from ..records import Record
from .other_release import Described, Test

TestDict = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a regrade does with a record.

    Attributes:
        tests: the new release's tests, in its order: results that are kept, with their points
            recalculated, and None for tests that are run.
        wanted: the ids of the tests to run.
        seed: the seed to run them with; None for the class's.
    """

    tests: dict[str, TestDict | None] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    seed: str | None = None


@dataclass(frozen=True)
class Rules:
    """What a regrade was asked for.

    Attributes:
        only: the words that name tests or questions; empty for all.
        environments: the versions and processors of the workers.
        baseline: the name of the release whose results are replaced.
    """

    described: Described
    environments: tuple[Environment, ...]
    baseline: str
    only: tuple[str, ...] = ()

    def plan(self, record: Record) -> Plan:
        """Return the plan for one record; without results, all tests are run."""
        results = record["results"]
        if results is None:
            wanted = tuple(test.test_id for test in self.described.tests)
            return Plan(dict.fromkeys(wanted), wanted, record.get("seed"))
        scope = self.described.scope(self.only)
        before = {key(test): test for test in results["tests"]}
        tests: dict[str, TestDict | None] = {}
        for test in self.described.tests:
            old = before.pop((test.topic, test.test), None) or before.pop((test.test_id,), None)
            if test.test_id in scope:
                tests[test.test_id] = self._standing(test, old)
            elif old is not None:
                tests[old["test_id"]] = self._marked(old)
        for old in before.values():  # tests that the release no longer has
            if self.only and not any(in_scope(word, old["test_id"]) for word in self.only):
                tests[old["test_id"]] = self._marked(old)
        wanted = tuple(test_id for test_id, test in tests.items() if test is None)
        return Plan(tests, wanted, str(results["seed"]))

    def _standing(self, test: Test, old: TestDict | None) -> TestDict | None:
        """Return a test's result with the new points, or None if the test has to be run."""
        if old is None or old.get("digest") not in test.digests(self.environments):
            return None
        credit = records.credit_of(old)
        if credit is None:
            return None
        return self._marked(old) | {
            "test_id": test.test_id,
            "name": test.name,
            "score": float(share_of(test.max_score, credit)),
            "max_score": float(test.max_score),
            "is_extra_credit": test.is_extra_credit,
        }

    def _marked(self, test: TestDict) -> TestDict:
        """Return a test with the name of the release that ran it."""
        return {"release": self.baseline} | test


def key(test: TestDict) -> tuple[str, ...]:
    """Return what identifies a test: not its number, which changes if tests are inserted."""
    return (test["topic"], test["test"]) if "test" in test else (test["test_id"],)


def record_of(
    plan: Plan, before: Record, release: str, partial: Record | None, rules: Rules
) -> Record:
    """Return the record that a regrade writes.

    Args:
        release: the name of the release that ran the tests.
        partial: the record of the run of `plan.wanted` (see `records.graded`); None if there was
            nothing to run.
    """
    ran: dict[str, TestDict] = {}
    base = before["results"]
    if partial is not None:
        ran = {t["test_id"]: t | {"release": release} for t in partial["results"]["tests"]}
        base = partial["results"] if base is None else base
    tests = [ran[test_id] if test is None else test for test_id, test in plan.tests.items()]
    results = records.with_tests(base | {"edition": rules.described.edition}, tests)
    record = before | {"results": results, "fault": "", "again": [], "base": identity(before)}
    if partial is None:
        return record
    return record | {key: partial[key] for key in ("upload", "counts", "refused", "again")}


def refused_tests(plan: Plan, rules: Rules, message: str) -> list[TestDict]:
    """Return the results of an upload in which the new release finds nothing to grade."""
    described = {test.test_id: test for test in rules.described.tests}
    return [_nothing(described[test_id], message) for test_id in plan.wanted]


def _nothing(test: Test, message: str) -> TestDict:
    outcome = Outcome.MISSING_FILE
    return {
        "test_id": test.test_id,
        "name": test.name,
        "topic": test.topic,
        "test": test.test,
        "kind": test.kind,
        "outcome": outcome.value,
        "score": 0.0,
        "max_score": float(test.max_score),
        "is_extra_credit": test.is_extra_credit,
        "message": message,
        "cause": "missing-file.nothing",
        "credit": str(Fraction(0)),
    }


def identity(record: Record) -> str:
    """Return a hash of a record, by which later changes to it are noticed."""
    text = json.dumps(record, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def common_seed(found: Iterable[Record]) -> str | None:
    """Return the seed with which most records of a class were graded."""
    seeds = [str(r["results"]["seed"]) for r in found if r["results"] is not None]
    return max(set(seeds), key=seeds.count) if seeds else None


def total(results: dict[str, Any]) -> Decimal:
    """Return the points of a result."""
    return sum((records.points(test["score"]) for test in results["tests"]), Decimal(0))
