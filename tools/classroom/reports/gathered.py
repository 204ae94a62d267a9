"""Gathers the results of a class for a report, as far as they count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ..folder import ClassFolder
from ..records import Record, points
from ..regrading.repeat import releases, varied
from ..submissions import RollEntry
from ..table import status
from .result_pages import number_of

COUNTED = ("graded", "nothing to grade")


@dataclass(frozen=True)
class Handed:
    """A submission and its result.

    Attributes:
        record: its record from the release that counts; None if there is none.
        varied: how often each verdict occurred, for tests whose verdict varied in a `repeat`.
    """

    submission_id: str
    entry: RollEntry
    record: Record | None
    varied: dict[str, Counter[str]]

    @property
    def status(self) -> str:
        return status(self.record)

    @property
    def is_counted(self) -> bool:
        """Whether there is a final result, possibly of a preview."""
        return self.status.removesuffix(" (preview)") in COUNTED

    @property
    def tests(self) -> list[dict[str, Any]]:
        """The tests of a final result; otherwise none."""
        if not self.is_counted or self.record is None or self.record["results"] is None:
            return []
        return self.record["results"]["tests"]

    @property
    def score(self) -> Decimal:
        return sum((points(test["score"]) for test in self.tests), Decimal(0))

    @property
    def names(self) -> str:
        return ", ".join(student.name or student.key for student in self.entry.students)


@dataclass(frozen=True)
class Gathered:
    """A class's results from one release."""

    release: str
    handed: tuple[Handed, ...]

    @property
    def counted(self) -> list[Handed]:
        """The submissions with a final result; a group's is one."""
        return [one for one in self.handed if one.is_counted]

    @property
    def tests(self) -> dict[str, dict[str, Any]]:
        """One entry for each test, in order: its points, name and kind."""
        found: dict[str, dict[str, Any]] = {}
        for one in self.counted:
            for test in one.tests:
                found.setdefault(test["test_id"], test)
        return found

    @property
    def questions(self) -> dict[str, list[str]]:
        """The tests of each question, by its number."""
        found: dict[str, list[str]] = {}
        for test_id, test in self.tests.items():
            found.setdefault(number_of(test), []).append(test_id)
        return found

    @property
    def max_score(self) -> Decimal:
        paid = [test for test in self.tests.values() if not test.get("is_extra_credit")]
        return sum((points(test["max_score"]) for test in paid), Decimal(0))


def gather(folder: ClassFolder, release: str) -> Gathered:
    """Read a class.

    Raises:
        UsageError: if the release has no records.
    """
    folder.records_of(release)  # fails if there are none
    roll = folder.roll()
    handed = [_handed(folder, key, entry, release) for key, entry in sorted(roll.items())]
    return Gathered(release, tuple(handed))


def _handed(folder: ClassFolder, key: str, entry: RollEntry, release: str) -> Handed:
    found = [each for repeated in releases(folder) for each in varied(folder, repeated, [key])]
    ends = {test_id: counts for _, test_id, counts in found}
    return Handed(key, entry, folder.read_record(key, release), ends)
