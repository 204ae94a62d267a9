"""Find secrets in files: each text is scanned once, however many secrets there are."""

import importlib.util
import re
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from .allowed import PATHS
from .facts import Fact
from .forms import flat, prose, readings, squeezed
from .kept import Secret
from .opened import Part, parts

# TeX has backslashes, too: after one, only subfolders count. `with_solutions/` is another folder.
_PATH = re.compile(
    r"(?<![_-])solutions"
    r"(?:/\s?[\w-][\w.-]*(?:/[\w-][\w.-]*)*|\\{1,2}(?:submission|hidden|written|data)\b)"
)
_32_BITS = 0xFFFFFFFF


def find(name: str, content: bytes, secrets: list[Secret], facts: Iterable[Fact] = ()) -> list[str]:
    """Return a line for each leak in a file: where it was found, and where it comes from."""
    return _leaks(parts(name, content), secrets, tuple(facts))


def check(paths: list[Path], secrets: list[Secret], facts: Iterable[Fact] = ()) -> list[str]:
    """Return a line for each leak in files and in everything below folders, names included.

    Raises:
        OSError: a file can't be read.
    """
    found, facts = [], tuple(facts)
    for path in paths:
        below = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else []
        below = [file for file in below if not _is_compiled_from_its_neighbour(file)]
        names = [Part(str(p), "name", p.relative_to(path).as_posix()) for p in below]
        found += _leaks(names, secrets, facts)
        for file in below or [path] * path.is_file():
            found += find(str(file), file.read_bytes(), secrets, facts)
    return found


def _is_compiled_from_its_neighbour(file: Path) -> bool:
    """Return whether Python compiled this from a source that is checked, as that source is now.

    Running code in a folder leaves such files in it, and they hold nothing that their sources lack.
    A file whose source has changed since, or is gone, is reported like any other compiled code.
    """
    try:
        source = Path(importlib.util.source_from_cache(str(file)))
        status = source.stat()
    except (ValueError, OSError):  # it is in no __pycache__, or its source is gone
        return False
    # The header, by PEP 552: magic number, flags, time of the source's last change, its size.
    times = (int(status.st_mtime) & _32_BITS, status.st_size & _32_BITS)
    now = importlib.util.MAGIC_NUMBER + struct.pack("<III", 0, *times)
    with file.open("rb") as reader:
        return reader.read(len(now)) == now


def _leaks(parts: Iterable[Part], secrets: list[Secret], facts: tuple[Fact, ...]) -> list[str]:
    """Return a line for each leak; one in a part is not reported again for the whole file."""
    lines: list[str] = []
    places: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        found = [part.problem] if part.problem else _held(part, secrets, facts)
        for words in found:
            before = places.setdefault((part.file, words), [])
            if not any(where.startswith(part.where) for where in before):
                before.append(part.where)
                lines.append(f"{part.file}{f' ({part.where})' if part.where else ''}: {words}")
    return lines


def _held(part: Part, secrets: list[Secret], facts: tuple[Fact, ...]) -> Iterator[str]:
    """Yield what is wrong with a part's text, in words."""
    plain, letters_only = _indexes(tuple(secrets))
    texts = readings(part.text)
    found = {secret for text in {squeezed(t) for t in texts} for secret in plain.found(text)}
    found |= {secret for text in prose(part.text) for secret in letters_only.found(text)}
    yield from (f"holds {secret.source}" for secret in secrets if secret in found)
    flattened = {flat(text) for text in texts} if facts else set()
    yield from (str(fact) for fact in facts if any(fact.is_in(text) for text in flattened))
    paths = {"".join(path.split()).rstrip(".") for t in texts for path in _PATH.findall(t)}
    yield from (f"names {path}" for path in sorted(paths - _paths_allowed(part.file)))


def _paths_allowed(file: str) -> set[str]:
    """Return the paths under solutions/ that a file may name."""
    return {
        path
        for files in PATHS.values()
        for name, path in files.items()
        if f"/{file}".endswith(f"/{name}")
    }


@lru_cache(maxsize=4)
def _indexes(secrets: tuple[Secret, ...]) -> tuple["Index", "Index"]:
    """Return indexes of the secrets without white space, and of those of letters only."""
    return Index(s for s in secrets if not s.prose), Index(s for s in secrets if s.prose)


class Index:
    """Finds any of many texts in a long one.

    The long text is cut into windows of WINDOW characters. Wherever the cuts fall, a secret of at
    least twice that length contains a whole window, at an offset below WINDOW. So the index has the
    first WINDOW windows of each secret, and only every WINDOWth place of the text is looked up.
    """

    WINDOW = 8

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self.short: list[Secret] = []
        self.known: dict[str, list[tuple[int, Secret]]] = {}
        for secret in secrets:
            if len(secret.text) < 2 * self.WINDOW:
                self.short.append(secret)
                continue
            for offset in range(self.WINDOW):
                window = secret.text[offset : offset + self.WINDOW]
                self.known.setdefault(window, []).append((offset, secret))

    def found(self, text: str) -> set[Secret]:
        """Return the secrets that a text holds."""
        held = {secret for secret in self.short if secret.text in text}
        for start in range(0, len(text), self.WINDOW):
            for offset, secret in self.known.get(text[start : start + self.WINDOW], ()):
                # A negative place counts from the text's end, where too little is left to match.
                if text.startswith(secret.text, start - offset):
                    held.add(secret)
        return held
