"""Groups failures by cause, with the submissions concerned and one example each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from grading.verdicts import Outcome, cause_of

from ..records import points
from .gathered import Gathered, Handed

NO_FAILURES = (Outcome.PASSED.value, Outcome.RAN_NOT_GRADED.value)


@dataclass
class Failure:
    """A way to fail in a topic.

    Attributes:
        tests: how often each test failed in this way.
        handed: the submissions, each once, in the order of the roll.
        cost: how many points the class lost because of it.
        message: the example's message to the student.
        example: the submission that is shown, if possible one with a known line.
        where: the line in the example, such as `submission/dataset.py:57`, or "".
        look_at: where tests of the topic advise to look (`grading.verdicts.Verdict`), or "".
    """

    topic: str
    cause: str
    tests: Counter[str] = field(default_factory=Counter)
    handed: list[Handed] = field(default_factory=list)
    cost: Decimal = Decimal(0)
    message: str = ""
    example: Handed | None = None
    where: str = ""
    look_at: str = ""


def failures(gathered: Gathered) -> list[Failure]:
    """Return all ways to fail, the most frequent first."""
    found: dict[tuple[str, str], Failure] = {}
    looked: dict[str, Counter[str]] = {}
    for one in gathered.counted:
        for test in one.tests:
            if test["outcome"] in NO_FAILURES:
                continue
            if test.get("look_at"):
                looked.setdefault(test.get("topic", ""), Counter())[test["look_at"]] += 1
            _add(found, one, test)
    for failure in found.values():
        known = looked.get(failure.topic)
        if not failure.look_at and known:
            failure.look_at = known.most_common(1)[0][0]
    return sorted(found.values(), key=lambda f: (-len(f.handed), -f.cost, f.topic, f.cause))


def _add(found: dict[tuple[str, str], Failure], one: Handed, test: dict[str, Any]) -> None:
    topic = test.get("topic", "")
    cause = test.get("cause") or cause_of(Outcome(test["outcome"]), "")
    failure = found.setdefault((topic, cause), Failure(topic, cause))
    failure.tests[test["test_id"]] += 1
    failure.cost += points(test["max_score"]) - points(test["score"])
    if one not in failure.handed:
        failure.handed.append(one)
    where = test.get("where", "")
    if failure.example is None or (where and not failure.where):
        failure.example, failure.where = one, where
        failure.message = test.get("message", "")
    failure.look_at = failure.look_at or test.get("look_at", "")
