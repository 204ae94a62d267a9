"""Makes a student's text safe to show in a terminal, a file or a page.

A student chooses the names of files, folders and parameters, an exception's message, and what is
printed. Escape sequences could overwrite the grader's own lines, a line end could fake a line of
the grader, and half a surrogate pair can't be written to a file at all. All such text passes
through here: a test's texts when its result is made (`results.TestResult`), messages of errors when
they are made (`errors.UsageError`), names of files when they are staged (`staging.Staged`).
"""

from __future__ import annotations

MAX_LINE = 1_000


def lines(text: str, most: int) -> str:
    """Show escapes in a text of several lines as `\\x1b`, and cut it to `most` characters."""
    shown = _escaped(text[:most].replace("\r\n", "\n"), "\n\t")
    whole = len(text) <= most and len(shown) <= most  # an escaped character may become ten
    return shown if whole else shown[:most] + "\n[... cut]"


def last_states(text: str) -> str:
    """Return, of each line that is written over itself as a progress bar is, the last state."""
    rows = (row.rstrip("\r").rpartition("\r")[2] for row in text.split("\n"))
    return "\n".join(rows)


def line(text: str, most: int = MAX_LINE) -> str:
    """Return a text in one line of at most `most` characters, with line ends and tabs escaped."""
    shown = _escaped(text[:most], "")
    return shown if len(text) <= most and len(shown) <= most else shown[: most - 4] + " ..."


def _escaped(text: str, kept: str) -> str:
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode("ascii")
        for c in text
    )
