"""The page of one result for staff, with every detail; a class's result pages use its template."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from grading import report
from grading.report import Report
from grading.verdicts import Results

TEMPLATES = Path(__file__).with_name("templates")
TEMPLATE = TEMPLATES / "record.html.j2"
WIDE = TEMPLATES / "wide.css"  # for what may be wider than a phone
# The topics that ask for experiments; whatever else a student does is one by choice.
TOPICS = {"trace": "experiment_trace", "induction": "induction_scores", "compare": "synthesizer"}
BY_CHOICE = "experiment_choice"
WORDS = re.compile(r"(\s+)")
Rubric = list[dict[str, str]]  # points, description and kind of each item


def of_run(results: Results, files: Mapping[Path, bool], is_judged: bool = True) -> dict[Path, str]:
    """Return a run's reports by their files, which say of each whether it is for staff."""
    students = Report.of(results, staff=False, is_judged=is_judged)
    return {
        path: page(results) if for_staff else report.page(results, students)
        for path, for_staff in files.items()
    }


def page(results: Results) -> str:
    """Return a run's report with what only staff may read, as a self-contained HTML file."""
    shown = Report.of(results, staff=True)
    notes = [f"Staff's report: not for students. {report.identity(results)}.", shown.summary]
    experiments = shown_experiments(results.facts.get("experiments", {}))
    values = {"notes": notes, "whose": "", "fault": "", "known": {}, "experiments": experiments}
    return report.page(results, shown, TEMPLATE, **values)


@dataclass(frozen=True)
class Repeated:
    """An experiment that staff repeated: its table, or "", and how it was made, or why not."""

    table: str
    note: str


def shown_experiments(
    noted: Mapping[str, Mapping[str, Any]],
    repeated: Mapping[str, Repeated] | None = None,
    rubrics: Mapping[str, Rubric] | None = None,
) -> list[dict[str, Any]]:
    """Return what `experiments.html.j2` shows.

    Args:
        noted: what the student noted of each experiment, as in `Staged.experiments`.
        rubrics: those of the written questions, by topic.
    """
    shown = []
    for name, one in noted.items():
        again = (repeated or {}).get(name)
        lines = _compared(one["results"], again.table) if again and again.table else []
        more = {
            "name": name,
            "again": again,
            "lines": lines,
            "differing": sum(differs for line in lines for _, differs in line),
            "rubric": (rubrics or {}).get(TOPICS.get(name.partition(" ")[0], BY_CHOICE), []),
        }
        shown.append({**one, **more})
    return shown


def _compared(table: str, repeated: str) -> list[list[tuple[str, bool]]]:
    """Return the repeated table's lines in parts, each with whether it differs."""
    rows = zip_longest(table.split("\n"), repeated.split("\n"), fillvalue="")
    return [_parts(line, other) for other, line in rows]


def _parts(line: str, other: str) -> list[tuple[str, bool]]:
    words, others = WORDS.split(line.strip()), WORDS.split(other.strip())
    if len(words) != len(others):
        return [(line, True)]
    pairs = zip(words, others, strict=True)
    return [(word, word.strip() != given.strip()) for word, given in pairs]
