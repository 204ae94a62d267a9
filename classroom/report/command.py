"""`report DIR`: write a report on a class, as pages and as CSV files."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from autograder.pages import WIDE, Rubric
from grading.errors import UsageError
from grading.report import points as shown_points
from grading.report import render
from grading.verdicts import ExitCode, write_atomically

from ..arguments import Commands, add_command, add_folder
from ..cells import Number, write
from ..exports import submissions_of
from ..store import Store, replacing
from ..submissions import Submission, question_of
from . import numbers
from .causes import Cause, causes_of, quote
from .numbers import Gathered, gather, results_of
from .result_pages import read_rubrics, titles, write_result

STUDENTS = """
SELECT students.* FROM students JOIN authors ON authors.student = students.id
WHERE authors.submission = ? AND authors.latest ORDER BY students.id"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "report",
        run,
        "write a report on the class, as web pages and as CSV files",
        "Write index.html and CSV files about the class and, for each submission, a page as its "
        "student would see it and a page for staff. Students whose grades are withheld get none.",
    )
    add_folder(command)
    command.add_argument(
        "--rubrics",
        type=Path,
        metavar="FOLDER",
        help="show the rubrics that `python -m tools.rubrics` wrote beside students' experiments",
    )


def run(asked: argparse.Namespace) -> int:
    """Write a report."""
    with Store.existing(asked.folder, writes=True) as store:
        gathered, rubrics = gather(store), {}
        if asked.rubrics:
            rubrics = read_rubrics(asked.rubrics, store.setting("edition"))
        target = store.path / "report"
        with replacing(target) as draft:
            _write(store, draft, gathered, rubrics)
    page, there = target / "index.html", len(gathered.counted)
    print(f"{page}: {there} of {len(gathered.handed)} submissions")
    return ExitCode.OK


def _write(store: Store, place: Path, gathered: Gathered, rubrics: dict[str, Rubric]) -> None:
    """Write all files of a report."""
    tests = next((tests for _, tests in results_of(store, gathered)), [])
    causes, files = causes_of(results_of(store, gathered)), _files(store)
    pages = _pages(store, place, gathered, rubrics)
    scores = [float(one.score) for one in gathered.counted]
    by_lateness = sorted(gathered.handed, key=lambda o: (o.days_late is None, o.days_late or 0))
    tables = {"questions": numbers.questions(gathered), "tests": numbers.tests(store)}
    text = render(
        Path(__file__).with_name("report.html.j2"),
        WIDE,
        title="Report on the class",
        gathered=gathered,
        pages=pages,
        points=shown_points,
        scores=numbers.spread(scores),
        bars=numbers.histogram(scores, float(gathered.max_score)),
        titles={question_of(t["test_id"]): titles().get(t["topic"], "") for t in tests},
        causes=causes,
        code_of=lambda cause: quote(files.get(cause.example.id), cause.where, cause.look_at),
        late=Counter(one.lateness for one in by_lateness),
        **tables,
    )
    write_atomically(place / "index.html", text)
    tables |= {"scores": list(_scores(gathered)), "causes": list(_causes(causes))}
    for name, rows in tables.items():
        write_atomically(place / f"{name}.csv", _csv(rows))


def _files(store: Store) -> dict[str, Submission]:
    """Return the submissions whose files are still there."""
    try:
        return submissions_of(store)
    except UsageError as error:
        print(f"note: examples are shown without code: {error}", file=sys.stderr)
        return {}


def _pages(
    store: Store, place: Path, gathered: Gathered, rubrics: dict[str, Rubric]
) -> dict[str, str]:
    """Write a page for each student, and one for staff; return links to the latter."""
    rows, links = [], {}
    for one in gathered.handed:
        if one.record is None:
            continue
        (record,) = map(dict, store.rows("SELECT * FROM records WHERE id = ?", one.record))
        links[one.id] = f"staff/{one.id}.html"
        note = f"{one.id}, {one.status}"
        write_result(place / links[one.id], record, one.names, True, note, rubrics)
        if one.is_withheld or not one.is_counted:
            continue
        for student in store.rows(STUDENTS, one.id):
            name = hashlib.sha256(student["key"].encode()).hexdigest()[:12]
            own = f"students/{one.id}/{name}.html"
            write_result(place / own, record, student["name"], staff=False)
            cells = {column: student[column] for column in ("name", "sid", "email")}
            rows.append(cells | {"submission": one.id, "page": own})
    write_atomically(place / "pages.csv", _csv(rows))
    return links


# CSV files ----------------------------------------------------------------------------------------


def _csv(rows: list[dict[str, Any]]) -> str:
    """Return rows as CSV, with the keys of the first one as its head."""
    lines = [[_cell(value) for value in row.values()] for row in rows]
    return write([[*rows[0]], *lines]) if rows else ""


def _cell(value: Any) -> str | Number:
    if value is None or isinstance(value, str):
        return value or ""
    return Number(shown_points(value) if isinstance(value, Decimal) else f"{value:.6g}")


def _scores(gathered: Gathered) -> Iterator[dict[str, Any]]:
    for one in gathered.handed:
        row = {"submission": one.id, "status": one.status, "lateness": one.lateness}
        own = {"score": one.score, "max_score": gathered.max_score}
        own |= {number: one.earned.get(number, Decimal(0)) for number in gathered.questions}
        yield row | (own if one.is_counted else dict.fromkeys(own, ""))


def _causes(causes: list[Cause]) -> Iterator[dict[str, Any]]:
    for cause in causes:
        tests, number = " ".join(cause.tests), len(cause.handed)
        row: dict[str, Any] = {"question": cause.question, "cause": cause.id, "tests": tests}
        row |= {"submissions": number, "points_lost": cause.lost}
        yield from (row | {"submission": one.id} for one in cause.handed)
