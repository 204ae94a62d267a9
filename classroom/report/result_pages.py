"""Writes the page of one result: as its student may see it, or with all details for staff."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import grading
from autograder.pages import TEMPLATE, Rubric, shown_experiments
from grading import report
from grading.edition import TestSpec, load_assignment
from grading.errors import UsageError
from grading.verdicts import Outcome, TestResult, write_atomically

from .. import cells
from ..submissions import points, question_of

Test = dict[str, Any]


@cache
def titles() -> dict[str, str]:
    """Return the titles of this checkout's topics."""
    editions = load_assignment(grading.ROOT).editions.values()
    return {question.topic: question.title for each in editions for question in each.questions}


def read_rubrics(folder: Path, edition: str | None) -> dict[str, Rubric]:
    """Return the rubrics of an edition's written questions, by topic.

    Args:
        folder: what `python -m tools.rubrics` wrote: a CSV file for each question.

    Raises:
        UsageError: a file can't be read, or there is none.
    """
    rubrics: dict[str, Rubric] = {}
    columns = ("points", "description", "kind")
    for question in load_assignment(grading.ROOT).edition(edition).questions:
        path = folder / f"{question.number}.csv"
        if path.exists():
            rows = cells.table(cells.read(path), columns).rows[1:]
            rubrics[question.topic] = [{c: row.cell(c) for c in columns} for row in rows]
    if not rubrics:
        raise UsageError(
            f"{folder} has no rubric of this edition's questions: expected the files that "
            "`python -m tools.rubrics` writes"
        )
    return rubrics


def write_result(
    path: Path,
    record: Mapping[str, Any],
    whose: str,
    staff: bool,
    note: str = "",
    rubrics: Mapping[str, Rubric] | None = None,
) -> None:
    """Write the page of a record; a student's page contains nothing that is for staff only.

    Args:
        record: a row of the table `records`.
        whose: the student's name; for staff, the names of a whole group.
        note: a sentence below the title.
        rubrics: see `read_rubrics`.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    has_result = record["results"] is not None
    results: dict[str, Any] = json.loads(record["results"]) if has_result else {"tests": []}
    tests, title = [_result(test) for test in results["tests"]], "No result"
    known = {test.spec.number: titles().get(test.spec.topic, "") for test in tests}
    paid = {test.spec.number for test in tests if test.spec.max_score}  # all others are folded
    shown = report.Report.of_tests(tests, known, paid, folds=True, staff=staff)
    if has_result:
        score, most = (report.points(Decimal(points(results[k]))) for k in ("score", "max_score"))
        title = f"{score} of {most} points"
    is_refused = record["outcome"] == "nothing to grade"
    notes = [
        "Staff's report: not for students." if staff else "",
        note,
        f"Nothing was graded: {record['reason']}" if is_refused else "",
        "" if has_result else "There is no final result yet.",
        shown.summary if tests else "",
    ]
    more: dict[str, Any] = {"facts": [], "known": {}, "experiments": [], "fault": ""}
    if staff and has_result:
        processor = [("Processor", record["processor"])] if record["processor"] else []
        noted = results.get("facts", {}).get("experiments", {})
        more["facts"] = report.facts_of(results) + processor
        more["known"] = {test["test_id"]: _known(test) for test in results["tests"]}
        more["experiments"] = shown_experiments(noted, rubrics=rubrics)
    elif staff:
        more["fault"] = record["reason"]
    notes = list(filter(None, notes))
    text = report.render(TEMPLATE, title=title, whose=whose, notes=notes, report=shown, **more)
    write_atomically(path, text)


def _result(test: Test) -> TestResult:
    """Return what can be shown of a record's test, also of one from an earlier release."""
    spec = TestSpec(
        test_id=test["test_id"],
        number=question_of(test["test_id"]),
        topic=test.get("topic", ""),
        name=test.get("test", ""),
        kind=test.get("kind", "hidden"),
        max_score=Decimal(points(test["max_score"])),
        timeout_s=0,
        torch=False,
        is_extra_credit=test.get("is_extra_credit", False),
        after_published=False,
    )
    texts = {key: test.get(key, "") for key in ("message", "detail", "output")}
    texts["id"] = test.get("cause", "").partition(".")[2]
    score, outcome = Decimal(points(test["score"])), Outcome(test["outcome"])
    return TestResult(
        spec=spec, description=test.get("name", ""), outcome=outcome, score=score, **texts
    )


def _known(test: Test) -> list[tuple[str, str]]:
    """Return what only staff see of a test, as (name, value)."""
    rows = [("Cause", test.get("cause", "")), ("Line", test.get("where", ""))]
    rows += [(name, f"{value:.4g}") for name, value in test.get("measured", {}).items()]
    if test.get("cpu_s"):
        rows.append(("CPU seconds", f"{test['cpu_s']:.2f}"))
    if test.get("peak_bytes"):
        rows.append(("Memory", f"{test['peak_bytes'] / 2**20:.0f} MiB"))
    return [(name, value) for name, value in rows if value]
