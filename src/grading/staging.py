"""A submission, found and copied: what is graded is a staged copy, never the student's own files.

A submission is a folder or a zip: `submission/*.py`, and `*.params` and `*.predictions` beside it
or inside it, as earlier years had them. One wrapping folder is fine; litter is ignored. Only
regular files are taken, and what was taken and what was left is told.
"""

from __future__ import annotations

import errno
import filecmp
import os
import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from . import printable
from .errors import SubmissionError

MAX_FILES = 2_000
MAX_TOTAL_BYTES = 1 << 30
MAX_CODE_BYTES = 4 << 20
OUTPUT_SUFFIXES = (".params", ".predictions")
LITTER = ("__MACOSX", ".DS_Store", "__pycache__", ".ipynb_checkpoints")
NO_TEXT = "its name is no text"
REFUSED_NAMES = ("sitecustomize.py", "usercustomize.py")


@dataclass
class Staged:
    """A staged submission.

    `root` holds the package `submission` and the parameter and prediction files beside it;
    `taken` maps each staged name to where it came from; `left` says what stayed behind and why.
    """

    root: Path
    taken: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)

    def path(self, name: str) -> Path | None:
        """The staged file of that name, or None."""
        return self.root / name if name in self.taken else None

    def leave(self, name: str, reason: str) -> None:
        """Note a file that stays behind; its name may be anything."""
        self.left.append(f"{printable.line(name, 200)} ({reason})")


def stage(source: Path, target: Path) -> Staged:
    """Copy a submission into the empty folder `target`.

    Args:
        source: a zip, or a folder: the assignment's root, its `src/`, its `src/submission/`, or
            an unpacked upload.

    Raises:
        SubmissionError: there is no submission here, or two files of one name differ.
    """
    try:
        mode = source.stat().st_mode
    except OSError as error:
        reason = (
            "there is no such file or folder" if error.errno == errno.ENOENT else error.strerror
        )
        raise SubmissionError(f"{str(source):.200}: {reason} to grade") from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise SubmissionError(f"{source}: neither a folder nor a zip")
    if stat.S_ISREG(mode):
        source = _unpack(source, target.with_name(target.name + ".unpacked"))
    package = _find_package(source)
    staged = Staged(target)
    (target / "submission").mkdir(parents=True)
    for folder in (target, target / "submission"):
        folder.chmod(0o755)
    _stage_code(package, staged)
    _stage_outputs(_output_folders(package), staged)
    return staged


def _find_package(source: Path) -> Path:
    """The folder of the student's modules: `submission`, or one that holds them directly."""
    source = source.resolve()
    for folder in (source, *_only_child(source)):
        for candidate in (folder / "submission", folder / "src" / "submission", folder):
            if candidate.is_dir() and any(candidate.glob("*.py")):
                return candidate
    raise SubmissionError(
        f"{source}: no folder `submission` with Python files in it; expected submission/*.py, "
        "at most inside one wrapping folder"
    )


def _output_folders(package: Path) -> list[Path]:
    """Where outputs may lie: earlier years' beside the code, `run.py`'s where it was called."""
    if package.name != "submission":
        return [package]
    root = [package.parent.parent] if package.parent.name == "src" else []
    return [*root, package.parent, package]


def _only_child(folder: Path) -> list[Path]:
    children = [p for p in folder.iterdir() if p.name not in LITTER and not p.name.startswith(".")]
    return children if len(children) == 1 and children[0].is_dir() else []


def _stage_code(package: Path, staged: Staged) -> None:
    for path in _entries(package):
        if path.name in LITTER or path.suffix in OUTPUT_SUFFIXES or path.name == "recipes.json":
            continue
        name = f"submission/{path.name}"
        if not path.name.isprintable():
            staged.leave(name, NO_TEXT)
        elif path.suffix != ".py" or path.name in REFUSED_NAMES:
            staged.leave(name, "only submission/*.py is taken")
        elif (problem := _copy(path, staged.root / name, MAX_CODE_BYTES)) is None:
            staged.taken[name] = str(path)
        else:
            staged.leave(name, problem)


