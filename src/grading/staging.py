"""Finds and copies a submission: the grader uses a staged copy, never the student's own files.

A submission is a folder, a zip or a tar: `submission/*.py`, and `*.params` and `*.predictions` next
to it or, as in earlier years, inside it. One wrapping folder is fine; litter is ignored. If the
code isn't there, it is searched everywhere, also in the only archive of an upload. Only regular
files are copied, links on the path to any of them are refused (`upload.py`), and what was copied
and what was left out is reported, by the paths in the upload. No file is ever
completely in memory.

The copy also gets what the assignment provides: given modules that the submission lacks, and
packages that are always the grader's own.

People zip the folder above, the folder below, or all of a drive; browsers and systems change names.
Where the code is found decides nothing else: it is graded alike. What can't be found, or is there
twice, is said in one sentence with the names that are there.
"""

from __future__ import annotations

import errno
import re
import shutil
import stat
from collections.abc import Collection, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from . import compiled, paths, printable
from .errors import SubmissionError
from .upload import (
    CHUNK_BYTES,
    MACHINE_ERRNOS,
    Folder,
    PackedFolder,
    Reader,
    is_archive,
    is_litter,
    is_supported,
    open_archive,
    open_inner_archive,
    refusal,
    unfold_backslashes,
)

MAX_CODE_BYTES = 4 << 20
# The largest recipe's parameters (`original`) take 14 MB, as float64 27 MB.
MAX_OUTPUT_BYTES = 64 << 20
# Gradescope accepts 100 MB, and parameters hardly shrink when zipped.
MAX_TOTAL_BYTES = 256 << 20
OUTPUT_SUFFIXES = (".params", ".predictions")
NO_TEXT = "its name is not text"
REFUSED_NAMES = ("sitecustomize.py", "usercustomize.py")
# A folder of this name is taken wherever it is, and any that has so many of the package's modules;
# src/ of a release has three files of the same names.
PACKAGE = re.compile(r"submission( ?\(\d+\))?", re.IGNORECASE)
ENOUGH_MODULES = 4
# What is added to names: dataset (1).py, dataset - Copy.py, Copy of dataset.py, dataset-1.py,
# dataset 2.py, x.predictions.txt
ADDED = re.compile(
    r"^copy of |[ _-]*\(\d+\)|[ _-]+copy( \d+)?(?=\.|$)|[ -]\d{1,2}(?=\.)|\.txt$", re.IGNORECASE
)
GRADED = (".py", *OUTPUT_SUFFIXES)
SHOWN = 4  # names in a sentence


@dataclass(frozen=True)
class Provided:
    """What the grader adds to every submission.

    Attributes:
        modules: the modules of `submission` that students write.
        given: those that students don't edit: the grader's, if an upload lacks them.
        packages: packages next to `submission`, which are always the grader's.
        generated: files that the question set's `prepare` writes to `submission`; an upload's own
            are left out silently.
    """

    modules: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Omission:
    """A file of an upload that is not copied.

    Attributes:
        name: its path in the upload, which is safe to print.
        reason: why, in words.
    """

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


@dataclass
class Staged:
    """A staged submission.

    `root` contains the package `submission`, and the parameter and prediction files next to it;
    `taken` maps each staged name to its origin; `omissions` lists what was left out; `added` names
    the given modules that the grader added; `total_bytes` is the size of what was copied; `package`
    is the folder of the student's modules, unless it is in an archive; `place` says where it was
    found, if it is an unusual place; `modules` names those that students write, `required` all
    files that count, and `renamed` maps those that are missing to a file that was probably meant;
    `is_checkout` is true of the assignment's own folder, which nobody has uploaded; `reference` is
    the folder of the staged reference, where there is one.
    """

    root: Path
    taken: dict[str, str] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    total_bytes: int = 0
    package: Path | None = None
    place: str = ""
    required: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    is_checkout: bool = False
    renamed: dict[str, str] = field(default_factory=dict)
    reference: Path | None = None

    @property
    def missing(self) -> list[str]:
        """The required files that are missing."""
        return [name for name in self.required if name not in self.taken]

    def path(self, name: str) -> Path | None:
        """Return the staged file of that name, or None."""
        return self.root / name if name in self.taken else None

    def hint(self, name: str) -> str:
        """Return what to do about a file that is there under another name; "" if there is none."""
        other = self.renamed.get(name)
        if other is None:
            return ""
        file, expected = other.rpartition("/")[2], name.rpartition("/")[2]
        is_near = other in (file, f"submission/{file}") and file != expected
        steps = [] if is_near else ["put it next to the folder `submission`"]
        steps += [f"rename it to `{expected}`"] if file != expected else []
        verb = "there is" if self.is_checkout else "you uploaded"
        return f"{verb} `{file if is_near else other}`: {' and '.join(steps)}"

    def omit(self, name: str, reason: str) -> None:
        """Record a file that is left out; its name may be anything."""
        self.omissions.append(Omission(printable.line(name, 200), reason))


