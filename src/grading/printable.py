"""Makes text of a student's fit to be shown: in a terminal, in a file, in a page.

A student chooses names of files, folders and parameters, what an exception says, and what is
printed. Escapes would paint over the grader's own lines, a line end would begin a line in its name,
and half a surrogate pair can't be written to a file at all. All such text passes through here: a
test's texts when its result is made (`results.TestResult`), messages of errors when they are made
(`errors.UsageError`), names of files when they are staged (`staging.Staged`).
"""

from __future__ import annotations

MAX_LINE = 1_000


def lines(text: str, most: int) -> str:
    """Show escapes in a text of several lines as `\\x1b`, and cut it to `most` characters."""
    shown = _escaped(text[:most].replace("\r\n", "\n"), "\n\t")
    whole = len(text) <= most and len(shown) <= most  # an escape may become ten characters
    return shown if whole else shown[:most] + "\n[... cut]"


def line(text: str, most: int = MAX_LINE) -> str:
    """Put a text into one line of at most `most` characters; escape line ends and tabs, too."""
    shown = _escaped(text[:most], "")
    return shown if len(text) <= most and len(shown) <= most else shown[: most - 4] + " ..."


def _escaped(text: str, kept: str) -> str:
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode("ascii")
        for c in text
    )
