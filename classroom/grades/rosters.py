"""Fills in the instructor's own export of Canvas's gradebook, or Moodle's grading worksheet.

Canvas (lib/gradebook_importer.rb in its source) finds a student by ID, SIS User ID, login and name,
in this order. It finds an assignment by the number at the end of a column's title, and creates a
new one if there is no number. It drops columns whose titles contain `Final Score` and the like, and
columns that are read only. It reads 12,5 as 12.5. An empty cell deletes a score.

The file for Canvas has the columns that identify students, and one assignment, so importing it
can't change anything else. Moodle's has all its columns. A cell for which we have no grade is
written as it was exported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from grading.errors import UsageError

from .. import cells
from ..cells import Number, Row, Sheet, rounded, shown
from ..exports import FIELDS, IDENTIFIER
from .book import EXCUSED, INCOMPLETE, WITHHELD, Grade
from .people import CANVAS, MOODLE, Mention

# Canvas's importer doesn't take a column for an assignment if its title contains one of these.
DROPPED = ("Current Score", "Current Points", "Current Grade", "Final Score", "Final Points",
           "Final Grade", "Override Score", "Override Grade", "Override Status")  # fmt: skip
TITLED = re.compile(r"(.*)\s\(([0-9]+)\)", re.DOTALL)
POINTS = "Points Possible"
# A row with nothing else says that grades are posted by hand.
POSTING = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
READ_ONLY = re.compile(r"read\s+only")
EXCUSED_THERE, NOT_ASSIGNED, NO_SCORE = "EX", "N/A", "-"
GRADE, MAXIMUM = "Grade", "Maximum Grade"  # Moodle's columns
CHANGEABLE = "Grade can be changed"
CANVAS_IDS = {"canvas": "ID", "sis": "SIS User ID", "login": "SIS Login ID"}
MOODLE_IDS = {"moodle": IDENTIFIER} | {kind: FIELDS[kind] for kind in ("email", "sid", "login")}


@dataclass(frozen=True)
class Roster:
    """An export that is to be filled in."""

    source: str  # CANVAS or MOODLE
    sheet: Sheet
    students: list[Mention]  # what each one said is the row
    kept: tuple[int, ...]  # the indices of the columns that are written
    column: int  # the index of the column of grades
    most: Fraction | None  # the maximum points, if they are there

    def filled(self, grades: Iterable[Grade], most: Fraction) -> tuple[str, list[str]]:
        """Return the file to import, and a line about everything surprising in it.

        Args:
            grades: everybody's.
            most: the maximum points, without extra credit.
        """
        notes: list[str] = []
        if self.most not in (None, most):
            notes.append(
                f"the assignment is worth {shown(self.most)} points in {self.platform}, but "
                f"{shown(most)} in the gradebook"
            )
        by_place = {m.where: grade for grade in grades for m in grade.person.of(self.source)}
        rows: list[list[str | Number]] = []
        for row in self.sheet.rows:
            new: list[str | Number] = [Number(c) if c == NO_SCORE else c for c in row.cells]
            if row.place in by_place:
                new[self.column], note = self._cell(row, by_place[row.place])
                notes += [f"{row.place}: {note}"] if note else []
            rows.append([new[place] for place in self.kept])
        return cells.write(rows, self.sheet.delimiter, self.sheet.has_bom), notes

    @property
    def platform(self) -> str:
        return self.source.capitalize()

    def _cell(self, row: Row, grade: Grade) -> tuple[str | Number, str]:
        """Return the new content of a cell, and a note or ""."""
        title, label = self.sheet.rows[0].cells[self.column], grade.person.label
        there = row.cell(title)
        before = "" if there == NO_SCORE else there
        is_excused = before.upper() == EXCUSED_THERE
        if before not in ("", NOT_ASSIGNED) and not is_excused:
            row.number(title, may_have_comma=True)  # anything else is refused
        if before == NOT_ASSIGNED or row.cell(CHANGEABLE).lower() == "no":
            why = f"{self.platform} doesn't allow a change for {label}"
            if before == NOT_ASSIGNED:
                why = f"not assigned to {label} in {self.platform}"
            is_only_there = grade.state == INCOMPLETE and not grade.work
            return Number(there), "" if is_only_there else f"{why}: {there or '-'} is kept"
        if grade.state in (WITHHELD, EXCUSED):
            is_shown = self.source == CANVAS and grade.state == EXCUSED
            return EXCUSED_THERE if is_shown else "", ""
        if grade.total is None:
            return Number(there), ""
        number = rounded(grade.total)
        if is_excused:
            said = f"{label} has EX in {self.platform}, but {number} in the gradebook: EX is kept"
            return Number(there), said
        return Number(number.replace(".", ",") if self.has_commas else number), ""

    @cached_property
    def has_commas(self) -> bool:
        """Whether numbers have decimal commas, and columns are separated otherwise."""
        numbers = (row.cells[self.column] + row.cell(MAXIMUM) for row in self.sheet.rows[1:])
        return self.sheet.delimiter != "," and any("," in number for number in numbers)


def _mention(source: str, row: Row, name: str, columns: dict[str, str]) -> Mention:
    """Return who a row is about; `columns` has the column of each kind of ID."""
    ids = {kind: row.cell(column) for kind, column in columns.items()}
    if source == MOODLE:
        ids["moodle"] = ids["moodle"].rpartition(" ")[2]  # it writes `Participant 657737`
    ids = {kind: text for kind, text in ids.items() if text}
    return Mention(source, row.place, name, ids, row)


def _most(row: Row | None, column: str) -> Fraction | None:
    return row.number(column, may_have_comma=True) if row and row.cell(column) else None


# Canvas -------------------------------------------------------------------------------------------


def read_canvas(path: Path, assignment: str | None) -> Roster:
    """Read an export of Canvas's gradebook.

    Args:
        assignment: its title, with or without its number, or its number; None: the only one.

    Raises:
        UsageError: the file is something else, or Canvas wouldn't import that assignment.
    """
    sheet = cells.read(path)
    head = sheet.rows[0].cells
    starts = head[:1] == ("Student",) or head[:2] == ("LastName", "FirstName")
    if not starts or "ID" not in head or "Section" not in head:
        raise UsageError(
            f"{path.name}, line 1: not an export of Canvas's gradebook; expected the columns "
            "Student, ID, SIS User ID, SIS Login ID, Section, and a column for each assignment"
        )
    width = head.index("Section") + 1
    column = _assignment(sheet, width, assignment)
    kept = (*range(width), column)
    sheet = cells.table(sheet, (), None, kept)
    points, students = None, []
    for row in sheet.rows[1:]:
        if POINTS in row.cells[0] and row.cell("ID"):
            raise row.fault(
                f"a student is called {POINTS}: Canvas would take this row for the points"
            )
        if POINTS in row.cells[0]:
            points = row
        elif not all(POSTING.fullmatch(cell) for cell in row.cells):
            parts = (row.cell(column) for column in ("Student", "FirstName", "LastName"))
            students.append(_mention(CANVAS, row, " ".join(filter(None, parts)), CANVAS_IDS))
    return Roster(CANVAS, sheet, students, kept, column, _most(points, head[column]))


def _assignment(sheet: Sheet, width: int, name: str | None) -> int:
    """Return the index of an assignment's column; see `read_canvas`."""
    head = sheet.rows[0]
    titles = dict(enumerate(head.cells[width:], width))
    points = next((row.cells for row in sheet.rows if POINTS in row.cells[0]), ())
    below = dict(enumerate(points))
    refused = {place: _refused(title, below.get(place, "")) for place, title in titles.items()}
    taken = [place for place, why in refused.items() if not why]
    several = taken
    if name is not None:
        several = [place for place, title in titles.items() if name.strip() in _names(title)]
    if len(several) != 1:
        asked = "--assignment" if name is None else f"--assignment {name!r:.60}"
        choice = ", ".join(repr(titles[place]) for place in taken) or "(there is none)"
        raise head.fault(f"{asked}: expected one of the assignments {choice}")
    (column,) = several
    if why := refused[column]:
        raise head.fault(f"{titles[column]!r:.90} {why}")
    return column


def _refused(title: str, points: str) -> str:
    """Return why Canvas wouldn't import a column, or ""."""
    if dropped := [words for words in DROPPED if words in title]:
        return f"contains {dropped[0]!r}: Canvas drops such columns; rename the assignment"
    if not TITLED.fullmatch(title):
        return "has no number in parentheses at its end: Canvas would create a new assignment"
    if READ_ONLY.search(points):
        return "is read only: Canvas drops such columns"
    return ""


def _names(title: str) -> set[str]:
    match = TITLED.fullmatch(title)
    return {title.strip(), *((match[1].strip(), match[2]) if match else ())}


# Moodle -------------------------------------------------------------------------------------------


def read_moodle(path: Path) -> Roster:
    """Read Moodle's grading worksheet; UsageError: it is something else."""
    sheet = cells.table(cells.read(path), (IDENTIFIER, GRADE), None)
    head, *rows = sheet.rows
    students = [_mention(MOODLE, row, row.cell(FIELDS["name"]), MOODLE_IDS) for row in rows]
    most = _most(rows[0] if rows else None, MAXIMUM)
    column = head.columns[GRADE.lower()]
    return Roster(MOODLE, sheet, students, (*range(len(head.cells)),), column, most)
