"""The one writer of CSV files, its exact inverse, and tables whose columns have names.

A spreadsheet runs a cell that begins with =, +, -, @, a tab or a carriage return as a formula, and
students choose their names. So the writer puts an apostrophe before such a text, and before one
that has apostrophes in front of that; the reader takes one away again. Numbers are no texts: -1.5
stays as it is.

    read(write(rows)) == rows, for texts of any kind
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from grading.errors import UsageError
from grading.toml_tables import nearest

from ..submissions import same

GUARDED = re.compile(r"'*[=+\-@\t\r]")
DELIMITERS = ",;\t"
BOM = "\ufeff"
# At most nine digits in front: no cell of a gradebook is larger, and an ID in the wrong column is.
NUMBER = re.compile(r"([+-]?)([0-9]{0,9})(?:([.,])([0-9]{1,30}))?")


@dataclass(frozen=True)
class Number:
    """A number as it is to stand in a file; never guarded."""

    text: str


@dataclass(frozen=True)
class Row:
    """A row of a file, and the line on which it begins."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    """What a CSV file holds.

    Attributes:
        name: of the file, for messages.
        has_bom: whether it begins with a byte order mark, as Excel wants it.
        rows: those that are not blank.
    """

    name: str
    delimiter: str
    has_bom: bool
    rows: tuple[Row, ...]

    def fault(self, row: Row, what: str) -> UsageError:
        """Return an exception that names file and line."""
        return UsageError(f"{self.name}, line {row.line}: {what}")

    def number(self, row: Row, column: str, text: str) -> Fraction:
        """Return a number, exactly.

        Raises:
            UsageError: it is none, or might be two.
        """
        found = NUMBER.fullmatch(text.strip())
        if found is None or not (found[2] or found[4]):
            raise self.fault(row, f"{column} = {text!r:.60} is no number such as 12.5")
        if found[3] == "," and self.delimiter == ",":
            raise self.fault(
                row, f"{column} = {text!r:.60} has a comma, which separates columns: write 12.5"
            )
        value = Fraction(f"{found[2] or 0}.{found[4] or 0}")
        return -value if found[1] == "-" else value


def write(rows: Iterable[Iterable[str | Number]], delimiter: str = ",", bom: bool = False) -> str:
    """Return rows as CSV; texts that a spreadsheet would run are guarded."""
    lines = [_line(list(row), delimiter) for row in rows]
    return BOM * bom + "".join(lines)


def _line(cells: list[str | Number], delimiter: str) -> str:
    texts = [cell.text if isinstance(cell, Number) else guarded(cell) for cell in cells]
    if len(texts) == 1 and not texts[0]:
        return '""\n'  # a blank line would be no row
    return delimiter.join(_quoted(text, delimiter) for text in texts) + "\n"


def _quoted(text: str, delimiter: str) -> str:
    # csv.writer leaves a carriage return bare where lines end in \n, before Python 3.13.
    if any(character in text for character in (delimiter, '"', "\r", "\n")):
        return '"' + text.replace('"', '""') + '"'
    return text


def guarded(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return "'" + text if GUARDED.match(text) else text


def unguarded(text: str) -> str:
    """Undo `guarded`, and nothing else."""
    return text[1:] if text.startswith("'") and GUARDED.match(text) else text


def read(path: Path, known: Collection[str]) -> Sheet:
    """Read a CSV file whose columns are separated by commas, semicolons or tabs.

    Args:
        known: names of columns that its first row may have: they tell the separator.

    Raises:
        UsageError: it can't be read, or is no CSV in UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    return parse(data, path.name, known)


def parse(data: bytes, name: str, known: Collection[str]) -> Sheet:
    """Read the bytes of a CSV file; see `read`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{name}, line {line}: this is no UTF-8; in a spreadsheet, save it as CSV UTF-8"
        ) from None
    has_bom, text = text.startswith(BOM), text.removeprefix(BOM)
    wanted = {same(column) for column in known}
    delimiter = max(DELIMITERS, key=lambda each: _fit(text, each, wanted))
    rows = tuple(row for row in _rows(text, delimiter, name) if any(map(str.strip, row.cells)))
    return Sheet(name, delimiter, has_bom, rows)


def _fit(text: str, delimiter: str, wanted: set[str]) -> tuple[int, int]:
    """Return how well a separator suits the first row: known names, then columns."""
    try:
        first = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error:
        return 0, 0
    return len(wanted & {same(cell) for cell in first}), len(first)


def _rows(text: str, delimiter: str, name: str) -> Iterable[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise UsageError(f"{name}, line {line}: this is no CSV: {error}") from None
        yield Row(line, tuple(map(unguarded, cells)))


@dataclass(frozen=True)
class Table:
    """A sheet whose first row names its columns.

    Attributes:
        columns: the place of each column, by its name in lower case.
    """

    sheet: Sheet
    head: Row
    columns: dict[str, int]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows below the names."""
        return self.sheet.rows[1:]

    def cell(self, row: Row, column: str) -> str:
        """Return what stands in a column, without blanks around it; "" where there is none."""
        place = self.columns.get(same(column))
        return row.cells[place].strip() if place is not None and place < len(row.cells) else ""


def table(sheet: Sheet, required: Sequence[str], optional: Sequence[str] | None = ()) -> Table:
    """Return a sheet as a table.

    Args:
        optional: columns that it may have besides; None: any.

    Raises:
        UsageError: a column is missing, unknown or there twice, or a row has cells beyond the last.
    """
    if not sheet.rows:
        raise UsageError(f"{sheet.name} is empty; expected the columns {', '.join(required)}")
    head = sheet.rows[0]
    columns: dict[str, int] = {}
    names = {same(name) for name in (*required, *(optional or ()))}
    for place, cell in enumerate(head.cells):
        name = same(cell)
        if not name:
            continue
        if name in columns:
            raise sheet.fault(head, f"the column {cell!r:.60} is there twice")
        if optional is not None and name not in names:
            raise sheet.fault(head, f"unknown column {cell!r:.60}{nearest(name, sorted(names))}")
        columns[name] = place
    for name in required:
        if same(name) not in columns:
            raise sheet.fault(
                head, f"the column {name!r} is missing; expected {', '.join(required)}"
            )
    for row in sheet.rows[1:]:
        if any(cell.strip() for cell in row.cells[len(head.cells) :]):
            raise sheet.fault(
                row,
                f"{len(row.cells)} cells below {len(head.cells)} columns; is a comma in one of "
                "them, without quotation marks around it?",
            )
    return Table(sheet, head, columns)


def rounded(value: Fraction) -> str:
    """Return a number with two decimals, halves away from zero: 0.125 as 0.13."""
    hundredths = int(abs(value) * 100 + Fraction(1, 2))
    sign = "-" if value < 0 and hundredths else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02}"


def shown(value: Fraction) -> str:
    """Return a number for people: exact where that is short, 12.5, else with two decimals."""
    return _decimal(value, 4) or rounded(value)


def shown_exactly(value: Fraction) -> str:
    """Return a number as it is, 8.685; one that no decimals end is a fraction."""
    return _decimal(value, 12) or str(value)


def _decimal(value: Fraction, places: int) -> str:
    """Return a number as it is; "" if it takes more decimals."""
    scaled = value * 10**places
    if scaled.denominator != 1:
        return ""
    whole, rest = divmod(abs(scaled.numerator), 10**places)
    return f"{'-' * (value < 0)}{whole}{f'.{rest:0{places}}'.rstrip('0').rstrip('.')}"
