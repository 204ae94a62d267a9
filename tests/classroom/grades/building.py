"""Builds classes without grading: submissions and records in class.db, and files of staff."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

from autograder.description import Course, Dates, Grading, Policies
from classroom import __main__ as classroom
from classroom.cells import Number, write
from classroom.grades.decisions import COLUMNS
from classroom.store import Store
from classroom.submissions import Record, Submission
from classroom.submissions import Student as OfRoll

# Not the due date in course.toml, which changes with each term.
DUE = datetime(2027, 1, 31, 23, 59, tzinfo=timezone(timedelta(hours=-8)))
RELEASE = "r1"
# An edition with a question of each kind, as grades need it.
ASSIGNMENT = """
[assignment]
title = "A small assignment"
default_edition = "tiny"
gradescope_python = "3.12"
[parts]
only = "All of it"
[editions.tiny]
title = "A problem set"
questions = [
  { number = "1d", topic = "made", coding = 10 },
  { number = "1e", topic = "masked", coding = 16 },
  { number = "2a", topic = "why", written = 4 },
  { number = "3a", topic = "copying", written = 2, extra_credit = true },
]
[editions.tiny.gradescope]
hidden_tests = "visible"
hidden_feedback_a_day = 0
leaderboard = false
[topics.made]
part = "only"
title = "Made"
tests = { hidden = { kind = "hidden" } }
[topics.masked]
part = "only"
title = "Masked"
tests = { basic = { kind = "basic", weight = 1 }, hidden = { kind = "hidden", weight = 3 } }
[topics.why]
part = "only"
title = "Why"
[topics.copying]
part = "only"
title = "Copying"
"""
TESTS = (("1d-0-hidden", 10.0), ("1e-0-basic", 6.0), ("1e-1-hidden", 10.0))
# The first columns of Gradescope's CSV of scores.
SCORES = (
    "First Name", "Last Name", "SID", "Email", "Sections", "Total Score", "Max Points", "Status",
    "Submission ID", "Submission Time", "Lateness (H:M:S)", "View Count", "Submission Count",
)  # fmt: skip
QUESTIONS = ("1: 2(a) Why (4.0 pts)", "2: 3(a) Copying (2.0 pts)")
WHY = ("agreed by mail", "Grace", "2027-01-20")


def course(**grading) -> Course:
    """Return a course with this policy."""
    return Course(
        term="Winter 2027",
        contact="the forum",
        dates=Dates(published=date(2027, 1, 18), due=DUE),
        policies=Policies(
            collaboration="Write alone.", late="See the policy.", ai_tools="forbidden"
        ),
        grading=Grading(**grading),
    )


@dataclass(frozen=True)
class Student:
    """A student in a test's table; `sid` or `email` may be empty."""

    name: str
    sid: str
    email: str

    @property
    def of_roll(self) -> OfRoll:
        """The student as Gradescope's export has them."""
        return OfRoll(self.email or self.sid, self.name, self.email or None, self.sid or None)


ADA = Student("Ada Byron", "007", "ada@x.edu")
BO = Student("Bo Chen", "008", "bo@x.edu")


def at(minutes: float) -> datetime:
    """Return the time so many minutes after the due date."""
    return DUE + timedelta(minutes=minutes)


def stamp(time: datetime) -> str:
    """Return a time as Gradescope writes it in a CSV."""
    return time.strftime("%Y-%m-%d %H:%M:%S %z")


def lateness(time: datetime | None) -> str:
    """Return the lateness as Gradescope writes it."""
    seconds = max(0, int((time - DUE).total_seconds())) if time else 0
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


class Class:
    """A class's folder that is made submission by submission."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with Store.create(folder) as store:
            store.set("edition", "tiny")
            store.set("release", RELEASE)

    def add(
        self, one: Submission | int, people: Sequence[Student], time: datetime, *scores: float
    ) -> Path:
        """Add a submission and its record, a staff fault without scores; return the folder."""
        if isinstance(one, int):
            students = tuple(person.of_roll for person in people)
            one = Submission(f"submission_{one}", students, time)
        tests = [
            {"test_id": test, "kind": "basic", "name": "", "outcome": "passed"}
            | {"score": score, "max_score": most}
            for (test, most), score in zip(TESTS, scores, strict=False)
        ]
        results = json.dumps({"score": sum(scores), "max_score": 26.0, "tests": tests})
        made = Record(one.id, RELEASE, "grade", "graded" if scores else "staff fault", "7", "",
                      results if scores else None)  # fmt: skip
        with Store.existing(self.folder, writes=True) as store:
            store.add_submissions(Path("export"), "Gradescope export", [one])
            store.count(store.add_record(made))
        return self.folder


def scores(rows: list[list], questions: Sequence[str] = QUESTIONS) -> str:
    """Return Gradescope's CSV of scores from (student, points or None, time, number)."""
    lines: list[list] = [[*SCORES, *questions]]
    for student, points, time, number in rows:
        first, _, last = student.name.rpartition(" ")
        total = f"{sum(points)}" if points else ""
        lines.append([
            first, last, student.sid, student.email, "", total, "6.0",
            "Graded" if points else "Ungraded" if number else "Missing", number,
            stamp(time) if time else "", lateness(time), "0", "1" if number else "0",
            *(map(str, points) if points else ("" for _ in questions)),
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
        text = content
        if not isinstance(content, str):
            head = COLUMNS[path.name]
            rows = [[stamp(c) if isinstance(c, datetime) else c for c in row] for row in content]
            text = write([head, *([*row, *WHY][: len(head)] for row in rows)])
        path.write_text(text, encoding="utf-8", newline="")
        paths.append(path)
    return paths


def decide(folder: Path, **files: str | Sequence[tuple]) -> int:
    """Write files, and let the class take them over; return the exit code."""
    return command("decide", folder, *put(folder, **files))


def command(*words: str | Path) -> int:
    """Run `python -m classroom WORD...` in this process."""
    return classroom.main([str(word) for word in words])


def read_csv(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
