"""Finds and copies a submission: the grader uses a staged copy, never the student's own files.

A submission is a folder or a zip: `submission/*.py`, and `*.params` and `*.predictions` next to it
or, as in earlier years, inside it. One wrapping folder is fine; litter is ignored. Only regular
files are copied, links on the path to any of them are refused (`upload.py`), and what was copied
and what was left out is reported. No file is ever completely in memory.

The copy also gets what the assignment provides: given modules that the submission lacks, and
packages that are always the grader's own.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from . import compiled, paths, printable
from .errors import GradingError, SubmissionError
from .upload import MAX_ENTRIES, OF_THE_MACHINE, Folder, refusal

MAX_CODE_BYTES = 4 << 20
# The largest recipe's parameters (`original`) take 14 MB, as float64 27 MB.
MAX_OUTPUT_BYTES = 64 << 20
# Gradescope accepts 100 MB, and parameters hardly shrink when zipped.
MAX_TOTAL_BYTES = 256 << 20
CHUNK_BYTES = 1 << 20
DEEPEST = 4  # names on the path to a file: wrapping/src/submission/dataset.py
OUTPUT_SUFFIXES = (".params", ".predictions")
LITTER = ("__MACOSX", ".DS_Store", "__pycache__", ".ipynb_checkpoints")
NO_TEXT = "its name is not text"
REFUSED_NAMES = ("sitecustomize.py", "usercustomize.py")
TOO_MANY = f"too many files, more than {MAX_ENTRIES}: is this a submission?"


@dataclass(frozen=True)
class Provided:
    """What the grader adds to every submission.

    Attributes:
        given: modules of `submission` that students don't edit: the grader's, if an upload lacks
            them.
        packages: packages next to `submission`, which are always the grader's.
        generated: files that the question set's `prepare` writes to `submission`; an upload's own
            are left out silently.
    """

    given: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()


@dataclass
class Staged:
    """A staged submission.

    `root` contains the package `submission`, and the parameter and prediction files next to it;
    `taken` maps each staged name to its origin; `left` says what was left out and why; `added`
    names the given modules that the grader added; `total_bytes` is the size of what was copied;
    `package` is the folder of the student's modules.
    """

    root: Path
    taken: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    total_bytes: int = 0
    package: Path | None = None

    def path(self, name: str) -> Path | None:
        """Return the staged file of that name, or None."""
        return self.root / name if name in self.taken else None

    def leave(self, name: str, reason: str) -> None:
        """Record a file that is left out; its name may be anything."""
        self.left.append(f"{printable.line(name, 200)} ({reason})")


def stage(source: Path, target: Path, provided: Provided = Provided()) -> Staged:
    """Copy a submission into the empty folder `target`.

    Args:
        source: a zip, or a folder: an unpacked upload, or the assignment's root. If it is the
            assignment's own `src/` or `src/submission/`, outputs may also be above it.
        provided: what the copy gets from the grader.

    Raises:
        SubmissionError: there is no submission, it contains a link, it is too large, or two files
            of the same name differ.
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
    archive, unpacked = source, target.with_name(target.name + ".unpacked")
    if stat.S_ISREG(mode):
        source = _unpack(source, unpacked)
    within: tuple[str, ...] = ()
    for inner in (("src",), ("src", "submission")):
        if source.resolve() == paths.ROOT.joinpath(*inner).resolve():
            source, within = paths.ROOT, inner
    staged = Staged(target)
    (target / "submission").mkdir(parents=True)
    for folder in (target, target / "submission"):
        folder.chmod(0o755)
    with Folder.given(source) as top:
        package = _find_package(_below(top, within) or top)
        staged.package = package.path
        _stage_code(package, staged, provided.generated)
        _stage_outputs(_output_folders(package), staged)
        _leave_packages(package, staged, provided)
    staged.added = _complete(target, provided)
    for name, origin in staged.taken.items():  # the student knows the zip, not our folder
        staged.taken[name] = origin.replace(str(unpacked), str(archive), 1)
    return staged


def stage_reference(target: Path, provided: Provided) -> list[Path]:
    """Copy the reference to a new folder: the complete code, and what is given with it.

    Students' workers can't open it: Landlock doesn't allow it, and other users can't enter it.

    Returns:
        the folder, and everything in it.

    Raises:
        GradingError: there is no reference.
    """
    target.mkdir(mode=0o700)
    package = target / "submission"
    package.mkdir()
    folder = paths.SOLUTIONS / "submission"
    reference = sorted(folder.glob("*.py"))
    if not reference:
        place = folder.relative_to(paths.ROOT).as_posix()
        raise GradingError(f"{place}/ contains no reference, which judges need")
    for path in reference:
        shutil.copyfile(path, package / path.name)
    _complete(target, provided)
    return [target, *sorted(target.rglob("*"))]


