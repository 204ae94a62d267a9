"""What students hand in: golden variants, starters, attacks, hostile uploads.

Nothing is run here; whatever is graded runs in the sandbox.
"""

import functools
import io
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import yaml

from classroom.exports import Export
from classroom.submissions import Student, id_of
from tests.redteam import arena
from tests.variants import ROOT, Variant, all_variants, lay_out

DATE = (2026, 11, 2, 12, 0, 0)


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


Files = dict[str, "bytes | Link"]
RIGHT: Files = {"submission/a.py": b"x = 1\n"}


def contents() -> dict[str, list[Callable[[], Files]]]:
    """Return functions that make what is handed in, by kind.

    In an upload, there is nothing that can be graded.
    """
    variants = all_variants()
    return {
        "right": [partial(golden, variant) for variant in variants if variant.is_right],
        "wrong": [partial(golden, variant) for variant in variants if not variant.is_right],
        "starter": [starter],
        "attack": [partial(attack, path) for path in arena.ATTACKS.values()],
        "upload": [partial(dict, files) for files in UPLOADS.values()],
    }


@functools.cache
def golden(variant: Variant) -> Files:
    """Return the reference, with a variant laid over it."""
    with tempfile.TemporaryDirectory() as folder:
        return _package(lay_out(variant, Path(folder)) / "submission")


def starter() -> Files:
    return _package(ROOT / "src" / "submission")


def _package(folder: Path) -> Files:
    return {f"submission/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}


def attack(path: Path) -> Files:
    """Return the starter with an attack on the grader in one of its modules."""
    module = arena.module_of(path, "/home/nobody/secret")
    return starter() | {"submission/attention_exploration.py": module.encode("utf-8")}


def zipped(files: Files) -> bytes:
    """Return a zip with these files; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as writer:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, DATE)
            is_link = isinstance(content, Link)
            info.external_attr = (stat.S_IFLNK | 0o777 if is_link else stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            writer.writestr(info, content.target if is_link else content)
    return buffer.getvalue()


def lay(folder: Path, files: Files) -> None:
    """Write what somebody hands in to a new folder."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, Link):
            (folder / name).symlink_to(text.target)
        else:
            (folder / name).write_bytes(text)


def export(
    source: Path,
    number: int,
    people: Iterable[Student | str],
    at: datetime | str,
    files: Files,
    **more: object,
) -> None:
    """Add a submission to an export of Gradescope.

    Args:
        people: students, or their names or addresses alone.
        more: of its entry in the metadata.
    """
    lay(source / f"submission_{number}", files)
    submitters = []
    for one in people:
        if isinstance(one, str):
            address = one if "@" in one else f"{id_of('of', one)}@x.edu"
            one = Student(address, one.partition("@")[0], address)
        sid = {":sid": one.sid} if one.sid else {}
        submitters.append({":name": one.name, ":email": one.email} | sid)
    entry = {f"submission_{number}": {":submitters": submitters, ":created_at": at} | more}
    with open(source / "submission_metadata.yml", "a", encoding="utf-8") as file:
        yaml.safe_dump(entry, file, allow_unicode=True)


def pack(source: Path, top: Path | None = None) -> Path:
    """Return a folder as a zip that keeps empty folders and links; names begin below `top`."""
    files: Files = {}
    for path in sorted(source.rglob("*")):
        name = path.relative_to(top or source).as_posix()
        if path.is_symlink():
            files[name] = Link(str(path.readlink()))
        else:
            files |= {f"{name}/": b""} if path.is_dir() else {name: path.read_bytes()}
    target = source.with_name(source.name + ".zip")
    target.write_bytes(zipped(files))
    return target


# Other archives that the grader refuses are in the tests of the harness: the class passes them on.
# A zip alone is one that a platform doesn't unpack.
UPLOADS: dict[str, Files] = {
    "nothing": {},
    "a zip without files": {"upload.zip": zipped({})},
    "0 bytes": {"upload.zip": b""},
    "no zip": {"upload.zip": b"I could not make it work, sorry\n"},
    "a zip cut short": {"upload.zip": zipped(dict.fromkeys(RIGHT, b"x = 1\n" * 99))[:-40]},
    "a name that leads outside": {"upload.zip": zipped({"../../submission/a.py": b"x = 1\n"})},
    "a link in a zip": {"upload.zip": zipped({"submission": Link("/etc"), "a.txt": b""})},
    "a link": {"submission/a.py": Link("/etc/passwd"), "submission/b.py": b""},
    "a report alone": {"report.pdf": b"%PDF-1.7\n"},
    "no Python": {"submission/notes.txt": b"see my other submission\n"},
}


def described(export: Export) -> str:
    """Return what is known of an export's submissions, and the notes."""
    lines = []
    for one in export.submissions:
        students = [
            " ".join(f"{name}={text!r}" for name, text in vars(student).items() if text is not None)
            for student in one.students
        ]
        words = (one.id, *students, one.submitted, "late" * one.late, f"attempt {one.attempt}")
        lines.append("  ".join(map(str, filter(None, words))))
    return "\n".join([*lines, *export.notes])
