"""Canvas's gradebook: the instructor's own export is the roster and the template.

How Canvas imports a file can be read in its source, lib/gradebook_importer.rb. It finds a student
by ID, SIS User ID, login and name, in this order. It finds an assignment by the number at the end
of a column's title, and creates a new one if there is no number. It drops columns whose titles
contain `Final Score` and the like, and columns that are read only. It reads 12,5 as 12.5. An empty
cell deletes a score.

The file that we write has the columns that identify students, and one assignment, so importing it
can't change anything else. A cell for which we have no grade is written as it was exported.
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
# Canvas's importer doesn't take a column for an assignment if its title contains one of these.
DROPPED = ("Current Score", "Current Points", "Current Grade", "Final Score", "Final Points",
           "Final Grade", "Override Score", "Override Grade", "Override Status")  # fmt: skip
TITLED = re.compile(r"(.*)\s\(([0-9]+)\)", re.DOTALL)
POINTS = "Points Possible"
# A row with nothing else says that grades are posted by hand.
POSTING = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
READ_ONLY = re.compile(r"read\s+only")
EXCUSED_THERE, NOT_ASSIGNED, NO_SCORE = "EX", "N/A", "-"


@dataclass(frozen=True)
class Template:
    """An export of Canvas's gradebook.

    Attributes:
        width: how many columns identify a student.
        points: the row with the maximum points.
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
        """Return the people in the export."""
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
        """Return the index of an assignment's column.

        Args:
            wanted: its title, with or without its number, or its number; None: the only one.

        Raises:
            UsageError: if there is none, there are several, or Canvas wouldn't import it.
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
            f"{asked}: expected one of the assignments {', '.join(titles) or '(there is none)'}",
        )

    def _refused(self, place: int) -> str:
        """Return why Canvas wouldn't import a column, or ""."""
        title = self.head[place]
        if dropped := [words for words in DROPPED if words in title]:
            return f"contains {dropped[0]!r}: Canvas drops such columns; rename the assignment"
        if not TITLED.fullmatch(title):
            return "has no number in parentheses at its end: Canvas would create a new assignment"
        if self.points is not None and READ_ONLY.search(self.points.cells[place]):
            return "is read only: Canvas drops such columns"
        return ""


def _names(title: str) -> set[str]:
    found = TITLED.fullmatch(title)
    return {title.strip(), *((found[1].strip(), found[2]) if found else ())}


def read_template(path: Path) -> Template:
    """Read an export of Canvas's gradebook.

    Raises:
        UsageError: if the file is something else.
    """
    sheet = cells.read(path, STUDENT)
    head = sheet.rows[0].cells if sheet.rows else ()
    starts = head[:1] == ("Student",) or head[:2] == ("LastName", "FirstName")
    if not starts or "ID" not in head or "Section" not in head:
        raise UsageError(
            f"{path.name}, line 1: not an export of Canvas's gradebook; expected the columns "
            "Student, ID, SIS User ID, SIS Login ID, Section, and a column for each assignment"
        )
    width = head.index("Section") + 1
    points, students = None, []
    sheet = replace(sheet, rows=tuple(_as_wide(sheet, row) for row in sheet.rows))
    for row in sheet.rows[1:]:
        if POINTS in row.cells[0] and row.cells[head.index("ID")].strip():
            raise sheet.fault(
                row, f"a student is called {POINTS}: Canvas would take this row for the points"
            )
        if POINTS in row.cells[0]:
            points = row
        elif not all(POSTING.fullmatch(cell) for cell in row.cells):
            students.append(row)
    return Template(sheet, width, points, tuple(students))


def _as_wide(sheet: Sheet, row: Row) -> Row:
    """Return a row with a cell for each column; Canvas's row about posting may have fewer.

    Raises:
        UsageError: if a cell beyond the last column isn't empty.
    """
    width = len(sheet.rows[0].cells)
    if any(cell.strip() for cell in row.cells[width:]):
        raise sheet.fault(row, f"{len(row.cells)} cells, but only {width} columns")
    return replace(row, cells=(*row.cells, *[""] * width)[:width])


