"""What somebody handed in and the points it earned, for coding and for written answers alike."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from ..store import Store
from .people import CODING, WRITTEN, Mention
from .written import IsExtra

# In the order of the table `students`; what these columns are called in `people.Mention.ids`.
IDS = {"key": "key", "sid": "sid", "email": "email", "canvas_id": "canvas", "moodle_id": "moodle",
       "login": "login"}  # fmt: skip
SUBMITTED = """
SELECT students.*, s.id AS submission, s.submitted, s.late, r.id AS record, r.release,
  coalesce(r.outcome, (SELECT max(outcome) FROM records WHERE submission = s.id AND kind = 'grade'
    AND outcome = 'staff fault'), 'not graded') AS outcome
FROM authors JOIN students ON students.id = authors.student
  JOIN submissions s ON s.id = authors.submission
  LEFT JOIN counted ON counted.submission = s.id LEFT JOIN records r ON r.id = counted.record
WHERE authors.latest ORDER BY s.id, students.id"""


@dataclass(frozen=True)
class Item:
    """Points for a test, or for a written question.

    Attributes:
        id: its name in overrides: "1e-0-basic", or "1.2" as Gradescope numbers a question.
        group: the question that a test belongs to, "1e"; "" for a written question.
        most: the maximum points; None if the source doesn't contain them.
        title: what a written question is called.
        source: where the points come from.
        override: the place of the override that they come from, if they do.
    """

    id: str
    points: Fraction
    most: Fraction | None
    is_extra: bool = False
    group: str = ""
    title: str = ""
    source: str = ""
    override: str = ""


@dataclass(frozen=True)
class Work:
    """What one person handed in for one part.

    Attributes:
        part: "coding" or "written".
        submission: its ID on the platform; "" if there is none.
        items: what the points are for.
        time: when it was handed in; None if the platform doesn't say.
        is_late: whether the platform marks it as late without saying by how much.
        gap: why there are no points that count; "" if there are.
    """

    part: str
    submission: str
    items: tuple[Item, ...] = ()
    time: datetime | None = None
    is_late: bool = False
    gap: str = ""


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key for sorting in which 1e-2 is before 1e-10."""
    return [(int(part or 0), other) for part, other in re.findall(r"(\d*)(\D*)", text)]


def coding(store: Store) -> list[Mention]:
    """Return everybody who handed in code, each member of a group, with the points that count."""
    tests = defaultdict(list)
    for test in store.rows("SELECT tests.* FROM tests JOIN counted USING (record)"):
        tests[test["record"]].append(test)
    mentions = []
    for row in store.rows(SUBMITTED):
        counts = row["outcome"] in ("graded", "nothing to grade")
        source = f"{row['submission']}, release {row['release']}"
        items = [
            Item(
                test["test_id"],
                Fraction(test["score"]),
                Fraction(test["max_score"]),
                bool(test["extra"]),
                test["question"],
                source=source,
            )
            for test in (tests[row["record"]] if counts else ())
        ]
        time = datetime.fromisoformat(row["submitted"]) if row["submitted"] else None
        work = Work(
            CODING,
            row["submission"],
            tuple(sorted(items, key=lambda item: natural(item.id))),
            time,
            is_late=bool(row["late"]) and time is None,
            gap="" if counts else f"{row['submission']}: {row['outcome']}",
        )
        ids = ((kind, (row[column] or "").strip()) for column, kind in IDS.items())
        mentions.append(
            Mention(CODING, row["submission"], row["name"], tuple(i for i in ids if i[1]), work)
        )
    return mentions


def written(store: Store, is_extra: IsExtra) -> list[Mention]:
    """Return everybody in Gradescope's scores of the written answers, with the points.

    Args:
        is_extra: tells whether a question with this title is extra credit.
    """
    rows = defaultdict(list)
    for row in store.rows("SELECT * FROM written ORDER BY rowid"):
        rows[row["place"]].append(row)
    mentions = []
    for place, several in rows.items():
        first = several[0]
        items = [
            Item(
                row["question"],
                Fraction(row["score"]),
                Fraction(row["max_score"]) if row["max_score"] is not None else None,
                is_extra(row["title"]),
                title=row["title"],
                source=place,
            )
            for row in several
            if row["score"] is not None
        ]
        work = Work(
            WRITTEN,
            first["submission"],
            tuple(items),
            datetime.fromisoformat(first["submitted"]) if first["submitted"] else None,
            gap=f"{place}: {first['status']}" if first["status"] else "",
        )
        ids = (("sid", first["sid"]), ("email", first["email"]))
        mentions.append(Mention(WRITTEN, place, first["name"], tuple(i for i in ids if i[1]), work))
    return mentions
