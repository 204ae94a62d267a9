"""Reads Gradescope's submission_metadata.json: who submitted when, and how often before.

Documented at gradescope-autograders.readthedocs.io, "Submission Metadata". Nothing in it decides
points, so nothing in it may prevent grading: missing or odd values count as unknown, and are
reported to staff.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

MAX_BYTES = 64 << 20  # the latest earlier results are some hundred kilobytes
MAX_SCORE = 10**6
DAY = timedelta(hours=24)


@dataclass(frozen=True)
class Previous:
    """An earlier submission."""

    submitted: datetime
    score: Decimal | None = None  # the whole score, whatever students can see of it
    failed: bool = False  # the autograder failed, so that students saw no result


@dataclass(frozen=True)
class Metadata:
    """What is known about a submission; unknown values are None or empty."""

    submission_id: str | None = None
    created: datetime | None = None
    due: tuple[datetime | None, ...] = ()  # for each member of the group, extensions included
    assignment_due: datetime | None = None  # without extensions
    previous: tuple[Previous, ...] = ()  # those that came before this one, oldest first
    problems: tuple[str, ...] = ()  # for staff

    def with_feedback(self, a_day: int) -> list[Previous]:
        """Return the earlier submissions that showed their hidden tests at once.

        A submission did if fewer than `a_day` did in the 24 hours before it, or if `a_day` is 0.
        Only times decide this, so it doesn't matter when, or how often, anything is graded.
        """
        shown: list[Previous] = []
        for each in self.previous:
            if not each.failed and (not a_day or len(_day_before(each.submitted, shown)) < a_day):
                shown.append(each)
        return shown

    def until_feedback(self, a_day: int) -> timedelta:
        """Return how long after this submission another one would show its hidden tests at once.

        Zero means that this one does. If its own time is unknown, it does, too.
        """
        if not a_day or self.created is None:
            return timedelta(0)
        used = _day_before(self.created, self.with_feedback(a_day))
        if len(used) < a_day:
            return timedelta(0)
        return DAY - (self.created - used[-a_day].submitted)

    def is_early(self) -> bool:
        """Return whether it is certain that no due date had come when this arrived.

        Gradescope doesn't say whether `after_due_date` heeds extensions, so all dates count.
        """
        created, dates = self.created, (self.assignment_due, *self.due)
        return created is not None and all(due is not None and created < due for due in dates)


def _day_before(time: datetime, submissions: list[Previous]) -> list[Previous]:
    """Return those of the 24 hours before a time.

    One of the same instant is not before it: it may be the same submission, graded again.
    """
    return [s for s in submissions if timedelta(0) < time - s.submitted < DAY]


def read(path: Path) -> Metadata:
    """Read the metadata in a file; raise nothing, whatever is in it."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return Metadata(problems=(f"{path.name} has more than {MAX_BYTES} bytes",))
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        problem = f"{path.name} can't be read: {type(error).__name__}: {error!s:.200}"
        return Metadata(problems=(problem,))
    if not isinstance(raw, dict):
        return Metadata(problems=(f"{path.name} is not a JSON object",))
    problems: list[str] = []
    number, general = raw.get("id"), _dict(raw.get("assignment")).get("due_date")
    if type(number) not in (int, str):
        problems.append(f"id is {number!r:.100}")
        number = None
    created = _time(raw.get("created_at"), "created_at", problems)
    previous = []
    for entry in _dicts(raw.get("previous_submissions")):
        submitted = _time(entry.get("submission_time"), "submission_time", problems)
        # A regrade may list this submission, too, and later ones.
        if submitted is not None and created is not None and submitted < created:
            failed = entry.get("autograder_error") is True
            previous.append(Previous(submitted, _score(entry.get("score")), failed))

    def due(date: Any) -> datetime | None:
        return None if date is None else _time(date, "due_date", problems)

    users = _dicts(raw.get("users")) or [{}]
    return Metadata(
        submission_id=None if number is None else str(number),
        created=created,
        due=tuple(due(_dict(u.get("assignment")).get("due_date") or general) for u in users),
        assignment_due=due(general),
        previous=tuple(sorted(previous, key=lambda each: each.submitted)),
        problems=tuple(problems),
    )


def arrival(metadata: Metadata) -> str:
    """Return a sentence on when the submission arrived, without names or individual dates."""
    if metadata.created is None:
        return ""
    clock = metadata.created.strftime("%Y-%m-%d at %H:%M (UTC%z)")
    came = f"Submitted on {clock.replace('(UTC+0000)', '(UTC)')}"
    known = [due for due in metadata.due if due is not None]
    if not known:
        return came + "."
    late = [due for due in known if metadata.created > due]
    if not late:
        return f"{came}, on time."
    after = duration(metadata.created - min(late))
    whom = "" if len(metadata.due) == 1 else f" of {len(late)} of the group's {len(metadata.due)}"
    return f"{came}, {after} after the due date{whom}. The grader deducts nothing for this."


def duration(span: timedelta) -> str:
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


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _score(value: Any) -> Decimal | None:
    """Return a score, which Gradescope documents as a number and writes as a text; or None."""
    if type(value) not in (int, float, str):
        return None
    try:
        score = Decimal(str(value))
        return score if 0 <= score < MAX_SCORE else None
    except (InvalidOperation, ValueError):  # no number, NaN, or too many digits to print
        return None
