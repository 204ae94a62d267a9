"""A terminal: its width, whether it shows colours, and text that fits into it."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from dataclasses import dataclass
from typing import TextIO

CODES = {"bold": "1", "red": "31", "green": "32", "yellow": "33"}
NARROWEST = 40  # columns; narrower text is no easier to read than text that is too wide


@dataclass(frozen=True)
class Terminal:
    """Where text will be read.

    Attributes:
        width: columns, or None if lines may have any length, as in a file or a pipe.
        colours: whether it shows them.
    """

    width: int | None = None
    colours: bool = False

    def fitted(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Return a line of text as lines that fit; no word is cut in two.

        Args:
            indent: prefix of the first line.
            hanging: prefix of the others; None: the same as for the first.
        """
        further = indent if hanging is None else hanging
        if self.width is None or len(indent) + len(text) <= self.width:
            return [indent + text]
        lines = textwrap.wrap(
            text,
            max(self.width, NARROWEST),
            initial_indent=indent,
            subsequent_indent=further,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return lines or [indent]

    def painted(self, text: str, colour: str) -> str:
        """Return text in one of CODES, if colours show."""
        return f"\033[{CODES[colour]}m{text}\033[0m" if self.colours and text else text


def detect(stream: TextIO | None) -> Terminal:
    """Return a stream's Terminal. NO_COLOR, set to anything, means no colours (no-color.org)."""
    if stream is None or not stream.isatty():
        return Terminal()
    colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if sys.platform == "win32":  # older consoles would print the codes
        colours = colours and any(name in os.environ for name in ("WT_SESSION", "TERM_PROGRAM"))
    return Terminal(shutil.get_terminal_size().columns, colours)
