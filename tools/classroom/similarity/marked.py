"""Marks the tokens of a text that another text also has, line by line, for a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .index import Read
from .matches import Match, Span
from .tokens import View


@dataclass(frozen=True)
class Part:
    """A part of a line.

    Attributes:
        match: the number of the match that it belongs to, from 1; 0: none.
        begins: whether the match begins here, i.e. whether links to the match lead here.
    """

    text: str
    match: int = 0
    begins: bool = False


@dataclass(frozen=True)
class Line:
    """A line of a file, in parts."""

    number: int
    parts: list[Part]


@dataclass(frozen=True)
class Shown:
    """A match in the list on a page."""

    number: int
    match: Match
    lines: tuple[str, str]
    text: str

    @property
    def is_exact(self) -> bool:
        """Whether the names are the same as well."""
        return self.match.view is View.NAMES


def marked(
    read: Read, number: int, matches: list[Match], side: str, anchors: dict[int, int]
) -> list[Line]:
    """Return a text's lines.

    Args:
        number: the number of the text in its entry.
        matches: all matches of the pair.
        side: "one" or "two": whose text it is.
        anchors: gets, for each match in this text, the number of the match whose mark shows it;
            this is another one if its tokens belong to several matches.
    """
    text = read.piece.text
    owner = [0] * len(text)
    first: dict[int, int] = {}
    for count, match in enumerate(matches, start=1):
        span: Span = getattr(match, side)
        if span.text != number:
            continue
        for begin, end in _stretches(read, span):
            for at in range(begin, end):
                if not owner[at]:
                    owner[at] = count
                    first.setdefault(count, at)
        anchors[count] = count if count in first else owner[read.tokens[span.first].start]
    starts = set(first.values())
    indent = min(
        (len(line) - len(line.lstrip()) for _, line in read.piece.lines if line.strip()), default=0
    )
    lines, at = [], 0
    for line_number, line in read.piece.lines:
        begin, end = at + min(indent, len(line)), at + len(line)
        parts = list(_parts(text[begin:end], owner[begin:end], begin, starts))
        lines.append(Line(line_number, parts))
        at = end + 1
    return lines


def _stretches(read: Read, span: Span) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a run of tokens, including what is between tokens of one line.

    The words of a run of prose may be in several comments, with code between them.
    """
    tokens = read.tokens[span.first : span.last]
    text = read.piece.text
    begin, end = tokens[0].start, tokens[0].end
    for token in tokens[1:]:
        between = text[end : token.start]
        if "\n" in between or token.start < end:
            yield begin, end
            begin = token.start
        end = token.end
    yield begin, end


def _parts(line: str, owner: list[int], offset: int, starts: set[int]) -> Iterator[Part]:
    begin = 0
    for at in range(1, len(line) + 1):
        if at == len(line) or owner[at] != owner[begin] or offset + at in starts:
            number = owner[begin]
            yield Part(line[begin:at], number, bool(number) and offset + begin in starts)
            begin = at


def shown(matches: list[Match], one: list[Read], two: list[Read], most: int) -> list[Shown]:
    """Return the matches that a page lists."""
    return [
        Shown(
            number,
            match,
            (_where(one, match.one), _where(two, match.two)),
            _quoted(one[match.one.text], match.one),
        )
        for number, match in enumerate(matches[:most], start=1)
    ]


def _where(texts: list[Read], span: Span) -> str:
    """Return the place of a run: `dataset.py:57-60`."""
    read = texts[span.text]
    tokens = read.tokens[span.first : span.last]
    first, last = (
        read.piece.lines[read.piece.text[: token.start].count("\n")][0]
        for token in (tokens[0], tokens[-1])
    )
    return f"{read.piece.file}:{first}" + (f"-{last}" if last != first else "")


def _quoted(read: Read, span: Span, most: int = 300) -> str:
    tokens = read.tokens[span.first : span.last]
    if tokens[0].text.startswith("#"):  # there may be code between lines of comments
        text = "# " + " ".join(token.text[1:] for token in tokens)
    else:
        lines = read.piece.text[tokens[0].start : tokens[-1].end].split("\n")
        text = "\n".join([lines[0], *(line.strip() for line in lines[1:] if line.strip())])
    return text if len(text) <= most else text[:most] + " ..."
