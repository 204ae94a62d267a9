"""Repeats a student's run from its recorded result, for a regrade request.

    python src/grader.py --replay results.json --submission DIR

The file is Gradescope's results.json (its extra_data), one written by --json, or the standard
output of a grading on Gradescope, whose last line contains the same record.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.errors import UsageError, safe_line
from grading.verdicts import Outcome, Results, versions

RECORD = "record: "
# What a record in the standard output has of a run's facts and of each test.
OF_FACTS = ("submission", "release", "digest", "graded", "judged_by", "versions")
OF_TEST = ("test_id", "outcome", "score", "credit", "cause", "look_at")


@dataclass(frozen=True)
class Record:
    """The record of an earlier run: edition and seed, what judged, and each test's outcome."""

    edition: str
    seed: int
    judged_by: str
    versions: dict[str, str]
    in_full: bool  # False in older results: the daily limit was reached; see `warnings`
    tests: dict[str, tuple[str, float]]  # by test id: outcome and score
    digest: str = ""  # of the submission's files; "" in older results


def read(path: Path) -> Record:
    """Read a result; UsageError: it can't be read, or lacks what a replay needs."""
    try:
        return _record(json.loads(_recorded(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"--replay {path}: can't be read: {error!s:.200}") from None
    except (KeyError, TypeError, AttributeError) as missing:
        raise UsageError(
            f"--replay {path}: lacks {missing!s:.100}; expected a results.json of this grader, "
            "from Gradescope or from --json"
        ) from None


def _recorded(text: str) -> str:
    """Return the JSON in a file: all of it, or the record at the end of a grading's output.

    The record is the last thing that a grading prints, and what a student's code printed is
    indented above it. So a similar line in any other place is a forgery, or the file contains two
    outputs, which is a ValueError.
    """
    if text.lstrip().startswith("{"):
        return text
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    records = [line for line in lines if line.startswith(RECORD)]
    if len(records) > 1:
        raise ValueError(f"{len(records)} lines begin with {RECORD!r}, expected only the last one")
    if not records or records != lines[-1:]:
        raise ValueError(
            f"it is not JSON, and its last line doesn't begin with {RECORD!r}: is it the complete "
            "output of a grading that finished?"
        )
    return records[0].removeprefix(RECORD)


def _record(raw: dict[str, Any]) -> Record:
    facts = raw["extra_data"] if "extra_data" in raw else raw["facts"]
    head = raw if "facts" in raw else facts
    tests: dict[str, tuple[str, float]] = {}
    for test in raw["tests"]:
        # Gradescope's entries have the outcomes of all their tests, other results of just one.
        about = test.get("extra_data", test)
        ends = about["outcomes"] if "outcomes" in about else {about["test_id"]: about["outcome"]}
        # Rounded, because one of Gradescope's entries has an error that makes their sum exact.
        score = round(float(test.get("score", 0)), 2)
        tests |= {str(test_id): (Outcome(end).value, score) for test_id, end in ends.items()}
    for ends in facts.get("not_begun", {}).values():
        tests |= {str(test_id): (Outcome(end).value, 0.0) for test_id, end in ends.items()}
    seed = int(head["seed"])
    if seed < 0:
        raise ValueError(f"the seed is {seed}")
    return Record(
        edition=str(head["edition"]),
        seed=seed,
        judged_by=str(facts.get("judged_by", "")),
        versions={safe_line(k, 60): safe_line(v, 60) for k, v in facts["versions"].items()},
        in_full=facts.get("hidden_feedback", True),
        tests=tests,
        digest=str(facts.get("digest", "")),
    )


def line(results: Results) -> str:
    """Return a run's record in one line, for the end of the standard output."""
    whole = results.as_dict(staff=True)
    head = {key: whole[key] for key in ("edition", "seed")}
    facts = {key: whole["facts"][key] for key in OF_FACTS if key in whole["facts"]}
    tests = [{key: test[key] for key in OF_TEST} for test in whole["tests"]]
    return RECORD + json.dumps(head | {"facts": facts, "tests": tests})


def warnings(record: Record, judged_by: str) -> list[str]:
    """List what may change a verdict: differences from where the record was made.

    `judged_by` is the hash of what judges here.
    """
    found = []
    if not record.in_full:
        found.append("the daily limit was reached: the recorded points are an earlier submission's")
    if record.judged_by != judged_by:
        found.append(
            "tests, solutions or data differ from those of the original grading: a replay needs "
            "the release's own checkout and data set"
        )
    here = versions()
    for name, version in record.versions.items():
        if name != "system" and here.get(name) != version:
            found.append(f"{name} is {here.get(name, 'missing')} here, but was {version}")
    return found


def compare(record: Record, results: Results) -> list[str]:
    """Return a line for each test that ended differently from the record."""
    lines = []
    for test in (t for t in results.tests if t.is_selected):
        now, points = test.outcome.value, float(test.score)
        before = record.tests.get(test.spec.test_id)
        if before is None:
            lines.append(f"{test.spec.test_id}: new, {now} with {points:g} points")
        elif before != (now, points):
            was = f"was {before[0]} with {before[1]:g} points"
            lines.append(f"{test.spec.test_id}: {was}, and is now {now} with {points:g}")
    return lines
