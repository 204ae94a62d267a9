"""Reads Gradescope's submission_metadata.json: who submitted when, and how often before.

Documented at gradescope-autograders.readthedocs.io, "Submission Metadata". Nothing in it decides
points, so nothing in it may prevent grading: missing or odd values count as unknown, and are
reported to staff.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

MAX_BYTES = 64 << 20  # a hundred earlier results are a few megabytes
DAY = timedelta(hours=24)


@dataclass(frozen=True)
class Previous:
    """An earlier submission: its time, and the results object that was written for it."""

    submitted: datetime | None
    results: dict[str, Any]

    @property
    def tests(self) -> list[dict[str, Any]]:
        return _dicts(self.results.get("tests"))

    def extra(self, key: str) -> Any:
        return _dict(self.results.get("extra_data")).get(key)

    def points(self) -> float:
        """Sum the points of the tests that were visible to the student at once."""
        shown = [t for t in self.tests if t.get("visibility", "visible") == "visible"]
        return sum(t["score"] for t in shown if _is_score(t.get("score")))


@dataclass(frozen=True)
class Metadata:
    """What is known about a submission; unknown values are None or empty."""

    submission_id: str | None = None
    created: datetime | None = None
    due: tuple[datetime | None, ...] = ()  # for each member of the group, extensions included
    previous: tuple[Previous, ...] = ()  # oldest first
    problems: tuple[str, ...] = field(default=(), compare=False)  # for staff

    def within_a_day(self) -> list[Previous]:
        """Return those of `before()` that arrived in the 24 hours before this one.

        They don't depend on when it is graded, so grading again gives the same result.
        """
        return [previous for previous, ago in self._ages() if ago < DAY]

    def before(self) -> list[Previous]:
        """Return the submissions that arrived before this one; a regrade may know later ones."""
        return [previous for previous, _ in self._ages()]

    def _ages(self) -> Iterator[tuple[Previous, timedelta]]:
        """Yield the submissions that arrived before this one, and how long before."""
        for previous in self.previous:
            created, submitted = self.created, previous.submitted
            if created is not None and submitted is not None and submitted <= created:
                yield previous, created - submitted


def read(path: Path) -> Metadata:
    """Read the metadata in a file; raise nothing, whatever is in it."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return Metadata(problems=(f"{path.name} has more than {MAX_BYTES} bytes",))
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        problem = f"{path.name} can't be read: {type(error).__name__}: {error!s:.200}"
        return Metadata(problems=(problem,))
    problems: list[str] = []
    if not isinstance(raw, dict):
        return Metadata(problems=(f"{path.name} is not a JSON object",))
    submission_id = raw.get("id")
    if type(submission_id) not in (int, str):
        problems.append(f"id is {submission_id!r:.100}")
        submission_id = None
    created = _time(raw.get("created_at"), "created_at", problems)
    previous = [
        Previous(_time(p.get("submission_time"), "submission_time", problems), _results(p))
        for p in _dicts(raw.get("previous_submissions"))
    ]
    previous.sort(key=lambda p: (p.submitted is not None, p.submitted or 0))
    return Metadata(
        None if submission_id is None else str(submission_id),
        created,
        _due(raw, problems),
        tuple(previous),
        tuple(problems),
    )


def _due(raw: dict[str, Any], problems: list[str]) -> tuple[datetime | None, ...]:
    """Return each member's due date: their own, or the one for everybody."""
    general = _dict(raw.get("assignment")).get("due_date")
    users = _dicts(raw.get("users")) or [{}]
    dates = (_dict(user.get("assignment")).get("due_date") or general for user in users)
    return tuple(None if d is None else _time(d, "due_date", problems) for d in dates)


def arrival(metadata: Metadata) -> str:
    """Return a sentence on when the submission arrived, without names or individual dates."""
    if metadata.created is None:
        return ""
    came = f"Submitted on {_clock(metadata.created)}"
    known = [due for due in metadata.due if due is not None]
    if not known:
        return came + "."
    late = [due for due in known if metadata.created > due]
    if not late:
        return f"{came}, on time."
    after = _duration(metadata.created - min(late))
    whom = "" if len(metadata.due) == 1 else f" of {len(late)} of the group's {len(metadata.due)}"
    return f"{came}, {after} after the due date{whom}. The grader deducts nothing for this."


def _clock(time: datetime) -> str:
    return time.strftime("%Y-%m-%d at %H:%M (UTC%z)").replace("(UTC+0000)", "(UTC)")


def _duration(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    days, hours = minutes // (24 * 60), minutes // 60 % 24
    if days:
        return f"{days} day{'s' * (days > 1)} and {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"


def _time(value: Any, name: str, problems: list[str]) -> datetime | None:
    try:
        time = datetime.fromisoformat(value)
        if time.tzinfo is None:
            raise ValueError("it has no time zone")
        return time
    except (TypeError, ValueError, OverflowError) as error:
        problems.append(f"{name} is {value!r:.100}: {error!s:.100}")
        return None


def _results(entry: dict[str, Any]) -> dict[str, Any]:
    return _dict(entry.get("results"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _is_score(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e6  # neither infinite nor NaN
