"""What a student wrote in a file of code, as tokens and 5-grams in two views.

The tokenizer accepts any text, in one pass. Layout, quotes and comments don't affect the tokens of
the code, so formatters don't either.
"""

from __future__ import annotations

import builtins
import keyword
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import grading
from grading import release

NAMES, SHAPE = VIEWS = ("with names", "without names")
GRAM = 5  # tokens
# Each alternative ends where the text does if it has no other end, so that nothing is read twice.
PATTERN = re.compile(
    r"""
      (?P<prose> \#[^\n]*
        | [rRbBuUfF]{0,2} (?: \"{3} (?: \\. | [^\\] )*? (?: \"{3} | \\?\Z )
                            | '{3} (?: \\. | [^\\] )*? (?: '{3} | \\?\Z ) ) )
    | (?P<string> [rRbBuUfFtT]{0,2} (?: "(?: \\. | [^"\\\n] )*"? | '(?: \\. | [^'\\\n] )*'? ) )
    | (?P<number> (?: \d | \.\d ) [\w.]* (?: (?<=[eE]) [+-] \d+ )? )
    | (?P<name> [^\W\d]\w* )
    | (?P<operator> \*\*= | //= | >>= | <<= | \.\.\. | [-+*/%@&|^=!<>:]=
        | -> | \*\* | // | << | >> )
    | (?P<other> \S )
    """,
    re.VERBOSE | re.DOTALL,
)
WORD = re.compile(r"\w+")
QUOTES = re.compile(r"^[rRbBuUfFtT]{0,2}['\"]|(?<!^)['\"]$")
# Names that an author can't choose.
FIXED = {*keyword.kwlist, *dir(builtins), "self", "np", "torch", "nn", "F"}

Gram = tuple[str, ...]


class Token(NamedTuple):
    """A token of the code, or a word of its prose: comments and docstrings."""

    text: str  # what is compared with names; a word of prose begins with `#`
    shape: str  # what is compared without: `·` for a name that an author chooses, "" for prose
    start: int  # its position in the text
    end: int


def tokens_of(text: str) -> Iterator[Token]:
    """Yield the tokens of a text."""
    before = ""
    for match in PATTERN.finditer(text):
        found, start = match.group(), match.start()
        if match.lastgroup == "prose":
            for word in WORD.finditer(found):
                first, last = word.span()
                yield Token(f"#{word.group().lower()}", "", start + first, start + last)
            continue
        if match.lastgroup == "string":
            found = f'"{QUOTES.sub("", found)}"'
        is_chosen = match.lastgroup == "name" and before != "." and found not in FIXED
        yield Token(found, "·" if is_chosen else found, start, match.end())
        before = found


def grams(tokens: list[Token], view: str) -> Iterator[tuple[Gram, tuple[Token, ...]]]:
    """Yield each gram in a view, with its tokens.

    Code and prose are separate, so a comment between two statements doesn't affect the code.
    """
    code = [token for token in tokens if token.shape]
    prose = [token for token in tokens if not token.shape]
    for part in (code, prose) if view == NAMES else (code,):
        for run in zip(*(part[n:] for n in range(GRAM)), strict=False):
            yield tuple(t.text if view == NAMES else t.shape for t in run), run


class Known:
    """What everybody got from us, or may have got: sharing it is no evidence."""

    def __init__(self) -> None:
        modules = {*grading.SRC.glob("submission/*.py"), *grading.SOLUTIONS.glob("submission/*.py")}
        files = {path: path.read_text("utf-8") for path in modules | {*grading.SRC.rglob("*.py")}}
        tokens = [list(tokens_of(files[path])) for path in modules]
        # Lines of all files that students get and of the reference solution, without indentation;
        # grams of the starter and the reference solution, by view.
        self.lines = {line.strip() for text in files.values() for line in text.split("\n")}
        self.grams = {v: {gram for t in tokens for gram, _ in grams(t, v)} for v in VIEWS}


class Text:
    """A file, of which its author wrote some lines.

    These are the lines between markers, unless all of them are known, and unknown lines elsewhere,
    because helper functions are often written there. `own` has their numbers, from 1, and `tokens`
    has what begins in them; `starts` says where each of all `lines` begins.
    """

    def __init__(self, file: str, text: str, known: Known) -> None:
        self.file = file
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        whole = "\n".join(self.lines)
        numbered = enumerate(map(str.strip, self.lines), start=1)
        self.own = {number for number, line in numbered if line not in known.lines}
        for start, end in release.find_regions(whole)[0]:
            region = {*range(start + 1, end)}
            if region & self.own:
                self.own |= region
        self.tokens = [token for token in tokens_of(whole) if self.line_of(token) in self.own]

    def line_of(self, token: Token) -> int:
        """Return the number of the line on which a token begins, from 1."""
        return bisect_right(self.starts, token.start)
