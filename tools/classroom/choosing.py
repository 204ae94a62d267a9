"""Finds the submissions that are named by a list of students."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

from grading.errors import UsageError

from .folder import ClassFolder
from .submissions import RollEntry, same

COLUMNS = ("submission_id", "sid", "email")  # the most specific comes first
ANY = "student"  # a column that may contain any of these, as in the gradebook's files


def chosen(
    folder: ClassFolder, file: Path | None, say: Callable[[str], None] | None = None
) -> frozenset[str] | None:
    """Return the ids of the submissions that a file names; a group is named by any of its members.

    The file is a CSV whose first line names at least one of `COLUMNS`, or `ANY`, or a list with one
    of these on each line. If several columns of a row are filled, the first counts.

    Args:
        say: called with a line about each entry that isn't on the roll; None: such an entry is an
            error.

    Returns:
        the ids; None without a file.

    Raises:
        UsageError: if the file can't be read, or a line names nobody on the roll.
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
            fault = f"{file}:{number}: {shown!r:.200} is not on the roll"
            if say is None:
                raise UsageError(fault)
            say(fault)
        found |= ids
    if not found and say is None:
        raise UsageError(
            f"{file} names nobody; expected a submission, a student ID or an e-mail address on "
            "each line"
        )
    return frozenset(found)


def _rows(text: str, file: Path) -> list[tuple[int, dict[str, str]]]:
    """Return each row that isn't blank: its line number, and its cells by column."""
    lines = list(csv.reader(io.StringIO(text)))
    head = [cell.strip().lower() for cell in lines[0]] if lines else []
    if not set(head) & {*COLUMNS, ANY}:
        if any(len([cell for cell in line if cell.strip()]) > 1 for line in lines):
            raise UsageError(
                f"{file}:1: got the columns {', '.join(head)!r:.200}; expected a column "
                f"{', '.join(COLUMNS[:-1])} or {COLUMNS[-1]}"
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
    """Return the submissions that a row names; a word in a list may be any of `COLUMNS`."""
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
