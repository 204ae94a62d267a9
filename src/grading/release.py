"""What a course gives its students in a release: which files, and their content from its zip.

`src/update.py` compares a student's copy with a later release's zip.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from . import findings, staging, upload
from .edition import EDITION
from .errors import UsageError

GIVEN = "src/given_files.json"  # digests of the zip's other files, by name
NAME = re.compile(r"(.+\.\d+)?")  # of a release
# What Windows doesn't accept as the name of a file or folder.
REFUSED = re.compile(r'(con|prn|aux|nul|(com|lpt)\d)(\..*)?|.*([<>:"|?*\\\0-\x1f].*|[. ])', re.I)


def digest(content: bytes) -> str:
    """Return a short hash of a file, whatever its line ends, which editors and Git may change."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def manifest(files: dict[str, bytes]) -> bytes:
    """Return the content of given_files.json for a release's other files, by name."""
    listed = {name: digest(content) for name, content in sorted(files.items())}
    return (json.dumps(listed, indent=1) + "\n").encode()


@dataclass(frozen=True)
class Release:
    """What a copy or a zip says about itself.

    Attributes:
        name: "2027-spring.2"; empty before releases had names.
        digests: of the given files, by name; empty in a copy that has none.
        lines: short hashes of the lines outside the markers, by name in src/.
    """

    edition: str
    name: str
    digests: dict[str, str]
    lines: dict[str, list[str]]

    def __str__(self) -> str:
        return f"{self.edition} {self.name}".strip()


def describe(read: Callable[[str], bytes], where: str) -> Release:
    """Return what a release's files say about it; `read` returns a file's content by name.

    Raises:
        UsageError: there is no edition.json that can be read.
    """
    tables = _table(read, EDITION.as_posix())
    try:
        edition = tables["default_edition"]
        name = tables["editions"][edition].get("release", "")
        is_name = NAME.fullmatch(name) is not None
    except (LookupError, TypeError, AttributeError):
        is_name = False
    if not is_name:
        raise UsageError(f"{where} has no {EDITION.as_posix()} that can be read")
    return Release(edition, name, _table(read, GIVEN), _table(read, f"src/{findings.LINES}"))


def _table(read: Callable[[str], bytes], name: str) -> dict:
    try:
        table = json.loads(read(name))
    except (OSError, ValueError, LookupError, RecursionError):
        table = {}
    return table if isinstance(table, dict) else {}


def given_files(source: Path) -> dict[str, bytes]:
    """Return the files that the course gives, by name, from its zip or from an unpacked one.

    Raises:
        UsageError: it is not the course's zip, or it is damaged or was changed.
        OSError: it can't be read.
    """
    with ExitStack() as stack:
        if source.is_dir():  # Safari unpacks what it downloads
            top = upload.Folder(upload.on_disk(source), source, source.name)
        else:
            work = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            archive = stack.enter_context(open(source, "rb"))
            opened = upload.open_archive(archive, source, source.name, work, is_whole=True)
            top = stack.enter_context(opened)
        inner = [top.below(name) for name, each in top.entries.items() if each.kind == "folder"]
        base = next((base for base in (top, *inner) if base and _folder(base, GIVEN)), None)
        if base is None:
            raise UsageError(f"{source} has no {GIVEN}: expected the course's zip for students")
        listed = _table(lambda name: _content(base, name, staging.MAX_CODE_BYTES), GIVEN)
        files, remaining = dict[str, bytes](), staging.MAX_TOTAL_BYTES
        for name in listed:
            files[name] = _content(base, name, remaining)
            remaining -= len(files[name])
    faults = [] if listed else [GIVEN]
    faults += [name for name, content in files.items() if digest(content) != listed[name]]
    faults += [name for name in files if any(map(REFUSED.fullmatch, name.split("/")))]
    if faults or len({name.lower() for name in files}) < len(files):
        what = faults[0] if faults else "two names differ only in case"
        raise UsageError(f"{source} is not as the course made it ({what}): download it again")
    return files | {GIVEN: manifest(files)}


def _folder(base: upload.Folder, name: str) -> upload.Folder | None:
    folder = base.below(*name.split("/")[:-1])
    return folder if folder and name.rpartition("/")[2] in folder.entries else None


def _content(base: upload.Folder, name: str, limit_bytes: int) -> bytes:
    if (folder := _folder(base, name)) is None:
        raise UsageError(f"{base.shown(name)} is missing: download the zip again")
    with closing(folder.file(name.rpartition("/")[2])) as reader:
        content = reader.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise UsageError(f"{base.shown(name)} is too large: is this the course's zip?")
    return content
