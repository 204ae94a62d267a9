"""The commands `grades DIR` and `decide DIR FILE.csv...`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path

from autograder.description import load_course
from grading.errors import UsageError, nearest, safe_line
from grading.verdicts import ExitCode, write_atomically

from .. import cells
from ..arguments import Commands, add_command, add_folder, count
from ..cells import Number, decimal, rounded, shown
from ..exports import IDENTIFIER
from ..old_folder import DECISIONS
from ..store import Store, refuse_project
from .book import EXCUSED, GRADED, INCOMPLETE, STATES, WITHHELD, Book, Grade, natural, read_book
from .decisions import read_decisions, read_scores
from .people import find_one
from .policy import LATE, OVER_CAP, ZERO, Item, total
from .rosters import CANVAS_IDS, read_canvas, read_moodle

INTO = "grades"
CHARGED, LOST = "late_days_charged", (f"lost_{LATE}", f"lost_{OVER_CAP}")  # columns
DECIDED = (
    "exit codes: 0 done, 1 stored, but `grades` refuses it as things are, 2 wrong usage or bad "
    "input: nothing is stored, 3 DIR can't be written, 130 interrupted"
)


def add_to(commands: Commands) -> None:
    """Add the commands."""
    decide = add_command(
        commands,
        "decide",
        run_decide,
        "store decisions of staff, and scores of written answers",
        f"Store files in the class: Gradescope's CSV of the written assignment's scores, and "
        f"{', '.join(DECISIONS)}. A file replaces what the class has from an earlier one of its "
        "kind.",
        DECIDED,
    )
    add_folder(decide)
    decide.add_argument("files", type=Path, nargs="+", metavar="FILE.csv", help="what to store")
    grades = add_command(
        commands,
        "grades",
        run_grades,
        "combine coding scores, written scores and decisions, and write grades",
        "Make the class's grades from its results and decisions, by the policy [grading] in "
        f"course.toml. Files are written to DIR/{INTO}/, except for FILE.",
    )
    add_folder(grades)
    grades.add_argument(
        "--csv",
        type=Path,
        metavar="FILE",
        help=f"where to write one line a student; default: DIR/{INTO}/grades.csv",
    )
    grades.add_argument(
        "--canvas",
        type=Path,
        metavar="TEMPLATE",
        help=f"your export of Canvas's gradebook; DIR/{INTO}/canvas.csv is for its import",
    )
    grades.add_argument(
        "--assignment",
        metavar="TITLE",
        help="the title or number of the assignment in Canvas; default: the only one",
    )
    grades.add_argument(
        "--moodle",
        type=Path,
        metavar="WORKSHEET",
        help=f"Moodle's grading worksheet; DIR/{INTO}/moodle.csv is for its import",
    )
    grades.add_argument(
        "--explain",
        metavar="STUDENT",
        help="only show each step in the calculation of a grade, with its source: a submission, a "
        "student ID, an e-mail address or a full name",
    )


# decide -------------------------------------------------------------------------------------------


def run_decide(asked: argparse.Namespace) -> int:
    """Store the files, all or none of them."""
    due = load_course().dates.due
    with Store.existing(asked.folder, writes=True) as store, store.transaction():
        said = [f"{path.name}: {_store(store, path, due)}" for path in asked.files]
        for line in said:
            store.note(f"decide {line}")
            print(safe_line(line))
        try:
            read_book(store, load_course()).grades()
        except UsageError as error:
            print(f"note: `grades` refuses this, unless --canvas or --moodle helps: {error}")
            return ExitCode.FAILED
    return ExitCode.OK


def _store(store: Store, path: Path, due: datetime) -> str:
    """Replace what the class has of a file's kind; return how much that is, in words."""
    sheet = cells.read(path)
    if path.name in DECISIONS:
        store.db.execute("DELETE FROM decisions WHERE kind = ?", DECISIONS[path.name][:1])
        table, rows = "decisions", [vars(one) for one in read_decisions(sheet, due)]
    elif "Total Score" in sheet.rows[0].cells:
        store.db.execute("DELETE FROM written")
        table, rows = "written", read_scores(sheet)
    else:
        known = nearest(path.name, ("written.csv", *DECISIONS))
        if {IDENTIFIER, CANVAS_IDS["sis"]} & {*sheet.rows[0].cells}:
            known = "; `grades` takes Canvas's by --canvas, and Moodle's worksheet by --moodle"
        raise UsageError(f"{path}: unknown file{known}")
    for row in rows:
        store.add(table, row)
    of = " of written scores" if table == "written" else ""
    return count(len({row["place"] for row in rows}), "row") + of


# grades -------------------------------------------------------------------------------------------


