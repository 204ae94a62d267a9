"""Builds classes without grading: a Gradescope export, records, and files of a gradebook."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import yaml

from autograder.description import Course, Dates, Grading, Policies
from tools.classroom import __main__ as classroom
from tools.classroom.folder import ClassFolder
from tools.classroom.gradebook.cells import Number, write
from tools.classroom.gradebook.decisions import COLUMNS
from tools.classroom.gradebook.written import SCORES
from tools.classroom.records import graded, staff_fault
from tools.classroom.roster import read_class

# Not the due date in course.toml, which changes with each term.
DUE = datetime(2027, 1, 31, 23, 59, tzinfo=timezone(timedelta(hours=-8)))
RELEASE = "r1"
# An edition with a question of each kind, as the gradebook reads it.
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


def record(*scores: float) -> dict:
    """Return the record of a submission with these points for each of TESTS."""
    tests = [
        {"test_id": test, "outcome": "passed", "score": score, "max_score": most,
         "is_extra_credit": False}
        for (test, most), score in zip(TESTS, scores, strict=True)
    ]  # fmt: skip
    results = {"edition": "tiny", "score": sum(scores), "max_score": 26.0, "tests": tests,
               "facts": {"authoritative": True}}  # fmt: skip
    return graded("digest", {"results": results, "refused": ""}, alone=True)


FAULT = staff_fault("digest", ["lost twice"], True)


class Export:
    """A Gradescope export that is made submission by submission, with its records."""

    def __init__(self, root: Path) -> None:
        self.root = root / "assignment_1_export"
        self.root.mkdir(parents=True)
        self.entries: dict = {}
        self.records: dict[str, dict] = {}

    def add(self, number: int, people: Sequence[Student], time: datetime, found: dict) -> None:
        """Add a submission; a group's has several people."""
        key = f"submission_{number}"
        who = [
            {":name": p.name} | ({":sid": p.sid} if p.sid else {})
            | ({":email": p.email} if p.email else {})
            for p in people
        ]  # fmt: skip
        self.entries[key] = {":submitters": who, ":created_at": time, ":score": 1.0}
        self.records[key] = found
        (self.root / key).mkdir()
        (self.root / key / "a.py").write_text("x = 1\n", encoding="utf-8")

    def into(self, folder: Path) -> Path:
        """Read the export, enroll who is in it, and write the records."""
        text = yaml.safe_dump(self.entries, allow_unicode=True)
        (self.root / "submission_metadata.yml").write_text(text, encoding="utf-8")
        made = ClassFolder.create(folder)
        with made.locked():
            made.enroll(read_class(self.root).submissions)
            for key, found in self.records.items():
                made.write_record(key, RELEASE, found)
        (folder / "gradebook").mkdir()
        return folder


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


def put(folder: Path, **files: str | Sequence[tuple]) -> None:
    """Write files into DIR/gradebook/: `put(folder, canvas=text)` writes canvas.csv.

    Rows of a file of decisions may be given instead: `put(folder, extensions=[("007", at(60))])`.
    WHY is added to rows that lack a reason.
    """
    for name, content in files.items():
        path = folder / "gradebook" / f"{name}.csv"
        text = content if isinstance(content, str) else _decided(COLUMNS[path.name], content)
        path.write_text(text, encoding="utf-8", newline="")


def _decided(head: tuple[str, ...], rows: Sequence[tuple]) -> str:
    """Return a file of decisions as CSV."""
    cells = [[stamp(c) if isinstance(c, datetime) else c for c in row] for row in rows]
    return write([head, *([*row, *WHY][: len(head)] for row in cells)])


def command(*words: str | Path) -> int:
    """Run `python -m tools.classroom WORD...` in this process."""
    return classroom.main([str(word) for word in words])
