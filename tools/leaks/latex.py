r"""The sentences and formulas of a LaTeX source, jinja templates included.

Sentences are compared letter by letter, since TeX hyphenates, sets ligatures and moves lines. No
letters may be added or lost between the source and print, so a text is split at mathematics, jinja
and all commands except those that only change the type, like \emph.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_MATH = r"equation|align|alignat|flalign|gather|multline|eqnarray|displaymath|math"
_CODE = r"[vV]erbatim|lstlisting|listing|shell"
_TYPE = r"emph|text(?:bf|it|tt|sf|sc|rm|sl|up|md|normal)?|underline|mbox|enquote|file|code|lit"
_NO_TEXT = (
    r"begin|end|label|(?:eq|page|auto|name|c|C)?ref|cite[a-z]*|input|include(?:graphics)?"
    r"|[hv]space|url|path|color|textcolor|pagestyle|credit"
)
_JINJA = r"<\#.*?\#>|<%.*?%>|<<.*?>>"
_TOKEN = re.compile(
    rf"""
    (?P<jinja>{_JINJA})
  | (?P<comment>%[^\n]*)
  | (?P<shown>\\begin\{{(?P<name>(?:{_MATH}|{_CODE})\*?)\}}.*?\\end\{{(?P=name)\}}
      |\\\[.*?\\\]|\\\(.*?\\\)|\$\$.*?\$\$|\$(?:\\.|[^$\\])*\$)
  | (?P<accent>\\(?:["'`^~=.]|[uvHcdbr](?![a-zA-Z]))[ \t]*\{{?\\?(?P<letter>[a-zA-Z])\}}?)
  | (?P<type>\\(?:{_TYPE})[ \t]*\{{)
  | (?P<dropped>\\(?:{_NO_TEXT})\*?(?:\[[^\]]*\])?\{{[^{{}}]*\}}(?:\[[^\]]*\])?)
  | (?P<command>\\[a-zA-Z@]+\*?(?:\[[^\]]*\])?|\\\\(?:\[[^\]]*\])?|&|\n[ \t]*\n)
  | (?P<escaped>\\.)
  | (?P<open>\{{)
  | (?P<close>\}})
    """,
    re.VERBOSE | re.DOTALL,
)
_SENTENCE_END = re.compile(r"[.!?:;]['\"\u201d)]*\s")
# What surrounds a formula or a listing, and what does not belong to it.
_AROUND = re.compile(r"\A(?:\\begin\{[^{}]*\}|\\[\[(]|\$\$?)|(?:\\end\{[^{}]*\}|\\[\])]|\$\$?)\Z")
_ASIDE = re.compile(rf"(?<!\\)%[^\n]*|\\label\{{[^{{}}]*\}}|(?P<jinja>{_JINJA})", re.DOTALL)
_SPLIT = "\0"


class Piece(NamedTuple):
    """Some text, and the line of the source that it starts in."""

    text: str
    line: int


def sentences(source: str) -> Iterator[list[Piece]]:
    """Yield the sentences of a source's prose; those in one list follow each other in print."""
    for run in _runs(_printed(source), 1):
        starts = [0, *(end.end() for end in _SENTENCE_END.finditer(run.text))]
        texts = [run.text[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]
        # A sentence's line is that of its first word.
        words = [start + len(t) - len(t.lstrip()) for start, t in zip(starts, texts, strict=True)]
        lines = [run.line + run.text.count("\n", 0, word) for word in words]
        yield list(map(Piece, texts, lines))


def formulas(source: str) -> Iterator[list[Piece]]:
    """Yield the lines of a source's mathematics and listings; each list is contiguous."""
    for token in _TOKEN.finditer(source):
        if token["shown"]:
            body = _ASIDE.sub(_in_its_place, _AROUND.sub("", token[0]))
            for run in _runs(body, 1 + source.count("\n", 0, token.start())):
                yield [Piece(text, n) for n, text in enumerate(run.text.split("\n"), run.line)]


def without_commands(source: str) -> str:
    """Return a source's prose without commands, mathematics and comments."""
    return _printed(source).replace(_SPLIT, "")


def _printed(source: str) -> str:
    """Return the source's prose, split where something else stood; it has as many lines."""
    types = []  # whether each open brace is that of a change of type

    def replaced(token: re.Match[str]) -> str:
        kind = token.lastgroup
        if kind in ("type", "open"):
            types.append(kind == "type")
        if kind == "close":
            return "" if types and types.pop() else _SPLIT
        if kind == "accent":
            return token["letter"]
        split = kind in ("jinja", "shown", "dropped", "command")
        return _SPLIT * split + "\n" * token[0].count("\n")

    return _TOKEN.sub(replaced, source)


def _in_its_place(aside: re.Match[str]) -> str:
    return _SPLIT * bool(aside["jinja"]) + "\n" * aside[0].count("\n")


def _runs(text: str, first: int) -> Iterator[Piece]:
    """Yield what stands between two splits; the text starts in line `first`."""
    for run in text.split(_SPLIT):
        yield Piece(run, first)
        first += run.count("\n")
