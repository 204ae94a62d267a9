"""Records: how a submission was graded, once, and what is derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

PREVIEW = "preview"


@dataclass(frozen=True)
class Record:
    """How a submission was graded, once.

    Attributes:
        kind: "grade", "preview", "regrade-N" or "gradescope".
        outcome: "graded", "nothing to grade" or "staff fault".
        upload: the digest of what was graded; "" if it is unknown.
        results: the JSON that the autograder wrote for staff; None for a staff fault.
        reason: why there was nothing to grade, or no result.
        at: when, if not now.
    """

    submission: str
    release: str
    kind: str
    outcome: str
    seed: str
    upload: str
    results: str | None
    reason: str = ""
    took_s: float = 0.0
    processor: str = ""
    at: str = ""


def points(number: float | str) -> str:
    """Return points as they are stored: exact hundredths."""
    return f"{Decimal(str(number)):.2f}"


def question_of(test_id: str) -> str:
    """Return the question of a test: `1e` of `1e-0-basic`."""
    return test_id.partition("-")[0]


def test_rows(record: int, tests: list[dict[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table `tests` that are derived from a record's results."""
    worth = {question_of(test["test_id"]) for test in tests if test["max_score"]}
    for test in tests:
        question = question_of(test["test_id"])
        yield (
            *(record, test["test_id"], question, test["kind"], test["name"]),
            *(test["outcome"], test.get("cause", "")),
            *(points(test["score"]), points(test["max_score"])),
            *(question not in worth, bool(test.get("is_extra_credit"))),
            *(test.get("wall_s", 0.0), test.get("cpu_s", 0.0), test.get("peak_bytes", 0)),
        )


def with_tests(results: dict[str, Any], tests: list[dict[str, Any]]) -> dict[str, Any]:
    """Return results with these tests, and with the sum of their points."""
    paid = [test for test in tests if not test.get("is_extra_credit")]
    return results | {
        "tests": tests,
        "score": float(sum(Decimal(points(test["score"])) for test in tests)),
        "max_score": float(sum(Decimal(points(test["max_score"])) for test in paid)),
    }
