"""Finds the submissions that are named by a list of students."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from grading.errors import UsageError

from .store import Store
from .submissions import same

# What may name a submission, the most specific first; in a list, any of them.
COLUMNS = ("submission", "sid", "email", "login", "canvas_id", "moodle_id", "key")
ANY = "student"  # a column that may contain any of them, as in the files for `decide`


def chosen(store: Store, file: Path) -> frozenset[str]:
    """Return the ids of the submissions that a file names; a group is named by any of its members.

    The file is a CSV whose first line names at least one of `COLUMNS`, or `ANY`, or a list with one
    of these on each line. If several columns of a row are filled, the first counts.

    Raises:
        UsageError: the file can't be read, or a line names nobody on the roll.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error!s:.200}") from None
    roll = store.rows("SELECT * FROM authors JOIN students ON students.id = authors.student")
    known = {column: [(same(row[column] or ""), row["submission"]) for row in roll]
             for column in COLUMNS}  # fmt: skip
    ids: set[str] = set()
    for number, word, columns in _words(text, file):
        named = ({key for name, key in known[column] if name == same(word)} for column in columns)
        own = next(filter(None, named), set())
        if not own:
            raise UsageError(f"{file}:{number}: {word!r:.200} is not on the roll")
        ids |= own
    if not ids:
        raise UsageError(
            f"{file} names nobody; expected a submission, a student ID or an e-mail address on "
            "each line"
        )
    return frozenset(ids)


def _words(text: str, file: Path) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield the line of each entry, what it says, and the columns in which to search for it."""
    lines = list(csv.reader(io.StringIO(text)))
    head = [cell.strip().lower() for cell in lines[0]] if lines else []
    if not {*head} & {*COLUMNS, ANY}:
        if any(len([cell for cell in line if cell.strip()]) > 1 for line in lines):
            raise UsageError(
                f"{file}:1: got the columns {', '.join(head)!r:.200}; expected a column "
                "submission, sid or email"
            )
        for number, line in enumerate(lines, 1):
            if word := "".join(line).strip():
                yield number, word, COLUMNS
        return
    for number, line in enumerate(lines[1:], 2):
        cells = dict(zip(head, (cell.strip() for cell in line), strict=False))
        filled = next((column for column in (*COLUMNS, ANY) if cells.get(column)), "")
        if filled:
            yield number, cells[filled], COLUMNS if filled == ANY else (filled,)
        elif any(cells.values()):
            raise UsageError(f"{file}:{number}: names nobody; expected a submission, sid or email")