def export(
    template: Template, wanted: str | None, grades: Iterable[Grade], most: Fraction
) -> tuple[str, list[str]]:
    """Return the file for Canvas, and a line about everything surprising in it.

    Args:
        wanted: see `Template.column`.
        most: the maximum points, without extra credit.

    Raises:
        UsageError: if there is no such column, or a cell in it is neither a number nor EX.
    """
    place = template.column(wanted)
    notes = _points_differ(template, place, most)
    by_row = {id(mention.said): grade for grade in grades for mention in grade.person.of("canvas")}
    mark = _usual_mark(template, place)
    comma = mark == "," and template.sheet.delimiter != ","
    students = {id(row) for row in template.students}
    rows: list[list[str | Number]] = []
    for row in template.sheet.rows:
        who: list[str | Number] = list(row.cells[: template.width])
        if id(row) not in students:
            text = row.cells[place]
            rows.append([*who, Number(text) if row is template.points else text])
            continue
        before = _checked(template, row, place, mark)
        last, note = _cell(before, by_row.get(id(row)), comma)
        rows.append([*who, last])
        if note:
            notes.append(f"{template.sheet.name}, line {row.line}: {note}")
    text = cells.write(rows, template.sheet.delimiter, template.sheet.has_bom)
    return text, notes


def _points_differ(template: Template, place: int, most: Fraction) -> list[str]:
    if template.points is None or not template.points.cells[place].strip():
        return []
    there = _number(template, template.points, place, _usual_mark(template, place))
    if there == most:
        return []
    return [
        f"the assignment is worth {cells.shown(there)} points in Canvas, but {cells.shown(most)} "
        "in the gradebook"
    ]


def _usual_mark(template: Template, place: int) -> str:
    """Return the decimal mark in a column's numbers, which depends on the language of Canvas."""
    rows = (*template.students, *([template.points] if template.points else []))
    numbers = [row.cells[place].strip() for row in rows]
    elsewhere = template.sheet.delimiter != "," and any("," in number for number in numbers)
    return "," if elsewhere or "," in map(_mark, numbers) else "."


def _mark(number: str) -> str:
    """Return a number's decimal mark; "" if it has none, or perhaps a thousands separator."""
    marks = re.findall("[,.]", number)
    if not marks:
        return ""
    if marks.count(marks[-1]) > 1:  # 1,234,567
        return "." if marks[-1] == "," else ","
    after = number.rpartition(marks[-1])[2]
    return marks[-1] if len(marks) > 1 or len(after) != 3 or number.startswith("0") else ""


def _number(template: Template, row: Row, place: int, usual: str) -> Fraction:
    """Return the number in a cell, perhaps with thousands separators.

    Args:
        usual: the decimal mark of numbers such as 1,234, which don't tell it.

    Raises:
        UsageError: if it isn't one.
    """
    text = row.cells[place].strip()
    mark = _mark(text) or usual
    separators = ",.\u202f\xa0 '’".replace(mark, "")
    plain = re.sub(f"(?<=[0-9])[{separators}](?=[0-9]{{3}}(?![0-9]))", "", text)
    if not re.fullmatch(rf"[+-]?([0-9]{{1,9}}(\{mark}[0-9]*)?|\{mark}[0-9]+)", plain):
        column = POINTS if row is template.points else template.head[place]
        raise template.sheet.fault(
            row, f"{column} = {text!r:.60} should be a number such as 12{usual}5"
        )
    return Fraction(plain.replace(mark, "."))


def _checked(template: Template, row: Row, place: int, mark: str) -> str:
    """Return what is in a cell of the export: a number, EX, N/A, or nothing."""
    text = row.cells[place].strip()
    if text in ("", NO_SCORE):
        return ""
    if text.upper() != EXCUSED_THERE and text != NOT_ASSIGNED:
        _number(template, row, place, mark)
    return text


def _cell(before: str, grade: Grade | None, comma: bool) -> tuple[str | Number, str]:
    """Return the new content of a cell, and a note or ""."""
    kept: str | Number = Number(before)
    if grade is None:
        return kept, ""
    label = grade.person.label
    if before == NOT_ASSIGNED:
        known = grade.state != "incomplete" or bool(grade.handed)
        return kept, f"not assigned to {label} in Canvas: N/A is kept" if known else ""
    if grade.state == WITHHELD:
        return "", ""
    if grade.state == EXCUSED:
        return EXCUSED_THERE, ""
    if grade.total is None:
        return kept, ""
    number = cells.rounded(grade.total)
    if before.upper() == EXCUSED_THERE:
        return kept, f"{label} has EX in Canvas, but {number} in the gradebook: EX is kept"
    return Number(number.replace(".", ",") if comma else number), ""
