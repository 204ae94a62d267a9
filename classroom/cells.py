"""Writes CSV files, reads them back exactly, and reads tables with named columns.

A spreadsheet runs a cell that begins with =, +, -, @, a tab or a carriage return as a formula, and
students choose their names. The writer therefore puts an apostrophe in front of such a text, even
if apostrophes come before that character. The reader removes one apostrophe again, so that any text
is read as it was written. Numbers are not texts: -1.5 is written as it is.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

from grading.errors import UsageError, nearest

from .submissions import same

GUARDED = re.compile(r"'*[=+\-@\t\r]")
DELIMITERS = ",;\t"
BOM = "\ufeff"
# A first line in which Excel is told the separator; Excel itself doesn't show it.
SEPARATOR = re.compile(r'"?sep=([^\r\n])"?[,;\t]*\r?\n', re.IGNORECASE)
# At most nine digits before the point: points never have more, but an ID in a wrong column may.
NUMBER = re.compile(r"([+-]?)([0-9]{0,9})(?:([.,])([0-9]{1,30}))?")


@dataclass(frozen=True)
class Number:
    """A number as it should appear in a file; never guarded."""

    text: str


@dataclass(frozen=True)
class Row:
    """A row of a file."""

    place: str  # the file and the line on which it begins, for messages
    cells: tuple[str, ...]
    delimiter: str
    columns: dict[str, int] = field(default_factory=dict)  # indices by `same(name)`; see `table`

    def fault(self, what: str) -> UsageError:
        """Return an exception that names file and line."""
        return UsageError(f"{self.place}: {what}")

    def cell(self, column: str) -> str:
        """Return the cell in a column, without blanks around it; "" if there is none."""
        place = self.columns.get(same(column))
        return "" if place is None else self.cells[place].strip()

    def number(self, column: str, may_have_comma: bool = False) -> Fraction:
        """Return a cell's exact number; UsageError: it isn't one, or is ambiguous, as 1,5 is."""
        text = self.cell(column)
        match = NUMBER.fullmatch(text)
        if match is None or not (match[2] or match[4]):
            raise self.fault(f"{column} = {text!r:.60} should be a number such as 12.5")
        if match[3] == "," == self.delimiter and not may_have_comma:
            raise self.fault(f"{column} = {text!r:.60}: a comma separates columns here; write 12.5")
        value = Fraction(f"{match[2] or 0}.{match[4] or 0}")
        return -value if match[1] == "-" else value


@dataclass(frozen=True)
class Sheet:
    """The contents of a CSV file."""

    name: str  # the file's, for messages
    delimiter: str
    has_bom: bool  # whether it begins with a byte order mark, as Excel expects
    rows: tuple[Row, ...]  # those that aren't blank; the first one names the columns


# Writing ------------------------------------------------------------------------------------------


def write(rows: Iterable[Iterable[str | Number]], delimiter: str = ",", bom: bool = False) -> str:
    """Return rows as CSV; texts that a spreadsheet would run as formulas are guarded."""
    lines: list[str] = []
    writer = csv.writer(
        SimpleNamespace(write=lines.append),
        delimiter=delimiter,
        lineterminator="\r\n",  # before Python 3.13, no other line ends are quoted
    )
    for row in rows:
        writer.writerow([c.text if isinstance(c, Number) else guarded(c) for c in row])
    return BOM * bom + "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def guarded(text: str) -> str:
    """Return a text that no spreadsheet runs as a formula."""
    return "'" + text if GUARDED.match(text) else text


def unguarded(text: str) -> str:
    """Undo `guarded`."""
    return text[1:] if text.startswith("'") and GUARDED.match(text) else text


# Reading ------------------------------------------------------------------------------------------


def read(path: Path) -> Sheet:
    """Read a CSV file with commas, semicolons or tabs; UsageError: it is empty or can't be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    return parse(data, path.name)


def parse(data: bytes, name: str) -> Sheet:
    """Read the bytes of a CSV file; see `read`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{name}, line {line}: not valid UTF-8; save it as CSV UTF-8 in your spreadsheet"
        ) from None
    has_bom, text = text.startswith(BOM), text.removeprefix(BOM)
    if said := SEPARATOR.match(text):
        delimiter, text = said[1], "\n" + text[said.end() :]
    else:
        delimiter = max(DELIMITERS, key=text.lstrip().partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    place, rows = f"{name}, line 1", []
    try:
        for cells in reader:
            rows.append(Row(place, tuple(map(unguarded, cells)), delimiter))
            place = f"{name}, line {reader.line_num + 1}"
    except csv.Error as error:
        raise UsageError(f"{place}: not valid CSV: {error}") from None
    rows = [row for row in rows if any(map(str.strip, row.cells))]
    if not rows:
        raise UsageError(f"{name} is empty; expected a line with the names of columns, and rows")
    return Sheet(name, delimiter, has_bom, tuple(rows))


def table(
    sheet: Sheet,
    required: Sequence[str],
    optional: Sequence[str] | None = (),
    named: Sequence[int] = (),
) -> Sheet:
    """Return a sheet whose rows have a cell for each column, and know the columns by name.

    Args:
        optional: further columns that it may have; None: any.
        named: the indices of the columns that have names; empty: all have.

    Raises:
        UsageError: a column is missing, unknown or there twice, or a row has too many cells.
    """
    head = sheet.rows[0]
    columns: dict[str, int] = {}
    names = {same(name) for name in (*required, *(optional or ()))}
    for place, cell in enumerate(head.cells):
        name = same(cell)
        if not name or (named and place not in named):
            continue
        if name in columns:
            raise head.fault(f"there are two columns {cell!r:.60}")
        if optional is not None and name not in names:
            raise head.fault(f"unknown column {cell!r:.60}{nearest(name, sorted(names))}")
        columns[name] = place
    for name in required:
        if same(name) not in columns:
            raise head.fault(f"the column {name!r} is missing; expected {', '.join(required)}")
    width, wide = len(head.cells), []
    for row in sheet.rows:
        if any(cell.strip() for cell in row.cells[width:]):
            raise row.fault(
                f"{len(row.cells)} cells, but only {width} columns; does a cell contain a comma, "
                "without quotation marks around it?",
            )
        cells = (*row.cells, *[""] * width)[:width]
        wide.append(replace(row, cells=cells, columns=columns))
    return replace(sheet, rows=tuple(wide))


# Points -------------------------------------------------------------------------------------------


def rounded(value: Fraction) -> str:
    """Return a number with two decimals; halves are rounded away from zero: 0.125 to 0.13."""
    hundredths = int(abs(value) * 100 + Fraction(1, 2))
    sign = "-" if value < 0 and hundredths else ""
    return f"{sign}{hundredths // 100}.{hundredths % 100:02}"


def shown(value: Fraction) -> str:
    """Return a number for people: exact if four decimals are enough, else with two."""
    return decimal(value, 4) or rounded(value)


def decimal(value: Fraction, places: int = 12) -> str:
    """Return the exact number, or "" if it needs more decimals than `places`."""
    scaled = value * 10**places
    if scaled.denominator != 1:
        return ""
    whole, rest = divmod(abs(scaled.numerator), 10**places)
    return f"{'-' * (value < 0)}{whole}{f'.{rest:0{places}}'.rstrip('0').rstrip('.')}"