def _complete(root: Path, provided: Provided) -> list[str]:
    """Add the packages and, in `submission`, missing given modules; return the latter."""
    own: dict[Path, Path] = {}
    for name in provided.packages:
        (root / name).mkdir()
        (root / name).chmod(0o755)
        own |= {root / name / path.name: path for path in (paths.SRC / name).glob("*.py")}
    lacking = [name for name in provided.given if not (root / "submission" / name).exists()]
    lacking = [name for name in lacking if (paths.SRC / "submission" / name).is_file()]
    own |= {root / "submission" / n: paths.SRC / "submission" / n for n in lacking}
    for copy, original in own.items():
        shutil.copyfile(original, copy)
        copy.chmod(0o644)
        compiled.put_beside(copy, original)
    return lacking


def _leave_packages(package: Folder, staged: Staged, provided: Provided) -> None:
    """Record that an upload's own packages are not used, unless it is the assignment's folder."""
    outer = package.parent
    for name in provided.packages:
        if package.path.name == "submission" and outer and name in outer.names():
            if outer.path / name != paths.SRC / name:
                staged.leave(name, "the grader uses its own")


def _below(folder: Folder, names: tuple[str, ...]) -> Folder | None:
    """Return the folder at the path of these names, or None if one is missing."""
    found: Folder | None = folder
    for name in names:
        found = found and found.folder(name)
    return found


def _find_package(start: Folder) -> Folder:
    """Find the folder of the student's modules: `submission`, or one with the modules in it."""
    for find_outer in (lambda: start, lambda: _only_child(start)):
        outer = find_outer()
        for names in (("submission",), ("src", "submission"), ()):
            candidate = outer and _below(outer, names)
            if candidate and any(name.endswith(".py") for name in candidate.names()):
                return candidate
    raise SubmissionError(
        f"{start.path}: no folder `submission` with Python files in it; expected submission/*.py, "
        "at most inside one wrapping folder"
    )


def _output_folders(package: Folder) -> list[Folder]:
    """List where outputs may be: next to the code, and where `run.py` was called."""
    folders = [package]
    if package.path.name == "submission" and package.parent:
        folders.insert(0, package.parent)
        if package.parent.path.name == "src" and package.parent.parent:
            folders.insert(0, package.parent.parent)
    return folders


def _only_child(folder: Folder) -> Folder | None:
    """Return the folder that wraps everything, if there is one and nothing next to it."""
    names = [n for n in folder.names() if n not in LITTER and not n.startswith(".")]
    return folder.folder(names[0]) if len(names) == 1 else None


def _stage_code(package: Folder, staged: Staged, generated: Sequence[str]) -> None:
    for file in package.names():
        suffix = Path(file).suffix
        if file in LITTER or suffix in OUTPUT_SUFFIXES or file in generated:
            continue
        name = f"submission/{file}"
        if not file.isprintable():  # escapes could overwrite the grader's own lines
            staged.leave(name, NO_TEXT)
        elif suffix != ".py" or file in REFUSED_NAMES:
            package.refuse_link(file)  # links are refused, whatever they are called
            staged.leave(name, "only submission/*.py is copied")
        else:
            _take(package, file, name, MAX_CODE_BYTES, staged)


def _stage_outputs(folders: list[Folder], staged: Staged) -> None:
    for folder in folders:
        for name in folder.names():
            if Path(name).suffix not in OUTPUT_SUFFIXES:
                continue
            if not name.isprintable():
                staged.leave(name, NO_TEXT)
            elif name not in staged.taken:
                _take(folder, name, name, MAX_OUTPUT_BYTES, staged)
            elif not _is_same(folder, name, staged.root / name):
                raise SubmissionError(
                    f"there are two different files {name}: {staged.taken[name]} and "
                    f"{folder.path / name}; delete the one that is out of date"
                )


def _take(folder: Folder, file: str, name: str, limit_bytes: int, staged: Staged) -> None:
    """Copy a file to its staged name, or record why it was left out.

    Raises:
        SubmissionError: it is a link, or makes the submission too large.
    """
    problem = _copy(folder, file, staged.root / name, limit_bytes)
    if problem is not None:
        staged.leave(name, problem)
        return
    staged.taken[name] = str(folder.path / file)
    staged.total_bytes += (staged.root / name).stat().st_size
    if staged.total_bytes > MAX_TOTAL_BYTES:
        raise SubmissionError(
            f"too large: its files up to {folder.called(file)} have {staged.total_bytes} bytes, "
            f"more than {MAX_TOTAL_BYTES}; remove files that are not required"
        )


