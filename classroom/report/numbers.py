"""Gathers the results of a class that count, and computes statistics of them.

The keys of each row of statistics are the columns of a CSV file.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from autograder.description import load_course
from grading.errors import UsageError

from ..arguments import count
from ..cells import decimal
from ..grades.book import WITHHELD, read_book
from ..grades.people import CODING
from ..store import Store
from ..submissions import points

SUBMISSIONS = """
SELECT s.id, coalesce(r.id, f.id) AS record, coalesce(r.score, 0) AS score,
  coalesce(r.outcome, f.outcome, 'not graded') AS status, coalesce(r.reason, f.reason, '') AS reason
FROM submissions s LEFT JOIN counted ON counted.submission = s.id
  LEFT JOIN records r ON r.id = counted.record
  LEFT JOIN records f ON f.submission = s.id AND f.kind = 'grade' AND f.outcome = 'staff fault'
WHERE EXISTS (SELECT * FROM authors WHERE submission = s.id AND latest)
GROUP BY s.id ORDER BY s.id"""
# The tests of all submissions that count for somebody; a group's submission counts once.
COUNTED_TESTS = """
CREATE TEMP VIEW IF NOT EXISTS counted_tests AS
SELECT tests.* FROM tests JOIN counted USING (record)
WHERE EXISTS (SELECT * FROM authors WHERE authors.submission = counted.submission AND latest)"""
QUESTIONS = """
SELECT record, question, sum(score) AS score, sum(max_score) AS max_score
FROM counted_tests GROUP BY record, question ORDER BY question"""
TESTS = """
SELECT test_id AS test, name, kind, max_score, max(0, sum(max_score - score)) AS points_lost,
  count(*) AS graded, sum(outcome = 'passed') AS passed,
  (SELECT group_concat(outcome || ' ' || number, ', ') FROM
    (SELECT outcome, count(*) AS number FROM counted_tests
      WHERE test_id = t.test_id AND outcome != 'passed' GROUP BY outcome ORDER BY number DESC)
  ) AS other_outcomes,
  avg(nullif(cpu_s, 0)) AS cpu_s_mean, max(nullif(cpu_s, 0)) AS cpu_s_greatest,
  avg(nullif(peak_bytes, 0)) / 1048576 AS mib_mean,
  max(nullif(peak_bytes, 0)) / 1048576.0 AS mib_greatest
FROM counted_tests t GROUP BY test_id ORDER BY points_lost DESC, passed - graded, test_id"""
BINS = 10
SPREAD = ("least", "lower_quartile", "median", "upper_quartile", "greatest", "mean")
Columns = dict[str, Any]


@dataclass(frozen=True)
class Handed:
    """A submission that counts for somebody, and its result; a group's is one."""

    id: str
    names: str
    status: str
    reason: str
    record: int | None  # the id of the record that counts, or else that of a staff fault
    score: Decimal
    earned: dict[str, Decimal]  # its points for each question; none if it has no result
    days_late: int | None  # as it counts for the grade; None if the platform doesn't say how many
    is_withheld: bool  # whether its students' grades are withheld

    @property
    def is_counted(self) -> bool:
        return self.status in ("graded", "nothing to grade")

    @property
    def lateness(self) -> str:
        """The days late, in words."""
        if self.days_late is None:
            return "late"
        return f"{count(self.days_late, 'day')} late" if self.days_late else "on time"


@dataclass(frozen=True)
class Gathered:
    """A class."""

    release: str
    handed: tuple[Handed, ...]
    questions: dict[str, Decimal]  # the maximum points for each, in order
    max_score: Decimal

    @property
    def counted(self) -> list[Handed]:
        """The submissions with a result."""
        return [one for one in self.handed if one.is_counted]


def gather(store: Store) -> Gathered:
    """Read a class.

    Raises:
        UsageError: there are no results, or something that staff decided is a mistake.
    """
    release = store.setting("release")
    if release is None:
        raise UsageError(f"{store.path} has no results that count: run `grade` first")
    store.db.execute(COUNTED_TESTS)
    book = read_book(store, load_course())
    late: dict[str, int | None] = {}
    withheld: set[str] = set()
    for grade in book.grades():
        if work := grade.work.get(CODING):
            late[work.submission] = work.days
        if grade.state == WITHHELD:
            withheld |= {mention.where for mention in grade.person.of(CODING)}
    questions: dict[str, Decimal] = {}
    earned: dict[int | None, dict[str, Decimal]] = defaultdict(dict)
    for row in store.rows(QUESTIONS):
        questions[row["question"]] = Decimal(points(row["max_score"]))
        earned[row["record"]][row["question"]] = Decimal(points(row["score"]))
    handed = []
    for row in store.rows(SUBMISSIONS):
        key = row["id"]
        known = dict(row) | {"score": Decimal(row["score"]), "names": store.names(key)}
        known |= {"days_late": late.get(key, 0), "is_withheld": key in withheld}
        handed.append(Handed(**known, earned=earned[row["record"]]))
    max_score = Decimal(decimal(book.parts[CODING][0]))
    return Gathered(release, tuple(handed), questions, max_score)


def results_of(store: Store, gathered: Gathered) -> Iterator[tuple[Handed, list[dict[str, Any]]]]:
    """Yield each submission with a result, and its tests as the autograder described them."""
    for one in gathered.counted:
        ((text,),) = store.rows("SELECT results FROM records WHERE id = ?", one.record)
        yield one, json.loads(text)["tests"]


# Statistics ---------------------------------------------------------------------------------------


def spread(values: Sequence[float]) -> Columns:
    """Return SPREAD's statistics; None each if there are no values."""
    if not values:
        return dict.fromkeys(SPREAD)
    quartiles = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    return dict(zip(SPREAD, (*map(float, quartiles), statistics.fmean(values)), strict=True))


def histogram(values: Sequence[float], most: float) -> dict[str, int]:
    """Return ten counts, from 0 to `most`; the last one includes `most` and larger values."""
    if not values or most <= 0:
        return {}
    counts, edges = np.histogram(np.clip(values, 0, most), BINS, (0, most))
    bins = zip(edges, edges[1:], counts, strict=False)
    return {f"{low:.3g} to {high:.3g}": int(number) for low, high, number in bins}


def questions(gathered: Gathered) -> list[Columns]:
    """Return the questions, in order; `full` and `none` earned all of its points, and none."""
    rows = []
    for number, most in gathered.questions.items():
        earned = [one.earned.get(number, Decimal(0)) for one in gathered.counted]
        counts = {"full": sum(s == most for s in earned), "none": sum(not s for s in earned)}
        known = spread([float(score) for score in earned])
        rows.append({"question": number, "max_score": most} | known | counts)
    return rows


def tests(store: Store) -> list[Columns]:
    """Return the tests; those in which the class lost most points come first."""
    exact = ("max_score", "points_lost")
    return [
        dict(row) | {key: Decimal(points(row[key])) for key in exact} for row in store.rows(TESTS)
    ]
