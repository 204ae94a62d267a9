"""Looks for a student in a class's folder: any order of a name, any encoding, inside zips."""

from __future__ import annotations

import html
import os
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from grading.errors import SubmissionError
from grading.upload import GZIP_HEAD, OTHER_HEADS, UTF8_NAME, archive_errors

from .arguments import count
from .store import DATABASE, Store

SHORTEST = 3  # shorter words are everywhere
WIDE = ("utf-16-le", "utf-16-be")
CODINGS = ("cp1252", "cp1250", "cp1251", "cp1256", "cp850", "mac_roman", "gb18030", "shift_jis")
PACKED = (*OTHER_HEADS, GZIP_HEAD, b"%PDF", b"PK\3\4")  # how files begin whose text can't be read
WINDOW, OVERLAP = 1 << 24, 1 << 13  # bytes that are searched at once; more than any name has
DEEPEST, MOST_WINDOWS = 5, 256  # zips in each other, and what is searched of a file
LETTERS = str.maketrans(
    {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "_": " "}
)


def plain(text: str) -> str:
    """Return the words of a text, without case, accents, punctuation and escapes, with blanks."""
    if "\\u" in text:  # JSON
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    text = html.unescape(text).casefold()
    if not text.isascii():
        text = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", text))
    return " ".join(["", *re.findall(r"[^\W_]+", text.translate(LETTERS)), ""])


def spellings(texts: Iterable[str]) -> set[str]:
    """Return how names, addresses and IDs may be written, as `plain` writes it.

    Platforms write `Ada Byron`, `Byron, Ada` and `byronada`; spreadsheets remove zeros.
    """
    spelled = set()
    for text in texts:
        words = plain(text).split()
        spelled.add(f" {' '.join(words)} ")
        for place in range(len(words) if len(text.split()) > 1 else 0):  # of a name
            turned = words[place:] + words[:place]
            spelled |= {f" {' '.join(turned)} ", f" {''.join(turned)} "}
        if text.isdecimal():
            spelled.add(plain(text.lstrip("0")))
    return {each for each in spelled if len(each.strip()) >= SHORTEST}


class Search:
    """Looks for spellings in everything that a class's folder contains."""

    def __init__(self, spelled: set[str]) -> None:
        """Prepare to look for these spellings."""
        self._spelled = sorted(spelled)
        self._windows = 0  # that may be searched of this file

    def tables(self, store: Store) -> Iterator[tuple[Path, str]]:
        """Yield how many rows of each table name the student; those of the roll are others'."""
        for (table,) in store.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            rows = store.db.execute(f"SELECT * FROM {table}") if table != "students" else ()
            naming = sum(any(self._is_in(str(cell)) for cell in row) for row in rows)
            if naming:
                where = f"{count(naming, 'row')} of {table}"
                yield store.path / DATABASE, f"names the student in {where}"

    def files(self, top: Path) -> Iterator[tuple[Path, str]]:
        """Yield each file and folder that names the student, or can't be searched."""
        for place, folders, files in os.walk(top):
            folders.sort()
            for path in (Path(place, name) for name in [*folders, *sorted(files)]):
                if self._is_in_bytes(os.fsencode(path.name)):
                    yield path, "names the student in its own name"
                elif path.is_file() and not path.is_symlink() and path != top / DATABASE:
                    self._windows = MOST_WINDOWS
                    try:
                        with open(path, "rb") as file:
                            if self._is_in_file(file, path.name):
                                yield path, "names the student"
                    except (SubmissionError, OSError) as error:
                        yield path, f"can't be searched ({error!s:.200})"

    def _is_in_file(self, file: IO[bytes], name: str, depth: int = 0) -> bool:
        """Return whether a file, or one in it if it is a zip, names the student.

        Raises:
            SubmissionError: it can't be read.
        """
        with archive_errors(name):
            if zipfile.is_zipfile(file) and depth < DEEPEST:
                with zipfile.ZipFile(file) as packed:
                    return any(self._is_member(packed, i, depth) for i in packed.infolist())
            file.seek(0)
            before, window = b"", file.read(WINDOW)
            if window.startswith(PACKED) or depth == DEEPEST:
                raise SubmissionError("it is packed in a way that can't be searched")
            while window:
                self._windows -= 1
                if self._windows < 0:
                    raise SubmissionError("there is too much in it")
                if self._is_in_bytes(before + window):
                    return True
                before, window = window[-OVERLAP:], file.read(WINDOW)
        return False

    def _is_member(self, packed: zipfile.ZipFile, info: zipfile.ZipInfo, depth: int) -> bool:
        coding = "utf-8" if info.flag_bits & UTF8_NAME else "cp437"
        if self._is_in_bytes(info.filename.encode(coding)):
            return True
        with packed.open(info) as member:
            return self._is_in_file(member, info.filename, depth + 1)

    def _is_in_bytes(self, content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        codings = WIDE if b"\0" in content else CODINGS if "\ufffd" in text else ()
        texts = (content.decode(coding, "replace") for coding in codings)
        return self._is_in(text) or any(map(self._is_in, texts))

    def _is_in(self, text: str) -> bool:
        words = plain(text)
        return any(spelling in words for spelling in self._spelled)