def _copy(folder: Folder, file: str, target: Path, limit_bytes: int) -> str | None:
    """Copy one regular file; on failure, leave nothing of it and return the reason."""
    try:
        with folder.file(file) as reader, open(target, "wb") as writer:
            size = os.fstat(reader.fileno()).st_size
            if size <= limit_bytes:
                size = _pump(reader, writer, limit_bytes + 1)  # it may be growing
    except OSError as error:
        if error.errno in OF_THE_MACHINE:
            raise refusal(error, f"{folder.called(file)} can't be copied") from None
        return f"can't be read: {error.strerror}"
    except ValueError as error:
        return str(error)
    if size > limit_bytes:
        target.unlink()
        return f"{size} bytes, more than {limit_bytes}"
    target.chmod(0o644)  # readable for every uid, whatever the umask
    return None


def _pump(reader: IO[bytes], writer: IO[bytes], most: int) -> int:
    """Copy at most `most` bytes in small pieces; return how many were copied."""
    left = most
    while left and (chunk := reader.read(min(left, CHUNK_BYTES))):
        writer.write(chunk)
        left -= len(chunk)
    return most - left


def _is_same(folder: Folder, file: str, staged: Path) -> bool:
    """Return whether a file has the same content as the one already staged."""
    try:
        with folder.file(file) as one, open(staged, "rb") as other:
            while (chunk := one.read(CHUNK_BYTES)) == other.read(CHUNK_BYTES):
                if not chunk:
                    return True
    except (OSError, ValueError):
        pass
    return False


def _unpack(archive: Path, target: Path) -> Path:
    """Unpack a zip's regular files, refusing any that could write elsewhere or fill the disk."""
    try:
        with _Listing(io.FileIO(archive)) as file, zipfile.ZipFile(file) as opened:
            infos = [i for i in opened.infolist() if not i.is_dir() and _wanted(i.filename)]
            if len(infos) > MAX_ENTRIES:
                raise SubmissionError(TOO_MANY)
            if sum(i.file_size for i in infos) > MAX_TOTAL_BYTES:
                raise SubmissionError(f"too large once unpacked, at most {MAX_TOTAL_BYTES} bytes")
            target.mkdir(parents=True)
            for info in infos:
                _unpack_one(opened, info, target)
    except SubmissionError as error:
        raise SubmissionError(f"{archive.name}: {error}") from None
    except MemoryError:
        raise  # not the upload's fault, such as a full disk
    except Exception as error:  # zlib's and others' own kinds, names too long, ...
        if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
            raise refusal(error, f"{archive.name} can't be unpacked") from None
        raise SubmissionError(f"{archive.name} is not a readable zip: {error!s:.200}") from None
    return target


class _Listing(io.BufferedReader):
    """A zip's bytes, which limits the length of its list of files.

    `zipfile` reads a zip's whole list of files, and makes an object for each, before it can tell
    how many there are: a list of 100 MB would take gigabytes. One mebibyte lists 20,000 files.
    """

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > CHUNK_BYTES:
            raise SubmissionError(TOO_MANY)
        return super().read(size)


def _wanted(name: str) -> bool:
    return not any(part in LITTER for part in name.replace("\\", "/").split("/"))


def _unpack_one(opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    parts = [p for p in info.filename.replace("\\", "/").split("/") if p not in ("", ".")]
    if ".." in parts or (parts and ":" in parts[0]):
        raise SubmissionError(f"the name {info.filename!a} leads outside the zip")
    if not parts:
        raise SubmissionError(f"{info.filename!a} is not the name of a file")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        raise SubmissionError(f"{info.filename!a} is a link: pack the folder or file itself")
    if kind not in (0, stat.S_IFREG):  # 0: packed by a program that doesn't set it
        return  # such as a device: not copied
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # With other methods, a few kilobytes are unpacked to gigabytes at once.
        raise SubmissionError(
            f"{info.filename!a} uses an unusual compression method: pack an ordinary zip"
        )
    if len(parts) > DEEPEST:  # not searched: a megabyte of names can make 400,000 folders
        target.joinpath(*parts[:DEEPEST]).mkdir(parents=True, exist_ok=True)
        return
    path = target.joinpath(*parts)
    if os.path.lexists(path):
        raise SubmissionError(f"it contains {'/'.join(parts)!r} twice; pack your files again")
    path.parent.mkdir(parents=True, exist_ok=True)
    with opened.open(info) as reader, open(path, "wb") as writer:
        # Never write more than the announced size, which was counted.
        _pump(reader, writer, info.file_size)
