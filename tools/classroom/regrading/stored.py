"""`stored EXPORT --into DIR`: start from the results that Gradescope stored, to regrade them.

Each result keeps the seed with which it was graded; it is in the record at the end of the staff
output, or in `extra_data`. Older releases kept an earlier submission's points if the daily limit on
hidden feedback was reached; nothing is compared with these.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from autograder import replay
from grading.errors import SubmissionError, UsageError
from grading.verdicts import ExitCode, Outcome

from .. import records
from ..folder import ClassFolder, Source
from ..gradescope_export import METADATA, metadata_of
from ..listing import summary
from ..parsers import Commands, add_command, add_into
from ..records import Record
from ..roster import read_class
from ..submissions import ID, Submission
from ..symbols import Node, entries

STORED = "gradescope"  # the name of the release
EARLIER = (
    "the points on Gradescope are those of an earlier submission, because the daily limit on "
    "hidden feedback was reached"
)
FAILED = "the autograder failed on Gradescope, so there are no results"
UNKNOWN = "the results on Gradescope are not from this grader: {}"


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "stored",
        run,
        "start a class's folder from the results that Gradescope stored",
        "Extract the results from a Gradescope export, so that `regrade` can compare them with "
        "another release.",
    )
    command.add_argument("source", type=Path, metavar="EXPORT", help="a Gradescope export")
    add_into(command)


def run(asked: argparse.Namespace) -> int:
    """Write a record of each stored result."""
    roll = read_class(asked.source)
    metadata = metadata_of(asked.source)
    if metadata is None:
        raise UsageError(f"{asked.source} has no {METADATA}: expected a Gradescope export")
    print(summary(roll))
    for note in roll.notes:
        print(f"note: {note}")
    folder = ClassFolder.create(asked.into)
    with folder.locked():
        folder.enroll(roll.submissions)
        folder.remember(Source(asked.source, "latest"))
        kept = 0
        with metadata.open() as stream:  # read one by one, as it may have hundreds of megabytes
            for submission, stored in _stored(stream, roll.submissions):
                record = record_of(submission, stored)
                folder.write_record(submission.submission_id, STORED, record)
                kept += not record["fault"]
                if record["fault"]:
                    print(f"{submission.submission_id}: no baseline: {record['fault']}")
    print(f"{kept} of {len(roll.submissions)} submissions have results that can be compared")
    return ExitCode.OK


def _stored(
    stream: IO[bytes], submissions: Iterable[Submission]
) -> Iterator[tuple[Submission, Node]]:
    """Yield each submission with its stored results; None if there are none."""
    waiting = {one.submission_id: one for one in submissions}
    for key, entry, _ in entries(stream, METADATA, results=True):
        if isinstance(entry, dict) and key in waiting:
            yield waiting.pop(key), entry.get(":results")
    yield from ((submission, None) for submission in waiting.values())


def record_of(submission: Submission, stored: Node) -> Record:
    """Return the record of a stored result; if it is no baseline, with the reason and the seed."""
    assert ID.fullmatch(submission.submission_id)
    try:
        digest = submission.upload.digest()
    except SubmissionError:
        digest = "unreadable"
    if not isinstance(stored, dict) or not _dicts(stored.get("tests")):
        return records.staff_fault(digest, [FAILED], counts=True)
    staff = _staff_record(stored)
    extra = _dict(stored.get("extra_data"))
    facts = _dict(staff.get("facts")) or extra
    head = staff or extra
    seed = str(head.get("seed", ""))
    if not seed.isdecimal() or not head.get("edition"):
        why = UNKNOWN.format("edition and seed are neither in their record nor in extra_data")
        return records.staff_fault(digest, [why], counts=True)
    if extra.get("hidden_feedback") == "false" or _is_partial(staff):
        return records.staff_fault(digest, [EARLIER], counts=True) | {"seed": seed}
    try:
        known = {test["test_id"]: test for test in _dicts(staff.get("tests"))}
        found = [*_dicts(stored["tests"]), *_not_begun(extra)]
        tests = [test for entry in found for test in _tests(entry, known)]
        tests.sort(key=lambda test: _place(test["test_id"]))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        why = UNKNOWN.format(f"{type(error).__name__}: {error!s:.100}")
        return records.staff_fault(digest, [why], counts=True) | {"seed": seed}
    results: dict[str, Any] = {"edition": str(head["edition"]), "seed": seed, "asked": []}
    results["facts"] = {
        "authoritative": extra.get("authoritative", "true") == "true",
        "submission": submission.submission_id,
        **{key: facts[key] for key in ("graded", "judged_by", "versions") if key in facts},
    }
    answer = {"results": records.with_tests(results, tests), "refused": ""}
    return records.graded(digest, answer, alone=True)


def _staff_record(stored: dict[str, Node]) -> dict[str, Any]:
    """Return the record at the end of the staff output; {} if the export has none."""
    text = stored.get("stdout")
    lines = text.strip().splitlines() if isinstance(text, str) else []
    if not lines or not lines[-1].startswith(replay.RECORD):
        return {}
    try:
        return _dict(json.loads(lines[-1].removeprefix(replay.RECORD)))
    except (ValueError, RecursionError):
        return {}


def _is_partial(staff: dict[str, Any]) -> bool:
    """Return whether hidden tests were left out of the run that made a record."""
    return any(t.get("outcome") == Outcome.NOT_RUN.value for t in _dicts(staff.get("tests")))


def _not_begun(extra: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what would be the entries of practice that was not begun."""
    topics = _dict(extra.get("not_begun")).items()
    return [{"tags": [topic], "extra_data": {"outcomes": ends}} for topic, ends in topics]


def _tests(stored: dict[str, Any], known: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tests that an entry stands for, in the form that they have in records.

    All tests of a question without points share an entry. Earlier, each test had its own.

    Raises:
        KeyError, ValueError, TypeError, AttributeError: if the entry is not from this grader.
    """
    about = _dict(stored["extra_data"])
    outcomes = about["outcomes"] if "outcomes" in about else {about["test_id"]: about["outcome"]}
    return [_test(stored, str(i), Outcome(end).value, known) for i, end in outcomes.items()]


def _test(
    stored: dict[str, Any], test_id: str, outcome: str, known: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    # Rounded, because one entry has an error that makes their sum exact. Practice has no points.
    score, most = (round(float(stored.get(key, 0)), 2) for key in ("score", "max_score"))
    if not (math.isfinite(score) and math.isfinite(most)):
        raise ValueError(f"{test_id} has {score} of {most} points")
    tags = [tag for tag in stored.get("tags") or [] if isinstance(tag, str)]
    found = {
        "test_id": test_id,
        "name": str(stored.get("name") or "").removeprefix(f"{test_id}: "),
        "topic": tags[0] if tags else "",
        "kind": test_id.rpartition("-")[2],
        "outcome": outcome,
        "score": score,
        "max_score": most,
        "is_extra_credit": "extra credit" in tags,
        "message": str(stored.get("output") or ""),
    }
    staffs = known.get(test_id, {})
    if staffs.get("outcome") == outcome:
        kept = ("credit", "cause", "look_at")
        found |= {key: staffs[key] for key in kept if key in staffs}
    return found


def _place(test_id: str) -> tuple[int, str, int]:
    """Return a test's id in a form that sorts like the tests of an edition."""
    number, index, _ = test_id.rsplit("-", 2)
    return int(number[:-1]), number[-1], int(index)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []
