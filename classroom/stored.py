"""`stored EXPORT --into DIR`: start from the results that Gradescope stored, to regrade them.

Each result has the seed with which it was graded, in the record at the end of the staff output or
in `extra_data`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder import replay
from grading.errors import UsageError
from grading.verdicts import ExitCode, Outcome

from . import exports, gradescope
from .arguments import Commands, add_command, add_folder
from .store import Store
from .submissions import Record, with_tests

STORED = "gradescope"  # the release and the kind of these records
KEPT = ("release", "copy", "graded", "judged_by", "versions")  # facts
FAILED = "the autograder failed on Gradescope, so there are no results"
UNKNOWN = "the results on Gradescope are not from this grader: {}"


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "stored",
        run,
        "start a class's folder from the results that Gradescope stored",
        "Extract the results from a Gradescope export. They count, as students saw them, until a "
        "regrade is applied.",
    )
    command.add_argument("source", type=Path, metavar="EXPORT", help="a Gradescope export")
    add_folder(command, "--into")


def run(asked: argparse.Namespace) -> int:
    """Write a record of each stored result, and let it count."""
    export = exports.read_export(asked.source)
    if export.metadata is None:
        raise UsageError(
            f"{asked.source} has no {gradescope.METADATA}: expected a Gradescope export"
        )
    exports.show_notes(export)
    with Store.create(asked.folder) as store, store.transaction():
        release = store.setting("release")
        if release not in (None, STORED):
            raise UsageError(
                f"{store.path} has results of release {release} that count; choose a new folder"
            )
        store.add_submissions(asked.source, export.kind, export.submissions)
        editions = Counter[str]()
        for record in _records(export.metadata, {one.id for one in export.submissions}):
            store.count(store.add_record(record))
            if record.results is None:
                print(f"{record.submission}: no result: {record.reason}")
            else:
                editions[json.loads(record.results)["edition"]] += 1
        if len(editions) > 1:
            names = " and ".join(sorted(editions))
            raise UsageError(f"{asked.source} has results of the editions {names}; expected one")
        store.set("release", STORED)
        for edition in editions:
            store.set("edition", edition)
        store.note("Gradescope's results count", STORED)
    print(f"{editions.total()} of {len(export.submissions)} submissions have results")
    return ExitCode.OK


def _records(metadata: gradescope.Entry, waiting: set[str]) -> Iterator[Record]:
    """Yield a record of each submission; the metadata are read one by one, as they may be large."""
    with metadata.open() as stream:
        for key, entry, _ in gradescope.entries(stream, gradescope.METADATA, results=True):
            if isinstance(entry, dict) and key in waiting:
                waiting.remove(key)
                yield record_of(key, entry.get(gradescope.RESULTS))
    yield from (record_of(submission, None) for submission in sorted(waiting))


def record_of(submission: str, stored: gradescope.Node) -> Record:
    """Return the record of a stored result; a staff fault, with the reason, if it can't be used."""
    if not isinstance(stored, dict) or not gradescope.tables(stored.get("tests")):
        return _without_result(submission, FAILED)
    staff, extra = _staff_record(stored), _dict(stored.get("extra_data"))
    head = staff or extra
    seed = str(head.get("seed", ""))
    if not seed.isdecimal() or not head.get("edition"):
        why = UNKNOWN.format("edition and seed are neither in their record nor in extra_data")
        return _without_result(submission, why)
    try:
        known = {test["test_id"]: test for test in gradescope.tables(staff.get("tests"))}
        entries = gradescope.tables(stored["tests"])
        for topic, ends in _dict(extra.get("not_begun")).items():  # practice has no entry then
            entries.append({"tags": [topic], "extra_data": {"outcomes": ends}})
        tests = [
            _test(entry, test_id, Outcome(end).value, known)
            for entry in entries  # all tests of a question without points share one
            for test_id, end in _dict(entry["extra_data"])["outcomes"].items()
        ]
        tests.sort(key=lambda test: _place(test["test_id"]))
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        why = UNKNOWN.format(f"{type(error).__name__}: {error!s:.100}")
        return _without_result(submission, why, seed)
    facts = _dict(staff.get("facts")) or extra
    results = with_tests({"edition": str(head["edition"]), "seed": seed, "asked": []}, tests)
    results["facts"] = {
        "authoritative": extra.get("authoritative", "true") == "true",
        "submission": submission,
        **{key: facts[key] for key in KEPT if key in facts},
    }
    text = json.dumps(results, ensure_ascii=False)
    return Record(submission, STORED, STORED, "graded", seed, "", text)


def _without_result(submission: str, reason: str, seed: str = "") -> Record:
    return Record(submission, STORED, STORED, "staff fault", seed, "", None, reason)


def _staff_record(stored: dict[str, gradescope.Node]) -> dict[str, Any]:
    """Return the record at the end of the staff output; {} if the export has none."""
    last_line = str(stored.get("stdout")).strip().rpartition("\n")[2]
    if not last_line.startswith(replay.RECORD):
        return {}
    try:
        return _dict(json.loads(last_line.removeprefix(replay.RECORD)))
    except (ValueError, RecursionError):
        return {}


def _test(
    stored: dict[str, Any], test_id: str, outcome: str, known: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    # Rounded, because one entry has an error that makes their sum exact. Practice has no points.
    score, most = (round(float(stored.get(key, 0)), 2) for key in ("score", "max_score"))
    if not (math.isfinite(score) and math.isfinite(most)):
        raise ValueError(f"{test_id} has {score} of {most} points")
    tags = [tag for tag in stored.get("tags") or [] if isinstance(tag, str)]
    test = {
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
        test |= {key: staffs[key] for key in ("credit", "cause", "look_at") if key in staffs}
    return test


def _place(test_id: str) -> tuple[int, str, int]:
    """Return a test's id in a form that sorts like the tests of an edition."""
    number, index, _ = test_id.rsplit("-", 2)
    return int(number[:-1]), number[-1], int(index)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
