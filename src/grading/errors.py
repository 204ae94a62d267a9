"""The harness's exceptions, by whose mistake it is, and students' texts, made safe to show.

    GradingError           ours: a broken installation, a reference that fails; exit code 3
    |- UsageError          the user's: bad input to the command; one line, exit code 2
    |  |- SubmissionError  the submission can't be graded at all
    |  `- DataError        no readable data set: a test that needs one is not run
    `- WireError           bytes that are not a valid frame, whoever sent them
Anything else that escapes while a test is judged is the student's fault if the reference in the
submission's place succeeds, and otherwise the grader's (`runner.judge`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

MAX_LINE = 1_000
UTF16 = (
    "saved as UTF-16, expected UTF-8: in VS Code, click on UTF-16 in the bar at the bottom, then "
    "`Save with Encoding`; in Notepad, `Save as` with the encoding UTF-8"
)


class GradingError(Exception):
    """Base of all exceptions that the harness raises on purpose."""


class UsageError(GradingError):
    """The command can't do what was asked; `str()` is the one line to print."""

    def __init__(self, message: str) -> None:
        super().__init__(safe_line(message))  # it may contain names that a student chose


class SubmissionError(UsageError):
    """There is no submission to grade, or it can't be accepted."""


class DataError(UsageError):
    """The installed data set, or one of its files, is missing or can't be read."""


class WireError(GradingError):
    """A frame is malformed, too large, or contains a type that may not cross."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, or all."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1, 0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(known)}" if known else "; there are none"


# Texts of students --------------------------------------------------------------------------------
# A student chooses the names of files and parameters, an exception's message, and what is printed.
# Escape sequences could overwrite the grader's own lines, a line end could fake one of them, and
# half a surrogate pair can't be written to a file at all. So such text passes through here: a
# test's when its result is made, an error's when it is made, a file's name when it is staged.


def safe_lines(text: str, most: int) -> str:
    """Show escapes in a text of several lines as `\\x1b`, and cut it to `most` characters."""
    shown = _escaped(text[:most].replace("\r\n", "\n"), "\n\t")
    whole = len(text) <= most and len(shown) <= most  # an escaped character may become ten
    return shown if whole else shown[:most] + "\n[... cut]"


def safe_line(text: str, most: int = MAX_LINE) -> str:
    """Return a text in one line of at most `most` characters, with line ends and tabs escaped."""
    shown = _escaped(text[:most], "")
    return shown if len(text) <= most and len(shown) <= most else shown[: most - 4] + " ..."


def _escaped(text: str, kept: str) -> str:
    return "".join(
        c if c.isprintable() or c in kept else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def saved_as_utf16(package: Path) -> list[Path]:
    """Return the modules of a package that are saved as UTF-16, which Python can't read."""
    found = []
    for path in sorted(package.glob("*.py")):
        with suppress(OSError):
            if is_utf16(path.read_bytes()):
                found.append(path)
    return found


def is_utf16(data: bytes) -> bool:
    """Return whether a source is in UTF-16, with or without a byte order mark; or in UTF-32.

    Of ASCII in UTF-16, every second byte is 0. A single one has another cause.
    """
    zeros = max(data[::2].count(0), data[1::2].count(0))
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or zeros > len(data) // 4
