"""Characters that LaTeX must be taught, and the origin of text that it can't print."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import letters
from autograder.description import UsageError

from .templates import HandoutError

DECLARATIONS = "letters.tex"
VALUES = ("course.toml", "assignment.toml", "errata.toml")
TABLES = ("handout/references.toml", "handout/figures.toml")
TEMPLATES = ("handout/**/*.j2", "handout/figures/*.tex", "solutions/written/*.j2")
COMMENT = re.compile(r"(?<!\\)%.*")


class Value(NamedTuple):
    """A text in a TOML file."""

    file: str
    line: int
    key: str
    text: str

    @property
    def place(self) -> str:
        """`course.toml:4: contact`"""
        return f"{self.file}:{self.line}: {self.key}"


def declarations() -> str:
    """Return the content of letters.tex, which handout.sty reads."""
    lines = [
        f"\\DeclareUnicodeCharacter{{{ord(character):04X}}}{{{printed}}}"
        for character, printed in letters.declared().items()
    ]
    head = "% Made from src/letters.py: the characters that LaTeX doesn't print by itself."
    return "\n".join([head, *lines, ""])


def check(repo: Path, source: str) -> None:
    """Check that LaTeX prints every character of a sheet.

    Raises:
        UsageError: course.toml, assignment.toml or errata.toml has another character; the message
            names the file, the line and the key, and says what to write.
        HandoutError: a template or a table of handout/ has one.
    """
    printed = COMMENT.sub("", source)
    if missing := {character for character in printed if not letters.is_printed(character)}:
        _refuse(repo, missing)


def _refuse(repo: Path, missing: set[str]) -> NoReturn:
    for value in values(repo, VALUES):
        if missing & set(value.text):
            raise UsageError(f"{value.place}: {letters.unprinted(value.text)[0]}")
    for value in values(repo, TABLES):
        if missing & set(value.text):
            raise HandoutError(f"{value.place}: {letters.unprinted(value.text)[0]}")
    for path in sorted(path for pattern in TEMPLATES for path in repo.glob(pattern)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if missing & set(COMMENT.sub("", line)):
                place = f"{path.relative_to(repo).as_posix()}:{number}"
                raise HandoutError(f"{place}: {letters.unprinted(line)[0]}")
    raise HandoutError(letters.unprinted("".join(sorted(missing)))[0])


def values(repo: Path, names: tuple[str, ...]) -> Iterator[Value]:
    """Return the texts in TOML files, with their places."""
    for name in filter(lambda name: (repo / name).is_file(), names):
        text = (repo / name).read_text(encoding="utf-8")
        for key, value in _texts(tomllib.loads(text)):
            yield Value(name, _line_of(text, key, value), key, value)


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Return the texts below a value of TOML, each with its last key."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for inner, below in value.items():
            yield from _texts(below, inner)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below, key)


def _line_of(text: str, key: str, value: str) -> int:
    """Return the line, from 1, on which a key has a value."""
    first = (value.splitlines() or [""])[0]
    lines = text.splitlines()
    of_key = [n for n, line in enumerate(lines, 1) if re.search(rf"\b{re.escape(key)}\b", line)]
    return next((n for n in of_key if first in lines[n - 1]), of_key[0] if of_key else 1)
