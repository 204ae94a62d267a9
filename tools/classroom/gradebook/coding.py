"""Coding scores, from the records of a release in a class's folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from grading.errors import UsageError

from ..folder import ClassFolder, read_json
from ..records import Record
from ..submissions import RollEntry, Student, utc
from ..table import status
from .handed import Handed, Item
from .people import Mention

COUNT = ("graded", "nothing to grade")  # what `table.status` returns for results that count


def mentions(folder: ClassFolder, release: str) -> list[Mention]:
    """Return everybody who handed in code, each member of a group, with the points.

    Raises:
        UsageError: if the release has no records, or one can't be read.
    """
    records = {r.submission_id: read_json(r.path) for r in folder.records_of(release)}
    return [
        Mention("coding", submission_id, student.name, _ids(student), handed)
        for submission_id, entry in sorted(folder.roll().items())
        for handed in [_handed(submission_id, entry, records.get(submission_id), release)]
        for student in entry.students
    ]


def edition(folder: ClassFolder, release: str) -> str:
    """Return the edition that a release graded; "" if no record names it."""
    for record in folder.records(release):
        results = read_json(record.path)["results"]
        if results is not None and results.get("edition"):
            return str(results["edition"])
    return ""


def _ids(student: Student) -> tuple[tuple[str, str], ...]:
    ids = [("sid", student.sid), ("email", student.email)]
    platform, _, number = student.key.partition(":")
    if platform == "canvas":
        ids.append(("canvas", number))
    return tuple((kind, value.strip()) for kind, value in ids if value and value.strip())


def _handed(submission_id: str, entry: RollEntry, record: Record | None, release: str) -> Handed:
    said = status(record)
    counts = said in COUNT and record is not None and record["results"] is not None
    where = f"{submission_id}, release {release}"
    return Handed(
        part="coding",
        submission=submission_id,
        where=where,
        items=tuple(_items(record, where)) if counts and record is not None else (),
        time=utc(entry.created_at) if entry.created_at else None,
        is_late=entry.late and entry.created_at is None,
        gap="" if counts else f"{submission_id}: {said}",
        attempt=entry.attempt,
    )


def _items(record: Record, where: str) -> Iterator[Item]:
    try:
        for test in record["results"]["tests"]:
            test_id = str(test["test_id"])
            yield Item(
                id=test_id,
                points=_exact(test["score"]),
                most=_exact(test["max_score"]),
                is_extra=bool(test.get("is_extra_credit")),
                group=test_id.partition("-")[0],
                source=where,
            )
    except (KeyError, TypeError, InvalidOperation) as error:
        raise UsageError(f"the record of {where} is damaged: {error!r:.200}") from None


def _exact(points: Any) -> Fraction:
    """Return points as they were written: 1.1 as 11/10.

    Raises:
        TypeError: if they aren't a number of 0 or more.
    """
    if isinstance(points, bool) or not isinstance(points, int | float):
        raise TypeError(f"points of {json.dumps(points)}")
    value = Decimal(str(points))
    if not value.is_finite() or value < 0:
        raise TypeError(f"points of {points}")
    return Fraction(value)