def _entries(folder: Path) -> list[Path]:
    entries = sorted(folder.iterdir())
    if len(entries) > MAX_FILES:
        raise SubmissionError(f"{folder}: too many files, {len(entries)}: is this a submission?")
    return entries


def _stage_outputs(folders: list[Path], staged: Staged) -> None:
    for folder in folders:
        for path in _entries(folder):
            if path.suffix not in OUTPUT_SUFFIXES:
                continue
            if not path.name.isprintable():
                staged.leave(path.name, NO_TEXT)
                continue
            earlier = staged.taken.get(path.name)
            if earlier is not None:
                if not _same(earlier, path):
                    raise SubmissionError(
                        f"{path.name} is there twice and differs: {earlier} and {path}; "
                        "delete the one that is out of date"
                    )
                continue
            problem = _copy(path, staged.root / path.name, MAX_TOTAL_BYTES)
            if problem is None:
                staged.taken[path.name] = str(path)
            else:
                staged.leave(path.name, problem)


def _same(first: str, second: Path) -> bool:
    """Whether two files hold the same; what can't be read, or leads nowhere, is not the same."""
    try:
        return filecmp.cmp(first, second, shallow=False)
    except OSError:
        return False


def _copy(source: Path, target: Path, limit_bytes: int) -> str | None:
    """Copy one regular file; return what is wrong with it instead of following links."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    if source.is_symlink():
        return "a link"
    try:
        fd = os.open(source, flags)
    except OSError as error:
        return f"can't be read: {error.strerror}"
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        return "not a regular file"
    with os.fdopen(fd, "rb") as reader:
        if status.st_size > limit_bytes:
            return f"{status.st_size} bytes, more than {limit_bytes}"
        data = reader.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        return f"more than {limit_bytes} bytes"
    target.write_bytes(data)
    target.chmod(0o644)  # every uid reads it, whatever the umask
    return None


def _unpack(archive: Path, target: Path) -> Path:
    """Unpack regular files of a zip, refusing what could write elsewhere or fill the disk."""
    try:
        with zipfile.ZipFile(archive) as opened:
            infos = [i for i in opened.infolist() if not i.is_dir() and _wanted(i.filename)]
            if len(infos) > MAX_FILES or sum(i.file_size for i in infos) > MAX_TOTAL_BYTES:
                raise SubmissionError(f"{archive.name}: too many files or too large once unpacked")
            target.mkdir(parents=True, exist_ok=True)
            for info in infos:
                _unpack_one(opened, info, target, archive.name)
    except SubmissionError:
        raise
    except Exception as error:  # zlib's, lzma's and others' own kinds, names too long, ...
        raise SubmissionError(
            f"{archive.name} is no zip that can be read: {error!s:.200}"
        ) from None
    return target


def _wanted(name: str) -> bool:
    return not any(part in LITTER for part in name.replace("\\", "/").split("/"))


def _unpack_one(opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, archive: str) -> None:
    parts = [p for p in info.filename.replace("\\", "/").split("/") if p not in ("", ".")]
    if ".." in parts or (parts and ":" in parts[0]):
        raise SubmissionError(f"{archive}: the name {info.filename!r} leads outside the zip")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):  # 0: packed by a program that doesn't say
        return  # a link or a device: not taken
    path = target.joinpath(*parts)
    if not parts:
        raise SubmissionError(f"{archive}: the name {info.filename!r} is no file's")
    if os.path.lexists(path):
        raise SubmissionError(f"{archive} holds {'/'.join(parts)!r} twice; pack your files again")
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(info) as reader, open(path, "wb") as writer:
        remaining = info.file_size  # the announced size is what was counted; never write more
        while remaining and (chunk := reader.read(min(remaining, 1 << 20))):
            writer.write(chunk)
            remaining -= len(chunk)
