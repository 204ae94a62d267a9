"""The commands `gradebook DIR`, `explain STUDENT --in DIR` and `policy --try FILE --in DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

from autograder.description import Grading, Table, load_course, read
from grading import printable
from grading.errors import UsageError
from grading.results import write_atomically
from grading.verdicts import ExitCode

from ..folder import ClassFolder
from ..parsers import Commands, add_command, add_folder, add_in, add_release
from . import canvas, exports
from .book import EXCUSED, GRADED, INCOMPLETE, WITHHELD, Book, Grade
from .cells import rounded, shown, shown_exactly
from .people import Directory, Person, Unclear, only
from .policy import count
from .sources import FOLDER, Sources, read_sources, with_policy

INTO = "grades"
SAME_S = 60  # by how many seconds Gradescope's lateness may differ from ours
STATES = (GRADED, EXCUSED, WITHHELD, INCOMPLETE)


class Tried(Table):
    """A file for `--try`: only the table [grading], as in course.toml."""

    grading: Grading


def add_to(commands: Commands) -> None:
    """Add the commands."""
    book = add_command(
        commands,
        "gradebook",
        run_gradebook,
        "combine coding scores, written scores and decisions, and write grades for Canvas",
        f"Make the class's grades from its records and from the files in DIR/{FOLDER}/, by the "
        f"policy [grading] in course.toml. Write grades.csv and gradescope.csv to DIR/{INTO}/, and "
        f"canvas.csv if DIR/{FOLDER}/ contains an export of Canvas's gradebook.",
    )
    add_folder(book)
    book.add_argument(
        "--assignment",
        metavar="TITLE",
        help="the title or number of the assignment in Canvas; default: the only one",
    )
    explain = add_command(
        commands,
        "explain",
        run_explain,
        "show how a student's grade is calculated",
        "Show each step in the calculation of a student's grade, with its source.",
    )
    explain.add_argument(
        "student",
        metavar="STUDENT",
        help="a submission, a student ID, an e-mail address or a full name",
    )
    policy = add_command(
        commands,
        "policy",
        run_policy,
        "show how another policy would change the grades",
        "Compare the grades by course.toml with those by another table [grading]. Nothing is "
        "written.",
    )
    policy.add_argument(
        "--try",
        dest="tried",
        type=Path,
        required=True,
        metavar="FILE",
        help="a TOML file with a table [grading]",
    )
    for command in (explain, policy):
        add_in(command)
    for command in (book, explain, policy):
        add_release(command)
        command.add_argument(
            "--latest",
            action="store_true",
            help="if a student has several submissions, use the latest",
        )


def _sources(asked: argparse.Namespace) -> Sources:
    folder = ClassFolder.existing(asked.folder)
    return read_sources(folder, load_course(), asked.release, asked.latest)


# gradebook ---------------------------------------------------------------------------------------
def run_gradebook(asked: argparse.Namespace) -> int:
    """Write the grades; print notes on everything unusual, then a summary."""
    folder = ClassFolder.existing(asked.folder)
    sources = _sources(asked)
    book = sources.book
    grades = book.grades()
    notes = [*book.notes, *_times(book, grades), *_open(grades)]
    texts = {
        "grades.csv": exports.plain(book, grades),
        "gradescope.csv": exports.gradescope(book, grades),
    }
    if sources.canvas is not None:
        text, more = canvas.export(sources.canvas, asked.assignment, grades, book.most)
        texts["canvas.csv"] = text
        notes += more
    elif asked.assignment:
        raise UsageError(f"--assignment needs an export from Canvas in DIR/{FOLDER}/canvas.csv")
    into = folder.path / INTO
    with folder.locked():
        try:
            into.mkdir(mode=0o700, exist_ok=True)
            for name, text in texts.items():
                write_atomically(into / name, text)
        except OSError as error:
            raise UsageError(f"{into} can't be written: {error.strerror}") from None
    for note in notes:
        print(f"note: {printable.line(note)}")
    print(_summary(grades, len(notes)))
    for name in texts:
        print(into / name)
    return ExitCode.OK


def _times(book: Book, grades: Iterable[Grade]) -> Iterator[str]:
    """Yield notes on times that are unknown, or that don't agree with Gradescope's lateness."""
    unknown = other = 0
    for grade in grades:
        for one in grade.handed.values():
            unknown += bool(one.submission) and one.time is None and one.late_by is None
            if one.time is not None and one.late_by is not None and grade.due == book.due:
                ours = max(0.0, one.time.timestamp() - book.due.timestamp())
                other += abs(ours - one.late_by.total_seconds()) > SAME_S
    if unknown:
        yield (
            f"{count(unknown, 'submission')} without a time: counted as on time unless marked as "
            "late"
        )
    if other:
        yield (
            f"{count(other, 'written submission')} with a different lateness on Gradescope: does "
            "the assignment have another due date there, or extensions that extensions.csv lacks?"
        )


def _open(grades: Iterable[Grade]) -> list[str]:
    """Return who has no grade and why, except for people who are only in Canvas."""
    return [
        f"{grade.state}: {grade.person.label}: {grade.why}"
        for grade in grades
        if grade.state in (WITHHELD, EXCUSED) or (grade.state == INCOMPLETE and grade.handed)
    ]


def _summary(grades: list[Grade], notes: int) -> str:
    states = [grade.state for grade in grades]
    counted = [f"{states.count(state)} {state}" for state in STATES if state in states]
    people = "person" if len(grades) == 1 else "people"
    return f"{len(grades)} {people}: {', '.join(counted)}; {count(notes, 'note')}"


# explain -----------------------------------------------------------------------------------------
def run_explain(asked: argparse.Namespace) -> int:
    """Print how a grade is calculated."""
    book = _sources(asked).book
    for line in explanation(book.grade(find(book, asked.student)), book):
        print(printable.line(line))
    return ExitCode.OK


def find(book: Book, text: str) -> Person:
    """Find a person by submission, student ID, e-mail address or name.

    Raises:
        UsageError: if the text means nobody, or several people.
    """
    try:
        return only(Directory(book.people, names=True), text)
    except Unclear as unclear:
        raise UsageError(str(unclear)) from None


def explanation(grade: Grade, book: Book) -> list[str]:
    """Return the lines of an explanation."""
    places = ", ".join(dict.fromkeys(mention.where for mention in grade.person.mentions))
    lines = [f"{grade.person.label}: {places}"]
    lines += [f"  {remark}" for remark in grade.remarks]
    lines += [f"  {shown(s.points):>8}  {s.what}  [{s.source}]" for s in grade.steps]
    if grade.settled is not None:
        total, most = grade.settled.total, shown(book.most)
        exact = (
            "" if Fraction(rounded(total)) == total else f", {shown_exactly(total)} before rounding"
        )
        lines.append(f"  {rounded(total):>8}  of {most}{exact}")
    if grade.state != GRADED:
        lines.append(f"  {grade.state}, so no points are exported: {grade.why}")
    return lines


# policy ------------------------------------------------------------------------------------------
def run_policy(asked: argparse.Namespace) -> int:
    """Print what another policy would change."""
    book = _sources(asked).book
    other = with_policy(book, read(asked.tried, Tried).grading)
    changed, before_all, after_all = [], [], []
    for person in book.people:
        before, after = book.grade(person), other.grade(person)
        if before.total is not None and after.total is not None:
            before_all.append(before.total)
            after_all.append(after.total)
        if before.total != after.total:
            changed.append((person, before, after))
    for person, before, after in changed:
        print(printable.line(f"{_of(before)} -> {_of(after)}  {person.label}{_days(after)}"))
    up = sum(_points(b) < _points(a) for _, b, a in changed)
    down = len(changed) - up
    print(f"{len(book.people) - len(changed)} unchanged, {up} up, {down} down")
    print(f"mean {_mean(before_all)} -> {_mean(after_all)}, of {count(len(before_all), 'grade')}")
    return ExitCode.OK


def _of(grade: Grade) -> str:
    return f"{rounded(grade.total) if grade.total is not None else 'no grade':>8}"


def _points(grade: Grade) -> Fraction:
    return grade.total if grade.total is not None else Fraction(-1)


def _days(grade: Grade) -> str:
    late = [f"{part} {count(n, 'day')} late" for part, n in grade.days.items() if n]
    return f": {', '.join(late)}" if late else ""


def _mean(totals: list[Fraction]) -> str:
    return rounded(sum(totals, Fraction(0)) / len(totals)) if totals else "none"