def stage(
    source: Path,
    target: Path,
    provided: Provided = Provided(),
    required: tuple[str, ...] = (),
    alias: str = "",
) -> Staged:
    """Copy a submission into the empty folder `target`.

    Args:
        source: a zip, a tar, or a folder: an unpacked upload, or the assignment's root. If it is
            the assignment's own `src/` or `src/submission/`, outputs may also be above it.
        provided: what the copy gets from the grader.
        required: names of the files that count; those that are missing are searched.
        alias: what messages call the source; by default, its path.

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
        raise SubmissionError(f"{alias or str(source):.200}: {reason} to grade") from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise SubmissionError(f"{alias or source}: neither a folder nor a zip")
    within: tuple[str, ...] = ()
    for inner in (("src",), ("src", "submission")):
        if source.resolve() == paths.ROOT.joinpath(*inner).resolve():
            source, within = paths.ROOT, inner
    is_checkout = source.resolve() == paths.ROOT.resolve()
    staged = Staged(target, required=required, modules=provided.modules, is_checkout=is_checkout)
    (target / "submission").mkdir(parents=True)
    for folder in (target, target / "submission"):
        folder.chmod(0o755)
    with ExitStack() as stack:
        top: Folder
        if stat.S_ISREG(mode):
            unpacked = target.with_name(f"{target.name}.unpacked")
            top = stack.enter_context(open_archive(source, source, unpacked))
        else:
            top = stack.enter_context(Folder.open_top(source))
        top.alias = alias or top.alias
        top = unfold_backslashes(top)
        top, package = _locate(top, top.below(within) or top, staged, provided, stack)
        _stage_code(package.folder, staged, provided)
        _stage_outputs(package.output_folders(), staged)
        _omit_packages(package.folder, staged, provided)
        _search_outputs(top, package.output_folders(), staged)
    staged.added = complete(target, provided)
    return staged


def _locate(
    top: Folder, start: Folder, staged: Staged, provided: Provided, stack: ExitStack
) -> tuple[Folder, Package]:
    """Find the student's modules, also in the only archive; record where.

    Returns:
        the whole upload, or the archive; and the modules' folder in it.

    Raises:
        SubmissionError: there are none.
    """
    package, origin = find_package(start, provided.modules, provided.given), ""
    inner = None if package else _only_archive(start)
    if inner is not None:
        parts, name = inner
        unpacked = staged.root.with_name(f"{staged.root.name}.inner")
        top = start = stack.enter_context(open_inner_archive(start, parts, name, unpacked))
        package, origin = find_package(start, provided.modules, provided.given), name
    if package is None:
        raise _no_package(start)
    place = package.folder.path.relative_to(top.path).as_posix()
    if origin or not package.is_usual:
        staged.place = "/".join(filter(None, (origin, place.removeprefix("."))))
    if not isinstance(package.folder, PackedFolder):
        staged.package = package.folder.path
    return top, package


def complete(root: Path, provided: Provided) -> list[str]:
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


def _omit_packages(package: Folder, staged: Staged, provided: Provided) -> None:
    """Record that an upload's own packages are not used, unless it is the assignment's folder."""
    outer = package.parent
    for name in provided.packages:
        if PACKAGE.fullmatch(package.path.name) and outer and name in outer.names():
            if outer.path / name != paths.SRC / name:
                staged.omit(outer.label(name), "the grader uses its own")


def _stage_code(package: Folder, staged: Staged, provided: Provided) -> None:
    names = package.names()
    lacking = [name for name in provided.modules if name not in names]
    for file in names:
        suffix = Path(file).suffix
        if is_litter(file) or suffix in OUTPUT_SUFFIXES or file in provided.generated:
            continue
        intended = _intended_name(file, lacking)
        if not file.isprintable():  # escapes could overwrite the grader's own lines
            staged.omit(package.label(file), NO_TEXT)
        elif intended is not None:
            package.refuse_link(file)
            staged.omit(package.label(file), f"rename it to {intended}")
            staged.renamed.setdefault(f"submission/{intended}", f"submission/{file}")
        elif suffix != ".py" or file in REFUSED_NAMES:
            package.refuse_link(file)  # links are refused, whatever they are called
            staged.omit(package.label(file), "only submission/*.py is copied")
        else:
            _take(package, file, f"submission/{file}", MAX_CODE_BYTES, staged)


def _search_outputs(top: Folder, folders: list[Folder], staged: Staged) -> None:
    """Record which files were probably meant to be the required outputs that are missing."""
    missing = [name for name in staged.missing if Path(name).suffix in OUTPUT_SUFFIXES]
    for other in (name for folder in folders for name in folder.names()):
        if name := _intended_name(other, missing):
            staged.renamed.setdefault(name, printable.line(other, 200))
    far = [name for name in missing if name not in staged.renamed]
    # Staff's own checkout has trained files for tests.
    if far and not (staged.is_checkout and paths.SOLUTIONS.exists()):
        with suppress(SubmissionError):  # too many files, which cost nothing where nobody looks
            for name, other in _outputs_elsewhere(top, folders, far).items():
                staged.renamed[name] = printable.line(other, 200)


def _stage_outputs(folders: list[Folder], staged: Staged) -> None:
    places: dict[str, str] = {}
    for folder in folders:
        for name in folder.names():
            if Path(name).suffix not in OUTPUT_SUFFIXES or is_litter(name):
                continue
            if not name.isprintable():
                staged.omit(folder.label(name), NO_TEXT)
            elif name not in staged.taken:
                _take(folder, name, name, MAX_OUTPUT_BYTES, staged)
                places[name] = folder.shown(name)
            elif not _is_same(folder, name, staged.root / name):
                raise SubmissionError(
                    f"there are two different files {name}: {places[name]} and "
                    f"{folder.shown(name)}; delete the one that is out of date"
                )


def _take(folder: Folder, file: str, name: str, limit_bytes: int, staged: Staged) -> None:
    """Copy a file to its staged name, or record why it was left out.

    Raises:
        SubmissionError: it is a link, or makes the submission too large.
    """
    try:
        size = folder.size(file)
        if size <= limit_bytes:
            _refuse_too_large(staged.total_bytes + size, folder.label(file))
            size = _copy(folder, file, staged.root / name, limit_bytes)
    except OSError as error:
        if error.errno in MACHINE_ERRNOS:
            raise refusal(error, f"{folder.label(file)} can't be copied") from None
        staged.omit(folder.label(file), f"can't be read: {error.strerror}")
    except ValueError as error:
        staged.omit(folder.label(file), str(error))
    else:
        if size > limit_bytes:
            staged.omit(folder.label(file), f"{size} bytes, more than {limit_bytes}")
            return
        staged.taken[name] = str(folder.path / file)
        staged.total_bytes += size
        _refuse_too_large(staged.total_bytes, folder.label(file))


def _refuse_too_large(total_bytes: int, file: str) -> None:
    if total_bytes > MAX_TOTAL_BYTES:
        raise SubmissionError(
            f"too large: its files up to {file} have {total_bytes} bytes, "
            f"more than {MAX_TOTAL_BYTES}; remove files that are not required"
        )


def _copy(folder: Folder, file: str, target: Path, limit_bytes: int) -> int:
    """Copy a regular file of at most `limit_bytes`; return how many bytes it has.

    A longer one, which may be growing, leaves nothing.
    """
    is_whole = False
    with folder.file(file) as reader, open(target, "xb") as writer:
        try:
            size = _pump(reader, writer, limit_bytes + 1)
            is_whole = size <= limit_bytes
        finally:
            if not is_whole:
                writer.close()
                target.unlink()
    if is_whole:
        target.chmod(0o644)  # readable for every uid, whatever the umask
    return size


def _pump(reader: Reader, writer: IO[bytes], most: int) -> int:
    """Copy at most `most` bytes in small pieces; return how many were copied."""
    remaining = most
    while remaining and (chunk := reader.read(min(remaining, CHUNK_BYTES))):
        writer.write(chunk)
        remaining -= len(chunk)
    return most - remaining


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


# Where the code is --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Package:
    """The folder of a student's modules.

    Attributes:
        is_usual: whether it is where the assignment's own commands put it.
    """

    folder: Folder
    is_usual: bool = True

    def output_folders(self) -> list[Folder]:
        """List where outputs may be: next to the code, and where `run.py` was called."""
        folders, outer = [self.folder], self.folder.parent
        if outer and (PACKAGE.fullmatch(self.folder.path.name) or not self.is_usual):
            folders.insert(0, outer)
            if outer.path.name == "src" and outer.parent:
                folders.insert(0, outer.parent)
        return folders


def find_package(start: Folder, own: Collection[str], given: Collection[str]) -> Package | None:
    """Return the folder of the student's modules, or None if there is none.

    Args:
        own: the modules that students write.
        given: the other modules of the package.

    Raises:
        SubmissionError: there are two, and none is where it is expected.
    """
    usual, is_loose = _usual_place(start)
    if usual is None:
        return _search(start, own, given)
    if is_loose and own and not {*own} & {*usual.names()}:  # a script beside a folder, for example
        try:
            return _search(start, own, given) or Package(usual)
        except SubmissionError:
            pass
    return Package(usual)


def _usual_place(start: Folder) -> tuple[Folder | None, bool]:
    """Return the folder with Python files where it usually is, and whether it has another name."""
    for find_outer in (lambda: start, lambda: _only_child(start)):
        outer = find_outer()
        for parts in (("submission",), ("src", "submission"), ()):
            folder = outer and outer.below(parts)
            if folder and _has_python(folder.names()):
                return folder, not parts
    return None, False


def _only_child(folder: Folder) -> Folder | None:
    """Return the folder that wraps everything, if there is one and nothing next to it."""
    names = [n for n in folder.names() if not is_litter(n) and not n.startswith(".")]
    return folder.folder(names[0]) if len(names) == 1 else None


def _search(start: Folder, own: Collection[str], given: Collection[str]) -> Package | None:
    """Find the modules anywhere: by the folder's name, else by the modules' names.

    Raises:
        SubmissionError: two folders have them.
    """
    files = [(parts, set(names)) for parts, _, names in start.walk()]
    known = {*own, *given} - {"__init__.py"}
    named = [p for p, names in files if p and PACKAGE.fullmatch(p[-1]) and _has_python(names)]
    full = [parts for parts, names in files if len(known & names) >= ENOUGH_MODULES]
    for places in (named, full):
        if len(places) > 1:
            raise SubmissionError(
                f"{start.shown()}: there are {len(places)} folders with the code: "
                f"{_listed(['/'.join(parts) or '.' for parts in places])}; upload one of them"
            )
        if places and (folder := start.below(places[0])):
            return Package(folder, is_usual=False)
    return None


def _has_python(names: Iterable[str]) -> bool:
    return any(name.endswith(".py") for name in names)


def _only_archive(start: Folder) -> tuple[tuple[str, ...], str] | None:
    """Return folder and name of the archive in an upload without anything else to grade."""
    files = _files(start)
    packed = [(parts, name) for parts, name in files if is_archive(name)]
    if len(packed) != 1 or any(name.lower().endswith(GRADED) for _, name in files):
        return None
    return packed[0] if is_supported(packed[0][1]) else None


def _no_package(start: Folder) -> SubmissionError:
    """Return what to say of an upload without Python files where the grader looks."""
    files = ["/".join((*parts, name)) for parts, name in _files(start)]
    packed = [file for file in files if is_archive(file)]
    closed = [file for file in packed if not is_supported(file)]
    if closed:
        holds = f"it holds {closed[0]}, which can't be opened: upload a zip"
    elif len(packed) == 1:
        holds = f"it holds {packed[0]}, which is not opened here: upload everything in one zip"
    elif packed:
        holds = f"it holds {_listed(packed)}: upload everything in one zip"
    elif any(file.endswith(".ipynb") for file in files):
        holds = f"it holds {_listed(files)}; expected submission/*.py, not a notebook"
    elif files:
        holds = f"it holds {_listed(files)}; expected submission/*.py"
    else:
        holds = "it holds no files; expected submission/*.py"
    return SubmissionError(
        f"{start.shown()}: no folder `submission` with Python files in it: {holds}"
    )


def _files(start: Folder) -> list[tuple[tuple[str, ...], str]]:
    return [(p, name) for p, _, names in start.walk() for name in names if not is_litter(name)]


def _listed(names: list[str]) -> str:
    """Return names for a sentence: "a, b and 3 more"."""
    shown = [name if len(name) <= 80 else f"{name[:76]} ..." for name in names]
    if len(shown) > SHOWN:
        return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


# Files under another name -------------------------------------------------------------------------


def _intended_name(name: str, expected: Iterable[str]) -> str | None:
    """Return the expected name of which this is probably a changed form."""
    plain = ADDED.sub("", name).lower()
    return next((one for one in expected if one != name and one.lower() == plain), None)


def _outputs_elsewhere(
    top: Folder, folders: list[Folder], expected: Collection[str]
) -> dict[str, str]:
    """Return the paths of outputs that are not in the folders where outputs may be, by name."""
    near, places = {folder.path for folder in folders}, dict[str, str]()
    for parts, folder, files in top.walk():
        for file in files if folder.path not in near else ():
            name = file if file in expected else _intended_name(file, expected)
            if name is not None:
                places.setdefault(name, "/".join((*parts, file)))
    return places
