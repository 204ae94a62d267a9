"""Canvas's gradebook: the instructor's own export as roster and template.

What Canvas does with a file is in its source, lib/gradebook_importer.rb: it finds a student by ID,
SIS User ID, login, then name; it finds an assignment by the number at the end of a column's title,
and makes a new one where there is none; it drops columns whose titles contain `Final Score` and the
like, and those that are read only; it takes 12,5 for 12.5; an empty cell takes a score away.

The file that we write has the columns that say who is who, and one assignment: nothing else can be
changed by importing it. A cell about which we know nothing stays as it was exported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from grading.errors import UsageError

from . import cells
from .book import EXCUSED, WITHHELD, Grade
from .cells import Number, Row, Sheet
from .people import Mention

STUDENT = ("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID",
           "Integration ID", "Root Account", "Section")  # fmt: skip
# Titles that contain one of these are no assignments to Canvas, as its importer has it.
DROPPED = ("Current Score", "Current Points", "Current Grade", "Final Score", "Final Points",
           "Final Grade", "Override Score", "Override Grade", "Override Status")  # fmt: skip
TITLED = re.compile(r"(.*)\s\(([0-9]+)\)", re.DOTALL)
POINTS = "Points Possible"
# A row of these alone says that grades are posted by hand.
POSTING = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
READ_ONLY = re.compile(r"read\s+only")
EXCUSED_THERE, NOT_ASSIGNED, NO_SCORE = "EX", "N/A", "-"


@dataclass(frozen=True)
class Template:
    """An export of Canvas's gradebook.

    Attributes:
        width: how many columns say who is who.
        points: the row of points.
        students: the rows of students.
    """

    sheet: Sheet
    width: int
    points: Row | None
    students: tuple[Row, ...]

    @property
    def head(self) -> tuple[str, ...]:
        """The first row."""
        return self.sheet.rows[0].cells

    def mentions(self) -> list[Mention]:
        """Return whom the export has."""
        return [self._mention(row) for row in self.students]

    def _mention(self, row: Row) -> Mention:
        def cell(column: str) -> str:
            place = self.head.index(column) if column in self.head else -1
            return row.cells[place].strip() if 0 <= place < self.width else ""

        name = cell("Student") or f"{cell('FirstName')} {cell('LastName')}".strip()
        ids = (
            ("canvas", cell("ID")),
            ("sis", cell("SIS User ID")),
            ("login", cell("SIS Login ID")),
        )
        where = f"{self.sheet.name}, line {row.line}"
        return Mention("canvas", where, name, tuple(i for i in ids if i[1]), row)

    def column(self, wanted: str | None) -> int:
        """Return the place of an assignment's column.

        Args:
            wanted: its title, with or without its number, or its number; None: the only one.

        Raises:
            UsageError: there is none, there are several, or Canvas would not take it as it is.
        """
        columns = range(self.width, len(self.head))
        if wanted is not None:
            found = [place for place in columns if wanted.strip() in _names(self.head[place])]
        else:
            found = [place for place in columns if not self._refused(place)]
        if len(found) == 1:
            if why := self._refused(found[0]):
                raise self.sheet.fault(self.sheet.rows[0], f"{self.head[found[0]]!r:.90} {why}")
            return found[0]
        titles = [repr(self.head[place]) for place in columns if not self._refused(place)]
        asked = "--assignment" if wanted is None else f"--assignment {wanted!r:.60}"
        raise self.sheet.fault(
            self.sheet.rows[0],
            f"{asked}: expected one of the assignments {', '.join(titles) or '(there are none)'}",
        )

    def _refused(self, place: int) -> str:
        """Say why Canvas would not take a column for the assignment that it is of; or ""."""
        title = self.head[place]
        if dropped := [words for words in DROPPED if words in title]:
            return f"contains {dropped[0]!r}: Canvas drops such columns; rename the assignment"
        if not TITLED.fullmatch(title):
            return "has no number in parentheses at its end: Canvas would make a new assignment"
        if self.points is not None and READ_ONLY.search(self.points.cells[place]):
            return "is read only: Canvas drops such columns"
        return ""


def _names(title: str) -> set[str]:
    found = TITLED.fullmatch(title)
    return {title.strip(), *((found[1].strip(), found[2]) if found else ())}


def read_template(path: Path) -> Template:
    """Read an export of Canvas's gradebook.

    Raises:
        UsageError: it is something else.
    """
    sheet = cells.read(path, STUDENT)
    head = sheet.rows[0].cells if sheet.rows else ()
    starts = head[:1] == ("Student",) or head[:2] == ("LastName", "FirstName")
    if not starts or "ID" not in head or "Section" not in head:
        raise UsageError(
            f"{path.name}, line 1: no export of Canvas's gradebook; expected the columns Student, "
            "ID, SIS User ID, SIS Login ID, Section and those of assignments"
        )
    width = head.index("Section") + 1
    points, students = None, []
    sheet = replace(sheet, rows=tuple(_as_wide(sheet, row) for row in sheet.rows))
    for row in sheet.rows[1:]:
        if POINTS in row.cells[0] and row.cells[head.index("ID")].strip():
            raise sheet.fault(row, f"a student called {POINTS}: Canvas takes this row for points")
        if POINTS in row.cells[0]:
            points = row
        elif not all(POSTING.fullmatch(cell) for cell in row.cells):
            students.append(row)
    return Template(sheet, width, points, tuple(students))


def _as_wide(sheet: Sheet, row: Row) -> Row:
    """Return a row with as many cells as there are columns; Canvas's row on posting may have less.

    Raises:
        UsageError: a cell behind the last column is not empty.
    """
    width = len(sheet.rows[0].cells)
    if any(cell.strip() for cell in row.cells[width:]):
        raise sheet.fault(row, f"{len(row.cells)} cells, but {width} columns")
    return replace(row, cells=(*row.cells, *[""] * width)[:width])


def export(
    template: Template, wanted: str | None, grades: Iterable[Grade], most: Fraction
) -> tuple[str, list[str]]:
    """Return the file for Canvas, and a line on everything in it that may surprise.

    Args:
        wanted: see `Template.column`.
        most: the points to reach, without extra credit.

    Raises:
        UsageError: the column is no assignment's, or a cell in it is neither number nor EX.
    """
    place = template.column(wanted)
    notes = _points_differ(template, place, most)
    by_row = {id(mention.said): grade for grade in grades for mention in grade.person.of("canvas")}
    comma = _has_commas(template, place)
    students = {id(row) for row in template.students}
    rows: list[list[str | Number]] = []
    for row in template.sheet.rows:
        who: list[str | Number] = list(row.cells[: template.width])
        if id(row) not in students:
            text = row.cells[place]
            rows.append([*who, Number(text) if row is template.points else text])
            continue
        before = _checked(template, row, place)
        last, note = _cell(before, by_row.get(id(row)), comma)
        rows.append([*who, last])
        if note:
            notes.append(f"{template.sheet.name}, line {row.line}: {note}")
    text = cells.write(rows, template.sheet.delimiter, template.sheet.has_bom)
    return text, notes


def _points_differ(template: Template, place: int, most: Fraction) -> list[str]:
    if template.points is None or not (text := template.points.cells[place].strip()):
        return []
    there = template.sheet.number(template.points, POINTS, _unspaced(text))
    if there == most:
        return []
    return [
        f"Canvas has {cells.shown(there)} points possible, and the gradebook {cells.shown(most)}"
    ]


def _unspaced(text: str) -> str:
    return text.replace(",", ".")  # Canvas never writes thousands


def _has_commas(template: Template, place: int) -> bool:
    """Return whether the export's numbers have decimal commas."""
    rows = (*template.students, *([template.points] if template.points else []))
    return template.sheet.delimiter != "," and any("," in row.cells[place] for row in rows)


def _checked(template: Template, row: Row, place: int) -> str:
    """Return what Canvas has in a cell: a number, EX, N/A, or nothing."""
    text = row.cells[place].strip()
    if text in ("", NO_SCORE):
        return ""
    if text.upper() != EXCUSED_THERE and text != NOT_ASSIGNED:
        template.sheet.number(row, template.head[place], _unspaced(text))
    return text


def _cell(before: str, grade: Grade | None, comma: bool) -> tuple[str | Number, str]:
    """Return what is to stand in a cell, and a note, or ""."""
    kept: str | Number = Number(before)
    if grade is None:
        return kept, ""
    label = grade.person.label
    if before == NOT_ASSIGNED:
        known = grade.state != "incomplete" or bool(grade.handed)
        return kept, f"Canvas has not assigned it to {label}: N/A stays" if known else ""
    if grade.state == WITHHELD:
        return "", ""
    if grade.state == EXCUSED:
        return EXCUSED_THERE, ""
    if grade.total is None:
        return kept, ""
    number = cells.rounded(grade.total)
    if before.upper() == EXCUSED_THERE:
        return kept, f"Canvas has EX for {label}, and the gradebook {number}: EX stays"
    return Number(number.replace(".", ",") if comma else number), ""
