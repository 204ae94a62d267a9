"""Gathers the results of a class that count."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from sqlite3 import Row
from typing import Any

from autograder.description import load_course
from grading.errors import UsageError

from .. import times
from ..grades import book
from ..grades.people import CODING
from ..store import Store

SUBMISSIONS = """
SELECT s.id, s.submitted, coalesce(r.id, f.id) AS record, r.score,
  coalesce(r.outcome, f.outcome, 'not graded') AS status, coalesce(r.reason, f.reason, '') AS reason
FROM submissions s LEFT JOIN counted ON counted.submission = s.id
  LEFT JOIN records r ON r.id = counted.record
  LEFT JOIN records f ON f.submission = s.id AND f.kind = 'grade' AND f.outcome = 'staff fault'
WHERE EXISTS (SELECT * FROM authors WHERE submission = s.id AND latest)
GROUP BY s.id ORDER BY s.id"""


@dataclass(frozen=True)
class Handed:
    """A submission that counts for somebody, and its result; a group's is one.

    Attributes:
        record: the id of the record that counts, or else that of a staff fault.
        day: when it was handed in, in the course's time zone; "" if that is unknown.
        late: how many days late it is for its grade; None if the platform doesn't say how many.
        is_withheld: whether its students' grades are withheld.
        tests: the rows of its tests in the database; empty without a result.
    """

    id: str
    names: str
    status: str
    reason: str
    record: int | None
    score: Decimal
    day: str
    late: int | None
    is_withheld: bool
    tests: tuple[Row, ...]

    @property
    def is_counted(self) -> bool:
        return self.status in ("graded", "nothing to grade")

    @property
    def questions(self) -> dict[str, Decimal]:
        """The points for each question."""
        return _sums(self.tests, "score")


@dataclass(frozen=True)
class Gathered:
    """A class."""

    release: str
    handed: tuple[Handed, ...]

    @property
    def counted(self) -> list[Handed]:
        """The submissions with a result."""
        return [one for one in self.handed if one.is_counted]

    @property
    def tests(self) -> dict[str, Row]:
        """A row of each test, in order: its points, name and kind."""
        rows: dict[str, Row] = {}
        for one in self.counted:
            for test in one.tests:
                rows.setdefault(test["test_id"], test)
        return rows

    @property
    def questions(self) -> dict[str, Decimal]:
        """The maximum points for each question."""
        return _sums(self.tests.values(), "max_score")

    @property
    def max_score(self) -> Decimal:
        paid = [test for test in self.tests.values() if not test["extra"]]
        return sum(_sums(paid, "max_score").values(), Decimal(0))


def _sums(tests: Iterable[Row], column: str) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for test in tests:
        sums[test["question"]] = sums.get(test["question"], Decimal(0)) + Decimal(test[column])
    return sums


def gather(store: Store) -> Gathered:
    """Read a class.

    Raises:
        UsageError: there are no results, or something that staff decided is a mistake.
    """
    release = store.setting("release")
    if release is None:
        raise UsageError(f"{store.path} has no results that count: run `grade` first")
    late, withheld = _decided(store)
    zone = times.course_zone()
    handed = []
    for row in store.rows(SUBMISSIONS):
        submitted = row["submitted"]
        handed.append(
            Handed(
                id=row["id"],
                names=store.names(row["id"]),
                status=row["status"],
                reason=row["reason"],
                record=row["record"],
                score=Decimal(row["score"] or 0),
                day=f"{datetime.fromisoformat(submitted).astimezone(zone):%F}" if submitted else "",
                late=late.get(row["id"], 0),
                is_withheld=row["id"] in withheld,
                tests=tuple(store.rows("SELECT * FROM tests WHERE record = ?", row["record"])),
            )
        )
    return Gathered(release, tuple(handed))


def _decided(store: Store) -> tuple[dict[str, int | None], set[str]]:
    """Return how many days late submissions are for grades, and which are withheld."""
    late: dict[str, int | None] = {}
    withheld: set[str] = set()
    for grade in book.read_book(store, load_course()).grades():
        if work := grade.work.get(CODING):
            late[work.submission] = grade.days.get(CODING)
        if grade.state == book.WITHHELD:
            withheld |= {mention.where for mention in grade.person.of(CODING)}
    return late, withheld


def results_of(store: Store, gathered: Gathered) -> Iterator[tuple[Handed, list[dict[str, Any]]]]:
    """Yield each submission with a result, and its tests as the autograder described them."""
    for one in gathered.counted:
        ((text,),) = store.rows("SELECT results FROM records WHERE id = ?", one.record)
        yield one, json.loads(text)["tests"]
