"""Splits code and prose into tokens, in two views: `with names` and `without names`.

The tokenizer accepts any file, also one that isn't valid Python: a character that it doesn't
recognize is a token. Layout, quotes and comments don't affect the tokens of the code, so formatters
don't either.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

GRAM = 5  # tokens
PATTERN = re.compile(
    r"""
      (?P<prose> \#[^\n]*
        | [rRbBuUfF]{0,2} (?: \"{3} (?: \\. | [^\\] )*? \"{3} | '{3} (?: \\. | [^\\] )*? '{3} ) )
    | (?P<string> [rRbBuUfFtT]{0,2} (?: "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )*' ) )
    | (?P<number> (?: \d | \.\d ) [\w.]* (?: (?<=[eE]) [+-] \d+ )? )
    | (?P<name> [^\W\d]\w* )
    | (?P<operator> \*\*= | //= | >>= | <<= | \.\.\. | [-+*/%@&|^=!<>:]=
        | -> | \*\* | // | << | >> )
    | (?P<other> \S )
    """,
    re.VERBOSE | re.DOTALL,
)
WORD = re.compile(r"\w+")
# Names that an author can't choose.
FIXED = {*keyword.kwlist, *dir(builtins), "self", "np", "torch", "nn", "F"}
ANY_NAME = "·"


class View(Enum):
    """How tokens are compared."""

    NAMES = "with names"
    SHAPE = "without names"


@dataclass(frozen=True)
class Token:
    """A token of a text.

    Attributes:
        text: what is compared `with names`; words of prose begin with `#`.
        shape: what is compared `without names`: `·` for a name that an author chooses, "" for
            prose.
        start, end: its position in the text.
    """

    text: str
    shape: str
    start: int
    end: int

    def seen(self, view: View) -> str:
        """Return what a view compares; "" if nothing."""
        return self.text if view is View.NAMES else self.shape


Gram = tuple[str, ...]


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text: first those of the code, then those of the prose."""
    code, prose, before = [], [], ""
    for match in PATTERN.finditer(text):
        found, start = match.group(), match.start()
        if match.lastgroup == "prose":
            prose += [
                Token(f"#{word.group().lower()}", "", start + word.start(), start + word.end())
                for word in WORD.finditer(found)
            ]
            continue
        if match.lastgroup == "string":
            found = found.lstrip("rRbBuUfFtT")[1:-1].join('""')
        chosen = match.lastgroup == "name" and before != "." and found not in FIXED
        code.append(Token(found, ANY_NAME if chosen else found, start, match.end()))
        before = found
    return code + prose


def grams(tokens: list[Token], view: View) -> Iterator[tuple[Gram, int]]:
    """Yield each gram of a text in a view, with the number of its first token.

    Code and prose are separate, so a comment between two statements doesn't affect the code.
    """
    seen = [token.seen(view) for token in tokens]
    border = next((i for i, text in enumerate(seen) if text[:1] in ("#", "")), len(seen))
    for first, last in ((0, border), (border, len(seen))):
        for start in range(first, last - GRAM + 1):
            gram = tuple(seen[start : start + GRAM])
            if gram[0]:
                yield gram, start
