"""Writes the page of one result: as its student may see it, or with all details for staff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grading import html_pages, paths, report
from grading.edition import load_assignment
from grading.results import TestResult

from ..records import Record, points


def titles() -> dict[str, str]:
    """Return the titles of this checkout's topics."""
    editions = load_assignment(paths.ROOT).editions.values()
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
    shown = _report([] if results is None else results["tests"], staff, known)
    is_pending = results is None or bool(record["again"])
    notes = [
        "Staff's report: not for students." if staff else "",
        note,
        "" if record["counts"] else "This is a preview. It doesn't count.",
        f"Nothing was graded: {record['refused']}" if record["refused"] else "",
        "There is no final result yet." if is_pending else "",
        shown.summary if shown.tests else "",
    ]
    values = report.page_values(shown, staff) | {
        "title": "No result",
        "whose": whose,
        "notes": list(filter(None, notes)),
    }
    if results is not None:
        score, most = points(results["score"]), points(results["max_score"])
        values["title"] = f"{report.points(score)} of {report.points(most)} points"
    if staff:
        values["fault"] = record["fault"]
    if staff and results is not None:
        processor = [("Processor", record["processor"])] if record.get("processor") else []
        values["facts"] = report.facts_of(results) + processor
        values["known"] = {test["test_id"]: _known(test) for test in results["tests"]}
    html_pages.write_page(path, report.TEMPLATE, **values)


def _report(tests: list[dict[str, Any]], staff: bool, known: dict[str, str]) -> report.Report:
    """Return the report of a record's tests; questions that are worth nothing are folded."""
    read = [TestResult.read(test, number_of(test)) for test in tests]
    titles = {test.spec.number: known.get(test.spec.topic, "") for test in read}
    paid = {test.spec.number for test in read if test.spec.max_score}
    return report.Report.of_tests(read, titles, paid, folds=True, staff=staff)


def number_of(test: dict[str, Any]) -> str:
    """Return the number of a test's question: "1e" for "1e-0-basic"."""
    return test["test_id"].rsplit("-", 2)[0]


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
