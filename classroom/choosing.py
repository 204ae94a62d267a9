"""Finds the submissions that are named by a list of students."""

from __future__ import annotations

from pathlib import Path

from . import cells
from .grades import decisions, people, work
from .store import Store
from .submissions import same

COLUMNS = ("submission", "student", "sid", "email")


def chosen(store: Store, file: Path) -> frozenset[str]:
    """Return the ids of the submissions that a file names.

    The file is a CSV whose first line names at least one of `COLUMNS`, of which the first counts,
    or a list with a submission, or an ID, address or name of a student, on each line.

    Raises:
        UsageError: the file can't be read, or a line names nobody on the roll, or two people.
    """
    everybody, _ = people.join(work.coding(store), decisions.aliases(decisions.stored(store)))
    sheet = cells.read(file)
    head = [same(cell) for cell in sheet.rows[0].cells]
    column = next((name for name in COLUMNS if name in head), "")
    if column:
        sheet = cells.table(sheet, [column], None)
    ids: set[str] = set()
    for row in sheet.rows[bool(column) :]:
        text = sheet.cell(row, column) if column else sheet.delimiter.join(row.cells).strip()
        for person in people.find(everybody, text, f"{sheet.place(row)}: ", names=True):
            ids |= {mention.where for mention in person.of(people.CODING)}
    return frozenset(ids)
