"""The page of one result for staff, with every detail; a class's result pages use its template."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from grading import report
from grading.report import Report
from grading.results import Results

TEMPLATES = Path(__file__).with_name("templates")
TEMPLATE = TEMPLATES / "record.html.j2"
WIDE = TEMPLATES / "wide.css"  # for what may be wider than a phone


def of_run(results: Results, files: Mapping[Path, bool], is_judged: bool = True) -> dict[Path, str]:
    """Return a run's reports by their files.

    Args:
        files: the requested files, each with whether it is for staff.
        is_judged: see `grading.report.Group`.
    """
    students = Report.of(results, staff=False, is_judged=is_judged)
    return {
        path: page(results) if for_staff else report.page(results, students)
        for path, for_staff in files.items()
    }


def page(results: Results) -> str:
    """Return a run's report with what only staff may read, as a self-contained HTML file."""
    shown = Report.of(results, staff=True)
    notes = [f"Staff's report: not for students. {report.identity(results)}.", shown.summary]
    return report.page(results, shown, TEMPLATE, notes=notes, whose="", fault="", known={})