def run_grades(asked: argparse.Namespace) -> int:
    """Write the grades; print notes on everything unusual, then a summary."""
    if asked.assignment and not asked.canvas:
        raise UsageError("--assignment needs an export from Canvas: --canvas TEMPLATE")
    rosters = [read_canvas(asked.canvas, asked.assignment)] if asked.canvas else []
    rosters += [read_moodle(asked.moodle)] if asked.moodle else []
    with Store.existing(asked.folder) as store:
        people = [mention for roster in rosters for mention in roster.students]
        book = read_book(store, load_course(), people)
        folder = store.path / INTO
    if asked.explain:
        person = find_one(book.people, asked.explain)
        for line in explanation(book.grade(person), book):
            print(safe_line(line))
        return ExitCode.OK
    grades = book.grades()
    notes = [*book.notes, *_open(grades)]
    texts = {asked.csv or folder / "grades.csv": as_csv(book, grades)}
    for roster in rosters:
        texts[folder / f"{roster.source}.csv"], more = roster.filled(grades, book.most)
        notes += more
    for path, text in texts.items():
        directory = path.resolve().parent
        refuse_project(directory)
        try:
            if directory == folder:
                folder.mkdir(mode=0o700, exist_ok=True)
            write_atomically(path, text)
        except OSError as error:
            raise UsageError(f"{path} can't be written: {error.strerror}") from None
    for note in notes:
        print(f"note: {safe_line(note)}")
    states = Counter(grade.state for grade in grades)
    counted = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    noun = "person" if len(grades) == 1 else "people"
    print(f"{len(grades)} {noun}: {counted}; {count(len(notes), 'note')}", *texts, sep="\n")
    return ExitCode.OK


def _open(grades: list[Grade]) -> Iterator[str]:
    """Yield who has no grade and why, except for people who are only on a roster."""
    work = [one for grade in grades for one in grade.work.values()]
    unknown = sum(bool(one.submission) and one.time is None for one in work)
    if unknown:
        how = "counted as on time unless marked as late"
        yield f"{count(unknown, 'submission')} without a time: {how}"
    for grade in grades:
        if grade.state in (WITHHELD, EXCUSED) or (grade.state == INCOMPLETE and grade.work):
            yield f"{grade.state}: {grade.person.label}: {grade.why}"


def explanation(grade: Grade, book: Book) -> Iterator[str]:
    """Yield the lines of an explanation; the points of its steps add up to the total."""
    places = ", ".join(dict.fromkeys(mention.where for mention in grade.person.mentions))
    yield f"{grade.person.label}: {places}"
    yield from (f"  {remark}" for remark in grade.remarks)
    if grade.lost is not None:
        steps = [*_earned(grade), *grade.lost]
        for step in steps:
            yield f"  {shown(step.points):>8}  {step.id}  [{step.source}]"
        points, exact = total(steps), ""
        if Fraction(rounded(points)) != points:
            exact = f", {decimal(points) or points} before rounding"
        yield f"  {rounded(points):>8}  of {shown(book.most)}{exact}"
    if grade.state != GRADED:
        yield f"  {grade.state}, so no points are exported: {grade.why}"


def _earned(grade: Grade) -> Iterator[Item]:
    """Yield what earns points, except for practice; IDs are in words."""
    for part, one in grade.work.items():
        for item in one.items:
            if item.most != 0 or item.points:
                of = f" of {shown(item.most)}" if item.most is not None else ""
                extra = ", extra credit" if item.is_extra else ""
                title = f": {item.title}" if item.title else ""
                yield replace(item, id=f"{part} {item.id}{of}{extra}{title}")


def as_csv(book: Book, grades: list[Grade]) -> str:
    """Return a row for each person: points by part and question, lateness, total, reason."""
    questions = {name for grade in grades for name in _points(grade) if " " in name}
    columns = (
        *("name", "sid", "email", "submissions", "state", "total", "most", *book.parts),
        *(f"days_late_{part}" for part in book.parts),
        *(CHARGED, *LOST, *sorted(questions, key=natural), "why"),
    )
    rows = [_row(grade) | {"most": Number(rounded(book.most))} for grade in grades]
    return cells.write([columns, *([row.get(name, "") for name in columns] for row in rows)])


def _row(grade: Grade) -> dict[str, str | Number]:
    """Return the cells that aren't empty, by column."""
    person, work = grade.person, grade.work.values()
    row = {"name": person.name, "sid": person.sid, "email": person.email}
    row |= {"submissions": " ".join(one.submission for one in work if one.submission)}
    row |= {"state": grade.state, "why": grade.why}
    numbers = {f"days_late_{one.part}": str(one.days) for one in work if one.days is not None}
    if grade.total is not None:
        numbers |= {"total": rounded(grade.total), CHARGED: str(grade.charged)}
        numbers |= {name: rounded(points) for name, points in _points(grade).items()}
    return row | {name: Number(text) for name, text in numbers.items()}


def _points(grade: Grade) -> dict[str, Fraction]:
    """Return, by column, what is lost, and the points of parts and questions before that."""
    points = dict.fromkeys(LOST, ZERO)
    for item in grade.lost or ():
        points[f"lost_{item.group}"] -= item.points
    for part, one in grade.work.items():
        points[part] = total(one.items)
        for item in one.items:
            if item.id != part:
                question = f"{part} {item.group or item.id}"
                points[question] = points.get(question, ZERO) + item.points
    return points
