"""Find where a text of the sheet comes from: one that LaTeX can't print, or can't typeset."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import letters
from autograder.description import UsageError

from .templates import HandoutError, tex

VALUES = ("course.toml", "assignment.toml", "errata.toml")
TABLES = ("handout/references.toml", "handout/figures.toml")
TEMPLATES = ("handout/**/*.j2", "handout/figures/*.tex", "solutions/written/*.j2")
COMMENT = re.compile(r"(?<!\\)%.*")


class Text(NamedTuple):
    """A value in a TOML file or a line of a template, and its place: `course.toml:4: contact`."""

    file: str
    place: str
    text: str


def check_characters(repo: Path, source: str) -> None:
    """Check that LaTeX prints every character of a sheet.

    Raises:
        UsageError: course.toml, assignment.toml or errata.toml has another character; the message
            names the file, the line and the key, and says what to write.
        HandoutError: a template or a table of handout/ has one.
    """
    printed = COMMENT.sub("", source)
    missing = {character for character in printed if not letters.is_printed(character)}
    if not missing:
        return
    lines = (line._replace(text=COMMENT.sub("", line.text)) for line in template_lines(repo))
    for file, place, text in (*values(repo, *VALUES, *TABLES), *lines):
        if missing & set(text):
            mistake = UsageError if file in VALUES else HandoutError
            raise mistake(f"{place}: {letters.unprinted(text)[0]}")
    raise HandoutError(letters.unprinted("".join(sorted(missing)))[0])


def origin(repo: Path, folder: Path, message: str) -> str:
    """Return the origin of the lines of sheet.tex in a message: `handout/topics/x.tex.j2:7: `.

    It is the template's line that TeX read, or the value of course.toml or assignment.toml that
    has the longest word of a paragraph that is too wide.
    """
    named = re.search(r"sheet\.tex:(\d+): | lines (\d+)--(\d+)", message)
    if not named:
        return ""
    first, last = int(named[1] or named[2]), int(named[1] or named[3])
    lines = (folder / "sheet.tex").read_text(encoding="utf-8").splitlines()[first - 1 : last]
    longest = max(" ".join(lines).split(), key=len, default="")
    for value in values(repo, *VALUES) if named[2] else ():
        words = tex(value.text).split()
        if any(word in longest and 2 * len(word) > len(longest) for word in words):
            return f"{value.place}: "
    read = {line.strip() for line in lines} - {""}
    return next((f"{t.place}: " for t in template_lines(repo) if t.text.strip() in read), "")


def template_lines(repo: Path) -> Iterator[Text]:
    """Yield the lines of templates and of figures."""
    for path in sorted({path for pattern in TEMPLATES for path in repo.glob(pattern)}):
        file = path.relative_to(repo).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield Text(file, f"{file}:{number}", line)


def values(repo: Path, *names: str) -> Iterator[Text]:
    """Yield the texts in TOML files."""
    for name in filter(lambda name: (repo / name).is_file(), names):
        text = (repo / name).read_text(encoding="utf-8")
        for key, value in _texts(tomllib.loads(text)):
            yield Text(name, f"{name}:{_line_of(text, key, value)}: {key}", value)


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts below a value of TOML, each with its last key."""
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
