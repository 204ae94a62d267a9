"""Writes the page of one result: as its student may see it, or with all details for staff."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from grading import paths
from grading.assignment import load_assignment
from grading.console import points as shown_points

from ..html_pages import write_page
from ..records import Record, points

SIGNS = {"passed": "✓", "ran, not graded": "○", "not run": "–"}
FAILED_SIGN = "✗"


def titles() -> dict[str, str]:
    """Return the titles of this checkout's topics."""
    editions = load_assignment(paths.ASSIGNMENT).editions.values()
    return {question.topic: question.title for each in editions for question in each.questions}


def write_result(
    path: Path, record: Record, whose: str, staff: bool, known: dict[str, str], note: str = ""
) -> None:
    """Write the page of a record; a student's page contains nothing that is for staff only.

    Args:
        whose: the student's name; for staff, the names of a whole group.
        known: the titles of topics.
        note: a sentence below the title.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    results = record["results"]
    tests = [] if results is None else results["tests"]
    score, most = _sum(tests, "score"), _worth(tests)
    write_page(
        path,
        "result.html.j2",
        title=f"{shown_points(score)} of {shown_points(most)} points"
        if results is not None
        else "No result",
        whose=whose,
        staff=staff,
        note=note,
        refused=record["refused"],
        fault=record["fault"] if staff else "",
        is_pending=results is None or bool(record["again"]),
        counts=record["counts"],
        questions=_questions(tests, staff, known),
        facts=_facts(record) if staff and results is not None else [],
    )


def _questions(
    tests: list[dict[str, Any]], staff: bool, known: dict[str, str]
) -> list[dict[str, Any]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for test in tests:
        found.setdefault(number_of(test), []).append(test)
    return [
        {
            "number": number,
            "title": known.get(each[0].get("topic", ""), ""),
            "score": shown_points(_sum(each, "score")),
            "max_score": shown_points(_sum(each, "max_score")),
            "tests": [_test(test, staff) for test in each],
        }
        for number, each in found.items()
    ]


def number_of(test: dict[str, Any]) -> str:
    """Return the number of a test's question: "1e" for "1e-0-basic"."""
    return test["test_id"].rsplit("-", 2)[0]


def _test(test: dict[str, Any], staff: bool) -> dict[str, Any]:
    """Return what a page shows of a test; of a hidden one, students only see the message."""
    is_basic = test.get("kind") == "basic"
    passed = test["outcome"] == "passed"
    shown = {
        "test_id": test["test_id"],
        "name": test.get("name", ""),
        "outcome": test["outcome"],
        "passed": passed,
        "sign": SIGNS.get(test["outcome"], FAILED_SIGN),
        "score": shown_points(points(test["score"])),
        "max_score": shown_points(points(test["max_score"])),
        "message": "" if passed else test.get("message", ""),
        "output": test.get("output", "").strip("\n") if staff or is_basic else "",
    }
    if staff:
        shown["detail"] = test.get("detail", "").strip("\n")
        shown["known"] = _known(test)
    return shown


def _known(test: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what only staff see of a test, as (name, value)."""
    rows = [("Cause", test.get("cause", "")), ("Line", test.get("where", ""))]
    rows += [(name, f"{value:.4g}") for name, value in test.get("measured", {}).items()]
    if test.get("cpu_s"):
        rows.append(("CPU seconds", f"{test['cpu_s']:.2f}"))
    if test.get("peak_bytes"):
        rows.append(("Memory", f"{test['peak_bytes'] / 2**20:.0f} MiB"))
    rows.append(("Run by", test.get("release", "")))
    return [(name, value) for name, value in rows if value]


def _facts(record: Record) -> list[tuple[str, str]]:
    results = record["results"]
    facts = results.get("facts", {})
    versions = ", ".join(f"{name} {version}" for name, version in facts.get("versions", {}).items())
    rows = [
        ("Submission", facts.get("submission", "")),
        ("Graded", facts.get("graded", "")),
        ("Edition", results.get("edition", "")),
        ("Seed", str(results.get("seed", ""))),
        ("Files (hash)", facts.get("digest", "")),
        ("Code found in", facts.get("place", "")),
        ("Files not graded", "; ".join(facts.get("left", []))),
        ("Versions", versions),
        ("Processor", record.get("processor", "")),
    ]
    return [(name, value) for name, value in rows if value]


def _sum(tests: list[dict[str, Any]], key: str) -> Decimal:
    return sum((points(test[key]) for test in tests), Decimal(0))


def _worth(tests: list[dict[str, Any]]) -> Decimal:
    return _sum([test for test in tests if not test.get("is_extra_credit")], "max_score")
