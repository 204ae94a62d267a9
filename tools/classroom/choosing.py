"""Lists of students that a command is given: which submissions do they name?"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from grading.errors import UsageError

from .folder import ClassFolder
from .submissions import RollEntry, same

COLUMNS = ("submission_id", "sid", "email")  # what tells most comes first
ANY = "student"  # a column in which each of these may stand, as in the gradebook's files


def chosen(
    folder: ClassFolder, file: Path | None, say: Callable[[str], None] | None = None
) -> frozenset[str] | None:
    """Return the ids of the submissions that a file names, for members of a group too.

    The file is a CSV whose first line names at least one of `COLUMNS`, or `ANY`, or a list with one
    of these a line. In a row with several, the first of them that is filled counts.

    Args:
        say: is told of those who are not on the roll; None: they are a mistake.

    Returns:
        the ids; None for no file.

    Raises:
        UsageError: the file can't be read, or a line names nobody on the roll.
    """
    if file is None:
        return None
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} can't be read: {error!s:.200}") from None
    roll = folder.roll()
    found: set[str] = set()
    for number, names in _rows(text, file):
        ids = _named(roll, names)
        if not ids:
            shown = next(filter(None, names.values()), "")
            fault = f"{file}:{number}: the roll has no {shown!r:.200}"
            if say is None:
                raise UsageError(fault)
            say(fault)
        found |= ids
    if not found and say is None:
        raise UsageError(f"{file} names nobody; expected a submission, an ID or an address a line")
    return frozenset(found)


def _rows(text: str, file: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the rows that are not blank, each with its line and what it has in each column."""
    lines = list(csv.reader(io.StringIO(text)))
    head = [cell.strip().lower() for cell in lines[0]] if lines else []
    if not set(head) & {*COLUMNS, ANY}:
        if any(len([cell for cell in line if cell.strip()]) > 1 for line in lines):
            raise UsageError(
                f"{file}:1: expected a column {', '.join(COLUMNS[:-1])} or {COLUMNS[-1]}; got "
                f"{', '.join(head)!r:.200}"
            )
        bare = [(n, "".join(line).strip()) for n, line in enumerate(lines, 1)]
        return [(n, {column: word for column in COLUMNS}) for n, word in bare if word]
    found = []
    for number, line in enumerate(lines[1:], 2):
        cells = dict(zip(head, (cell.strip() for cell in line), strict=False))
        if any(cells.values()):
            filled = next((c for c in COLUMNS if cells.get(c)), ANY)
            word = cells.get(filled, "")
            found.append(
                (number, dict.fromkeys(COLUMNS, word) if filled == ANY else {filled: word})
            )
    return found


def _named(roll: dict[str, RollEntry], names: dict[str, str]) -> set[str]:
    """Return the submissions that a row names; a word of a list may be in any column."""
    for column in COLUMNS:
        word = same(names.get(column, ""))
        if not word:
            continue
        found = {key for key, entry in roll.items() if word in _known(key, entry, column)}
        if found:
            return found
    return set()


def _known(submission_id: str, entry: RollEntry, column: str) -> set[str]:
    if column == "submission_id":
        return {same(submission_id)}
    return {same(getattr(student, column) or "") for student in entry.students} - {""}
