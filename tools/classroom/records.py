"""Records: the result of a submission from a release, as it is kept in a class's folder.

upload     digest of what was handed in
counts     whether the result counts; a preview's doesn't
results    what the grader found, with details for staff (`grading/results.py`)
refused    why there was nothing to grade; "" if there was
again      tests that ended in a limit and still have to be run again alone: not final yet
fault      why there is no result that counts; "" if there is one
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Any

from grading.verdicts import Outcome

FORMAT = 1
# Outcomes that another submission on the same machine may have caused.
LIMITS = {o.value for o in (Outcome.TIMED_OUT, Outcome.OUT_OF_MEMORY, Outcome.KILLED)}
NOT_RUN = Outcome.NOT_RUN.value  # the whole run ran out of time
Record = dict[str, Any]
Results = dict[str, Any]  # see grading/results.py


def graded(upload: str, answer: dict[str, Any], alone: bool) -> Record:
    """Return the record of a host's answer.

    Args:
        alone: whether nothing else ran on the machine, so that limits count.
    """
    results = answer["results"]
    return _record(upload, bool(results["facts"].get("authoritative"))) | {
        "results": results,
        "refused": answer["refused"],
        "again": [] if alone or answer["refused"] else limited(results),
        "processor": answer.get("processor", ""),
        "took_s": answer.get("took_s", 0.0),
    }


def staff_fault(upload: str, why: list[str], counts: bool) -> Record:
    """Return the record of a submission that couldn't be graded because of a staff fault."""
    return _record(upload, counts) | {"fault": "\n".join(why)}


def _record(upload: str, counts: bool) -> Record:
    return {
        "format": FORMAT,
        "upload": upload,
        "counts": counts,
        "results": None,
        "refused": "",
        "again": [],
        "fault": "",
    }


def limited(results: dict[str, Any]) -> list[str]:
    """Return the ids of tests that ended in a limit."""
    return [t["test_id"] for t in results["tests"] if t["outcome"] in LIMITS | {NOT_RUN}]


def ours(answer: dict[str, Any], counts: bool) -> str:
    """Return why an answer is not a result because of a staff fault; "" if it is a result.

    The first line is a summary, for people who don't read tracebacks.

    Args:
        counts: whether the result was supposed to count.
    """
    if "results" not in answer:
        why = answer.get("lost") or answer.get("fault") or "an answer without results"
        return _with_its_end_first(str(why))
    if counts and not answer["results"]["facts"].get("authoritative"):
        return "it was graded without authority"
    faults = [t for t in answer["results"]["tests"] if t["outcome"] == Outcome.GRADER_ERROR.value]
    return "\n".join(f"{t['test_id']}: {_with_its_end_first(t.get('detail', ''))}" for t in faults)


def _with_its_end_first(text: str) -> str:
    """Move a traceback's last line, which says what went wrong, to its beginning."""
    lines = text.strip().splitlines()
    return f"{lines[-1]}\n{text}" if lines and lines[0].startswith("Traceback") else text


def with_rerun(record: Record, answer: dict[str, Any]) -> Record:
    """Return a record in which the tests in `again` are replaced by those of a second run."""
    results = merged(record["results"], answer["results"], record["again"])
    return record | {"results": results, "again": []}


def merged(results: Results, partial: Results, test_ids: Collection[str]) -> Results:
    """Return results in which the tests that a partial run was asked for are replaced.

    All other tests stay as they are: a test that nobody asked for doesn't become a zero.
    """
    asked = {t["test_id"]: t for t in partial["tests"] if t["test_id"] in test_ids}
    return with_tests(results, [asked.get(t["test_id"], t) for t in results["tests"]])


def with_tests(results: Results, tests: list[dict[str, Any]]) -> Results:
    """Return results with these tests, and with the sum of their points."""
    paid = [t for t in tests if not t.get("is_extra_credit")]
    return results | {
        "tests": tests,
        "score": float(sum((points(t["score"]) for t in tests), Decimal(0))),
        "max_score": float(sum((points(t.get("max_score", 0)) for t in paid), Decimal(0))),
    }


def points(number: float | str) -> Decimal:
    """Return points as an exact number of hundredths."""
    return Decimal(str(number))


def credit_of(test: dict[str, Any]) -> Fraction | None:
    """Return the share of its points that a test earned; None if the record doesn't say.

    In results from before there was such a field, only all or nothing is known.
    """
    if "credit" in test:
        return Fraction(test["credit"])
    if test["outcome"] == Outcome.PASSED.value:
        return Fraction(1)
    return None if test["score"] else Fraction(0)


def is_final(record: Record | None, upload: str, counts: bool) -> bool:
    """Return whether a record is final: it belongs to this upload, and has a result."""
    if record is None or record["format"] != FORMAT or record["upload"] != upload:
        return False
    has_authority = record["counts"] or not counts
    return has_authority and not record["again"] and not record["fault"]
