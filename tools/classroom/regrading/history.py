"""The regrades of a class, and what was decided about each, in DIR/history.json.

All records of a regrade begin to count at once, when the history says that it was applied.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from grading.errors import UsageError
from grading.results import now

from ..folder import ClassFolder, read_json, write_json

HISTORY = "history.json"
FORMAT = 1
PREFIX = "regrade-"
State = Literal["open", "applied", "discarded"]


@dataclass(frozen=True)
class Regrade:
    """One regrade.

    Attributes:
        release: the hash that names the release that ran the tests.
        baseline: the name of the release whose results it replaces.
        only: the words that named tests; empty for all tests.
        students: the ids of the submissions that it was restricted to; None for all.
        begun, decided: times.
        applied_ns: when it was applied, in nanoseconds since 1970; 0 if it wasn't.
        changes: the numbers of changes (`difference.Difference.numbers`).
    """

    number: int
    state: State
    release: str
    baseline: str
    only: tuple[str, ...]
    students: tuple[str, ...] | None
    begun: str
    author: str = ""
    reason: str = ""
    decided: str = ""
    applied_ns: int = 0
    changes: dict[str, int] | None = None

    @property
    def name(self) -> str:
        """The name of its records."""
        return f"{PREFIX}{self.number}"


def read(folder: ClassFolder) -> list[Regrade]:
    """Return all regrades, in order.

    Raises:
        UsageError: if the file can't be read.
    """
    path = folder.path / HISTORY
    if not path.is_file():
        return []
    try:
        return [_regrade(fields) for fields in read_json(path)["regrades"]]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path} is damaged: {error!r:.200}") from None


def _regrade(fields: dict[str, Any]) -> Regrade:
    students = fields["students"]
    given = {"only": tuple(fields["only"]), "students": students and tuple(students)}
    return Regrade(**fields | given)


def write(folder: ClassFolder, regrade: Regrade) -> None:
    """Add a regrade, or replace its entry."""
    known = {one.number: one for one in read(folder)} | {regrade.number: regrade}
    fields = [asdict(known[number]) for number in sorted(known)]
    write_json(folder.path / HISTORY, {"format": FORMAT, "regrades": fields})


def open_one(folder: ClassFolder) -> Regrade | None:
    """Return the regrade that hasn't been decided yet, or None."""
    return next((one for one in read(folder) if one.state == "open"), None)


def the_open_one(folder: ClassFolder) -> Regrade:
    """Return the regrade that hasn't been decided yet.

    Raises:
        UsageError: if there is none.
    """
    found = open_one(folder)
    if found is None:
        raise UsageError(f"{folder.path} has no open regrade; start one with `regrade DIR`")
    return found


def begin(folder: ClassFolder, wanted: Regrade) -> Regrade:
    """Return the open regrade if it is the one wanted; start that one if none is open.

    Raises:
        UsageError: if another one is open.
    """
    known = read(folder)
    found = open_one(folder)
    if found is None:
        number = 1 + max((one.number for one in known), default=0)
        made = replace(wanted, number=number, begun=now())
        write(folder, made)
        return made
    same = ("release", "baseline", "only", "students")
    if any(getattr(found, key) != getattr(wanted, key) for key in same):
        raise UsageError(
            f"{found.name} is still open, with another release or other options: `apply` or "
            "`discard` it first"
        )
    return found


def decide(
    folder: ClassFolder, regrade: Regrade, state: State, author: str, reason: str
) -> Regrade:
    """Record a decision; this single write makes the results count, or not."""
    decided = replace(
        regrade,
        state=state,
        author=author,
        reason=reason,
        decided=now(),
        applied_ns=time.time_ns() if state == "applied" else 0,
    )
    write(folder, decided)
    return decided


def leave_out(folder: ClassFolder, regrade: Regrade) -> None:
    """Remove a regrade that changed nothing from the history, with its records."""
    decide(folder, regrade, "discarded", "", "")
    drop_records(folder)
    fields = [asdict(one) for one in read(folder) if one.number != regrade.number]
    write_json(folder.path / HISTORY, {"format": FORMAT, "regrades": fields})


def drop_records(folder: ClassFolder) -> None:
    """Remove the records of regrades that were discarded."""
    for regrade in read(folder):
        if regrade.state == "discarded":
            for record in folder.records(regrade.name):
                record.path.unlink()


def counting(folder: ClassFolder) -> Iterator[tuple[str, int]]:
    """Yield each release whose results count, and since when, in nanoseconds since 1970."""
    regrades = {one.name: one for one in read(folder)}
    newest: dict[str, int] = {}
    for record in folder.records():
        written = record.path.stat().st_mtime_ns
        newest[record.release] = max(newest.get(record.release, 0), written)
    for release, written in newest.items():
        regrade = regrades.get(release)
        if regrade is None and not release.startswith(PREFIX):
            yield release, written
        elif regrade is not None and regrade.state == "applied":
            yield release, regrade.applied_ns
