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
from dataclasses import dataclass
from itertools import accumulate, islice

import grading
from grading import release

NAMES, SHAPE = VIEWS = ("with names", "without names")
GRAM = 5  # tokens
MOST_TOKENS = 50_000  # of a file, and of what a submission's authors wrote: a few thousand
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


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a text.

    Attributes:
        text: what is compared with names; a word of prose begins with `#`.
        shape: what is compared without names: `·` for a name that an author chooses, "" for prose.
        start, end: its position in the text.
    """

    text: str
    shape: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """Return the first tokens of a text: those of the code, then those of the prose."""
    code: list[Token] = []
    prose: list[Token] = []
    before = ""
    for match in PATTERN.finditer(text):
        found, start = match.group(), match.start()
        remaining = MOST_TOKENS - len(code) - len(prose)
        if remaining <= 0:
            break
        if match.lastgroup == "prose":
            for word in islice(WORD.finditer(found), remaining):
                first, last = word.span()
                prose.append(Token(f"#{word.group().lower()}", "", start + first, start + last))
            continue
        if match.lastgroup == "string":
            found = f'"{QUOTES.sub("", found)}"'
        is_chosen = match.lastgroup == "name" and before != "." and found not in FIXED
        code.append(Token(found, "·" if is_chosen else found, start, match.end()))
        before = found
    return code + prose


def grams(tokens: list[Token], view: str) -> Iterator[tuple[Gram, int]]:
    """Yield each gram of a text in a view, with the number of its first token.

    Code and prose are separate, so a comment between two statements doesn't affect the code.
    """
    border = sum(bool(token.shape) for token in tokens)
    seen = [token.text if view == NAMES else token.shape for token in tokens]
    for first, last in ((0, border), (border, len(seen) if view == NAMES else border)):
        for start in range(first, last - GRAM + 1):
            yield tuple(seen[start : start + GRAM]), start


class Known:
    """What everybody got from us, or may have got: sharing it is no evidence.

    Attributes:
        lines: of all files that students get and of the reference solution, without indentation.
        grams: those of the starter and the reference solution, by view.
    """

    def __init__(self) -> None:
        modules = {*grading.SRC.glob("submission/*.py"), *grading.SOLUTIONS.glob("submission/*.py")}
        given = {*grading.SRC.rglob("*.py")} - modules
        texts, others = ([p.read_text(encoding="utf-8") for p in ps] for ps in (modules, given))
        tokens = [tokens_of(text) for text in texts]
        self.lines = {line.strip() for text in texts + others for line in text.split("\n")}
        self.grams = {v: {gram for t in tokens for gram, _ in grams(t, v)} for v in VIEWS}


class Text:
    """A file, of which its author wrote some lines.

    These are the lines between markers, unless all of them are known, and unknown lines elsewhere,
    because helper functions are often written there.

    Attributes:
        lines: all lines; `own` has the numbers of the author's, from 1.
        starts: where each line begins.
        tokens: those that begin in the author's lines.
    """

    def __init__(self, file: str, text: str, known: Known) -> None:
        self.file = file
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)][:-1]
        whole = "\n".join(self.lines)
        is_known = [line.strip() in known.lines or not line.strip() for line in self.lines]
        for start, end in release.find_regions(whole)[0]:
            if not all(is_known[start : end - 1]):
                is_known[start : end - 1] = [False] * (end - 1 - start)
        numbered = zip(range(1, len(is_known) + 1), self.lines, is_known, strict=True)
        self.own = {n for n, line, k in numbered if not k and not release.marker_of(line)}
        tokens = tokens_of(whole)
        self.is_cut = len(tokens) == MOST_TOKENS
        self.tokens = [token for token in tokens if self.line_of(token) in self.own]

    def line_of(self, token: Token) -> int:
        """Return the number of the line on which a token begins, from 1."""
        return bisect_right(self.starts, token.start)
