"""Finds the code that a student wrote: what is between the markers, and changes elsewhere.

Lines outside the markers count if they aren't in the files that students get, because helper
functions are often written there. A file without markers counts as a whole. What it has in common
with the starter and the reference solution is removed later, as 5-grams (`index.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from grading import markers, paths

from .tokens import Gram, View, grams, tokens_of

MAX_BYTES = 400_000  # per file; real ones have up to 40,000
TOPIC = re.compile(r"\s*# \[([a-z0-9 ]{1,60})\]\s*$")
FUNCTION = re.compile(r"\s*(?:async )?(?:def|class)\s+(\w{1,60})")
OUTSIDE = "outside the markers"


@dataclass(frozen=True)
class Piece:
    """A part of a file that belongs to one question.

    Attributes:
        file: the file's name.
        topic: the question's topic in words; if unknown, the function, or why there is no topic.
        lines: (number, line) of each line.
    """

    file: str
    topic: str
    lines: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(line for _, line in self.lines)


@dataclass(frozen=True)
class Known:
    """What everybody got from us, or may have got: sharing it is no evidence.

    Attributes:
        lines: the lines of the starter and the reference solution, without indentation.
        grams: their grams, by view.
    """

    lines: frozenset[str]
    grams: dict[View, frozenset[Gram]]


def known_code() -> Known:
    """Return what is in the starter and the reference solution."""
    folders = (paths.ROOT / "src" / "submission", paths.SOLUTIONS / "submission")
    texts = [
        path.read_text(encoding="utf-8")
        for folder in folders
        for path in sorted(folder.glob("*.py"))
    ]
    return known_of(texts)


def known_of(texts: list[str]) -> Known:
    """Return what is in these texts."""
    lines = {line.strip() for text in texts for line in text.split("\n")}
    read = [tokens_of(text) for text in texts]
    return Known(
        frozenset(lines),
        {view: frozenset(g for tokens in read for g, _ in grams(tokens, view)) for view in View},
    )


def pieces_of(file: str, text: str, known: Known) -> list[Piece]:
    """Return the parts of a file that its author wrote.

    Args:
        file: the file's name, to be shown.
        text: its content.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    regions, _ = markers.find_regions("\n".join(lines))
    if not regions:
        own = [(n, line) for n, line in enumerate(lines, 1) if line.strip() not in known.lines]
        return [Piece(file, f"{file}, no markers", tuple(own))] if own else []
    pieces: list[Piece] = []
    inside: set[int] = set()
    for start, end in regions:
        inside.update(range(start, end + 1))
        found = tuple((n, lines[n - 1]) for n in range(start + 1, end))
        if any(line.strip() not in known.lines for _, line in found):
            pieces.append(Piece(file, _topic(lines[: start - 1], file), found))
    outside = [
        (n, line)
        for n, line in enumerate(lines, 1)
        if n not in inside and line.strip() not in known.lines and not markers.marker_of(line)
    ]
    if outside:
        pieces.append(Piece(file, OUTSIDE, tuple(outside)))
    return [piece for piece in pieces if piece.text.strip()]


def _topic(above: list[str], file: str) -> str:
    """Return the topic in the comment above a marker, or else the function around it."""
    for line in reversed(above):
        if not line.strip().startswith("#"):
            break
        if match := TOPIC.match(line):
            return match[1]
    names = (match[1] for line in reversed(above) if (match := FUNCTION.match(line)))
    return next(names, file)


def decoded(content: bytes) -> str:
    """Return a file as text, whatever it contains."""
    return content[:MAX_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
