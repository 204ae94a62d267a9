"""Builds classes without grading: submissions and records in class.db, and files of staff."""

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

from classroom.__main__ import main
from classroom.cells import Number, write
from classroom.old_folder import DECISIONS
from classroom.store import Store
from classroom.submissions import Record, Student, Submission
from tests.classroom.scripted import entry, results_of

# Not the due date in course.toml, which changes with each term.
DUE = datetime(2027, 1, 31, 23, 59, tzinfo=timezone(timedelta(hours=-8)))
RELEASE = "r1"
# What grades need of an edition: its written questions.
EDITION = SimpleNamespace(
    questions=[
        SimpleNamespace(number="1e", written=Decimal(0), is_extra_credit=False),
        SimpleNamespace(number="2a", written=Decimal(4), is_extra_credit=False),
        SimpleNamespace(number="3a", written=Decimal(2), is_extra_credit=True),
    ]
)
TESTS = (
    *(("1d-0-hidden", 10.0), ("1e-0-basic", 6.0), ("1e-1-hidden", 10.0)),
    ("1c-0-basic", 0.0),  # practice
)
# The first columns of Gradescope's CSV of scores.
SCORES = (
    "First Name", "Last Name", "SID", "Email", "Sections", "Total Score", "Max Points", "Status",
    "Submission ID", "Submission Time", "Lateness (H:M:S)", "View Count", "Submission Count",
)  # fmt: skip
QUESTIONS = ("1: 2(a) Why (4.0 pts)", "2: 3(a) Copying (2.0 pts)")
LATE = "late"
WHY = ("agreed by mail", "Grace", "2027-01-20")


def student(name: str, sid: str, email: str) -> Student:
    """Return a student as Gradescope's export has them; `sid` or `email` may be empty."""
    return Student(email or sid, name, email or None, sid or None)


ADA = student("Ada Byron", "007", "ada@x.edu")
BO = student("Bo Chen", "008", "bo@x.edu")


def at(minutes: float) -> datetime:
    """Return the time so many minutes after the due date."""
    return DUE + timedelta(minutes=minutes)


def stamp(time: datetime) -> str:
    """Return a time as Gradescope writes it in a CSV."""
    return time.strftime("%Y-%m-%d %H:%M:%S %z")


class Class:
    """A class's folder that is made submission by submission."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with Store.create(folder) as store:
            store.set("edition", "tiny")
            store.set("release", RELEASE)

    def add(
        self,
        one: int | str,
        people: Sequence[Student],
        time: datetime | str | None,
        *scores: float,
    ) -> Path:
        """Add a submission and its record, a staff fault without scores; return the folder.

        Its platform may only have marked it as late: then, the time is LATE.
        """
        submission_id = f"submission_{one}" if isinstance(one, int) else one
        known = None if time == LATE else time
        made = Submission(submission_id, tuple(people), known, time == LATE)
        tests = zip(TESTS, scores, strict=False)
        tests = [entry(test, "", most, score=score) for (test, most), score in tests]
        results = json.dumps(results_of(tests, max_score=26.0))
        outcome = ("graded", "7", "", results) if scores else ("staff fault", "7", "", None)
        with Store.existing(self.folder, writes=True) as store, store.transaction():
            store.add_submissions(Path("export"), "Gradescope export", [made])
            store.count(store.add_record(Record(made.id, RELEASE, "grade", *outcome)))
        return self.folder


def scores(rows: list[list]) -> str:
    """Return Gradescope's CSV of scores from (student, points or None, time, number)."""
    lines: list[list] = [[*SCORES, *QUESTIONS]]
    for one, points, time, number in rows:
        first, _, last = one.name.rpartition(" ")
        status = "Graded" if points else "Ungraded" if number else "Missing"
        lines.append([
            first, last, one.sid or "", one.email or "", "", sum(points) if points else "", "6.0",
            status, number, stamp(time) if time else "", "00:00:00", "0", "1" if number else "0",
            *(points or ("", "")),
        ])  # fmt: skip
    return write([[Number(str(cell)) for cell in line] for line in lines])


def put(folder: Path, **files: str | Sequence[tuple]) -> list[Path]:
    """Write files beside a class's folder: `put(folder, canvas=text)` writes canvas.csv.

    Rows of a file of decisions may be given instead: `put(folder, extensions=[("007", at(60))])`.
    WHY is added to rows that lack a reason.
    """
    paths = []
    for name, content in files.items():
        path = folder.with_name(f"{name}.csv")
        if not isinstance(content, str):
            _, head = DECISIONS[path.name]
            rows = [[stamp(c) if isinstance(c, datetime) else c for c in row] for row in content]
            content = write([head, *([*row, *WHY][: len(head)] for row in rows)])
        path.write_text(content, encoding="utf-8", errors="surrogateescape", newline="")
        paths.append(path)
    return paths


def decide(folder: Path, **files: str | Sequence[tuple]) -> int:
    """Write files, and let the class take them over; return the exit code."""
    return main(["decide", str(folder), *map(str, put(folder, **files))])


def read_csv(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
