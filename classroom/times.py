"""Times: stored in UTC, shown in the course's time zone, which is that of its due date."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from autograder.description import load_course


def now() -> str:
    """Return the current time as it is stored."""
    return stored(datetime.now(UTC).replace(microsecond=0))


def stored(time: datetime) -> str:
    """Return a time as it is stored; as texts, stored times are in the order of time.

    One without a zone is taken as UTC, as Gradescope's are.
    """
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def course_zone() -> tzinfo:
    """Return the course's time zone; UsageError: course.toml has a mistake."""
    zone = load_course().dates.due.tzinfo
    assert zone is not None  # a rule of course.toml
    return zone


def shown(time: str | datetime, zone: tzinfo) -> str:
    """Return a time for people: `2026-11-02 15:48-08:00`."""
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    return time.astimezone(zone).isoformat(" ", "minutes")
