"""Copies what is graded of a submission: the grader uses this copy, never the student's own files.

A submission is a folder, a zip or a tar: `submission/*.py`, and `*.params` and `*.predictions` next
to it or inside it. The public course has had its files in `src/*.py`, in `src/submission/` and
flat; people pack the folder above, the folder below, or all of a drive, and an archive in an
archive. Wherever the code is, it is graded alike. Only regular files are copied, links on the path
to any of them are refused (`upload.py`), and what was copied or left out is reported, by the paths
in the upload. No module or output is ever completely in memory.

The copy also gets what the assignment provides: given modules that the submission lacks, and
packages that are always the grader's own.
"""

from __future__ import annotations

import errno
import json
import py_compile
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grading

from . import upload
from .errors import SubmissionError, safe_line, safe_lines
from .upload import CHUNK_BYTES, MACHINE_ERRNOS, Folder, is_litter, refusal

MAX_CODE_BYTES = 4 << 20
# The largest recipe's parameters (`original`) take 14 MB, as float64 27 MB.
MAX_OUTPUT_BYTES = 64 << 20
# Gradescope accepts 100 MB, and parameters hardly shrink when zipped.
MAX_TOTAL_BYTES = 256 << 20
BY_HASH = py_compile.PycInvalidationMode.CHECKED_HASH  # bytecode of other source is not used
NO_TEXT = "its name is not text"  # escapes in it could overwrite the grader's own lines
REFUSED_NAMES = ("sitecustomize.py", "usercustomize.py")
OUTPUT_SUFFIXES = (".params", ".predictions")
# A folder of this name is taken wherever it is, and any that has so many of the package's modules;
# src/ of a release has three files of the same names.
PACKAGE = re.compile(r"submission( ?\(\d+\))?", re.IGNORECASE)
ENOUGH_MODULES = 4
# What is added to names: dataset (1).py, dataset - Copy.py, Copy of dataset.py, dataset-1.py,
# dataset 2.py, x.predictions.txt
ADDED = re.compile(
    r"^copy of |[ _-]*\(\d+\)|[ _-]+copy( \d+)?(?=\.|$)|[ -]\d{1,2}(?=\.)|\.txt$", re.IGNORECASE
)
SHOWN = 4  # names in a sentence
# The collector says in this file from which copy of the assignment it packed the work.
COPY, COPY_BYTES = "release.json", 1_000
RELEASE = re.compile(r"[\w-]{1,60}\.[1-9][0-9]{0,3}")
EDITION = re.compile(r"[A-Za-z0-9_-]{1,40}")
STAFFS_MODEL = ("src", "staff")  # its files in a student's copy are nobody's work
# What students predicted and saw in experiments: for those who read their answers.
EXPERIMENTS, EXPERIMENTS_BYTES = "experiments.json", 100_000
MAX_TABLE = 20_000  # characters
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Provided:
    """What the grader adds to every submission."""

    modules: tuple[str, ...] = ()  # of `submission`: those that students write
    given: tuple[str, ...] = ()  # the others: the grader's, if an upload lacks them
    packages: tuple[str, ...] = ()  # next to `submission`: always the grader's
    # Files that the question set's `prepare` writes; an upload's own are left out silently.
    generated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Omission:
    """A file of an upload that is not copied: its path there, safe to print, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})"


@dataclass
class Staged:
    """A staged submission."""

    root: Path  # contains the package `submission`, and parameters and predictions next to it
    taken: dict[str, str] = field(default_factory=dict)  # each staged name's origin
    omissions: list[Omission] = field(default_factory=list)
    added: list[str] = field(default_factory=list)  # the given modules that the grader added
    total_bytes: int = 0  # of the modules and outputs that were copied
    package: Path | None = None  # the folder of the student's modules, unless it is in an archive
    place: str = ""  # where it was found, if that is an unusual place
    required: tuple[str, ...] = ()  # all files that count
    modules: tuple[str, ...] = ()  # those that students write
    is_checkout: bool = False  # it is the assignment's own folder, which nobody has uploaded
    # For required files that are missing, the file that was probably meant.
    renamed: dict[str, str] = field(default_factory=dict)
    reference: Path | None = None  # the folder of the staged reference, where there is one
    release: str = ""  # of the student's copy of the assignment, if the submission names it
    edition: str = ""  # the same
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)  # see `experiments_in`
    # What to say where something is missing that this copy of another edition or term never had.
    foreign: str = ""

    @property
    def missing(self) -> list[str]:
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
        self.omissions.append(Omission(safe_line(name, 200), reason))


def stage(
    source: Path | Folder,
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
        GradingError: this machine can't copy it, as on a full disk.
    """
    staged = Staged(target, required=required, modules=provided.modules)
    (target / "submission").mkdir(parents=True)
    for folder in (target, target / "submission"):
        folder.chmod(0o755)
    with ExitStack() as stack:
        if not isinstance(source, Folder):
            source = _open(source, alias, stack)
        staged.is_checkout = source.path == grading.ROOT.resolve()
        package, is_usual = _package(source, staged, provided, stack)
        folders = _output_folders(package, is_usual)
        _copy_code(package, staged, provided)
        _copy_outputs(folders, staged)
        if not staged.is_checkout:
            _read_copy(folders, staged)
        _copy_experiments(folders, staged)
        outer = package.parent
        if outer and PACKAGE.fullmatch(package.parts[-1]):
            for name in provided.packages:
                if name in outer.names and outer.place(name) != grading.SRC / name:
                    staged.omit(outer.label(name), "the grader uses its own")
        _search_outputs(folders, staged)
    staged.added = complete(target, provided)
    return staged


def _open(source: Path, alias: str, stack: ExitStack) -> Folder:
    """Open a submission where the search starts, until `stack` is closed."""
    try:
        mode = source.stat().st_mode
    except OSError as error:
        is_missing = error.errno == errno.ENOENT
        reason = "there is no such file or folder" if is_missing else error.strerror
        raise SubmissionError(f"{alias or str(source):.200}: {reason} to grade") from None
    if stat.S_ISREG(mode):
        with upload.archive_errors(source.name):
            archive = stack.enter_context(open(source, "rb"))
        return stack.enter_context(upload.open_archive(archive, source, alias or str(source)))
    if not stat.S_ISDIR(mode):
        raise SubmissionError(f"{alias or source}: neither a folder nor a zip")
    source, within = source.resolve(), tuple[str, ...]()
    for inner in (("src",), ("src", "submission")):
        if source == grading.ROOT.joinpath(*inner).resolve():
            source, within = grading.ROOT.resolve(), inner
    top = Folder(upload.on_disk(source), source, alias or str(source))
    top = upload.unfold_backslashes(top)
    return top.below(*within) or top


def _package(
    start: Folder, staged: Staged, provided: Provided, stack: ExitStack
) -> tuple[Folder, bool]:
    """Find the folder of the student's modules, also in the only archive, and record where.

    Returns:
        the folder, and whether it is in a usual place.
    """
    found, origin = find_package(start, provided), ""
    if found is None and (packed := _only_archive(start)):
        folder, origin = packed
        try:
            archive = stack.enter_context(closing(folder.file(origin)))
        except OSError as error:
            raise refusal(error, f"{folder.label(origin)} can't be read") from None
        except ValueError as error:
            raise SubmissionError(f"{folder.label(origin)}: {error}") from None
        opened = upload.open_archive(archive, folder.place(origin), folder.shown(origin))
        start = stack.enter_context(opened)
        found = find_package(start, provided)
    if found is None:
        raise _no_package(start)
    package, is_usual = found
    if origin or not is_usual:
        staged.place = "/".join(filter(None, (origin, *package.parts)))
    if not origin and package.place().is_dir():
        staged.package = package.place()
    return package, is_usual


def _no_package(start: Folder) -> SubmissionError:
    """Return what to say of an upload without Python files where the grader looks."""
    files = ["/".join((*folder.parts, name)) for folder, name in _files(start)]
    packed = [file for file in files if upload.is_archive(file)]
    closed = [file for file in packed if not upload.is_supported(file)]
    if closed:
        holds = f"{closed[0]}, which can't be opened: upload a zip"
    elif packed:
        holds = f"{listed(packed)}, not opened here: upload everything in one zip"
    else:
        holds = f"{listed(files) or 'no files'}; expected submission/*.py"
        holds += ", not a notebook" if any(file.endswith(".ipynb") for file in files) else ""
    return SubmissionError(
        f"{start.shown()}: no folder `submission` with Python files in it: it holds {holds}"
    )


def _copy_code(package: Folder, staged: Staged, provided: Provided) -> None:
    lacking = [name for name in provided.modules if name not in package.names]
    for file in package.names:
        suffix = Path(file).suffix
        elsewhere = (*provided.generated, COPY, EXPERIMENTS)
        if is_litter(file) or suffix in OUTPUT_SUFFIXES or file in elsewhere:
            continue
        intended = _intended_name(file, lacking)
        if not file.isprintable():
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


def _copy_outputs(folders: list[Folder], staged: Staged) -> None:
    places: dict[str, str] = {}
    for folder in folders:
        for name in folder.names:
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


def _read_copy(folders: list[Folder], staged: Staged) -> None:
    """Record from which copy of the assignment the work was packed; a broken file says nothing."""
    for folder in (each for each in folders if COPY in each.names):
        with suppress(SubmissionError, OSError, ValueError, LookupError, TypeError, RecursionError):
            with closing(folder.file(COPY)) as reader:
                content = json.loads(reader.read(COPY_BYTES))
            release, edition = content["release"], content["edition"]
            if RELEASE.fullmatch(release) and EDITION.fullmatch(edition):
                staged.release, staged.edition = release, edition
                return


def _copy_experiments(folders: list[Folder], staged: Staged) -> None:
    """Copy and record what the student noted of experiments; a broken file counts as none."""
    folder = next((each for each in folders if EXPERIMENTS in each.names), None)
    if folder is None:
        return
    try:
        with closing(folder.file(EXPERIMENTS)) as reader:
            content = reader.read(EXPERIMENTS_BYTES + 1)
        if len(content) > EXPERIMENTS_BYTES:
            raise ValueError(f"more than {EXPERIMENTS_BYTES} bytes")
        noted = experiments_in(content)
        target = staged.root / EXPERIMENTS
        target.write_bytes(content)
        target.chmod(0o644)
    except (SubmissionError, OSError, ValueError, RecursionError) as error:
        staged.omit(folder.label(EXPERIMENTS), f"not as run.py writes it: {error!s:.200}")
        return
    staged.experiments = noted
    staged.taken[EXPERIMENTS] = str(folder.place(EXPERIMENTS))


def experiments_in(content: bytes) -> dict[str, dict[str, Any]]:
    """Return what `src/experiments/commands.py` wrote of each experiment, with texts safe to show.

    Returns:
        prediction, earlier_predictions; seed; parameters, their digest, or None if the experiment
        trains its own; results, the printed table as one text.

    Raises:
        ValueError, RecursionError: it is something else.
    """

    def refuse(constant: str) -> None:
        raise ValueError(f"it contains {constant}")

    noted = json.loads(content, parse_constant=refuse)
    try:
        return {safe_line(name, 40): _experiment(one) for name, one in noted.items()}
    except (AttributeError, LookupError, TypeError):
        raise ValueError("an entry is missing or of another type") from None


def _experiment(one: Any) -> dict[str, Any]:
    digest, seed = one["parameters"], one["seed"]
    earlier, table = one["earlier_predictions"], one["results"]
    is_fine = type(seed) is int and abs(seed) < 1 << 63
    is_fine = is_fine and (digest is None or DIGEST.fullmatch(digest) is not None)
    if not (is_fine and isinstance(earlier, list) and isinstance(table, list)):
        raise TypeError
    return {
        "prediction": safe_lines(one["prediction"], MAX_TABLE),
        "earlier_predictions": [safe_lines(text, MAX_TABLE) for text in earlier],
        "parameters": digest,
        "seed": seed,
        "results": safe_lines("\n".join(table), MAX_TABLE),
    }


def _search_outputs(folders: list[Folder], staged: Staged) -> None:
    """Record which files were probably meant to be the required outputs that are missing."""
    missing = [name for name in staged.missing if Path(name).suffix in OUTPUT_SUFFIXES]
    for other in (name for folder in folders for name in folder.names):
        if name := _intended_name(other, missing):
            staged.renamed.setdefault(name, safe_line(other, 200))
    missing = [name for name in missing if name not in staged.renamed]
    # Staff's own checkout has trained files for tests.
    if not missing or (staged.is_checkout and grading.SOLUTIONS.exists()):
        return
    with suppress(SubmissionError):  # too many files, which cost nothing where nobody looks
        for folder, file in _files(folders[0].top):
            if folder.parts[-2:] == STAFFS_MODEL:
                continue
            name = file if file in missing else _intended_name(file, missing)
            if name and folder.parts not in (near.parts for near in folders):
                other = safe_line("/".join((*folder.parts, file)), 200)
                staged.renamed.setdefault(name, other)


def _take(folder: Folder, file: str, name: str, limit_bytes: int, staged: Staged) -> None:
    """Copy a file to its staged name, or record why it was left out."""
    label, size = folder.label(file), folder.entries[file].size
    try:
        if size <= limit_bytes:
            size = copy(folder, file, staged.root / name, limit_bytes)
    except OSError as error:
        if error.errno in MACHINE_ERRNOS:
            raise refusal(error, f"{label} can't be copied") from None
        staged.omit(label, f"can't be read: {error.strerror}")
        return
    except ValueError as error:
        staged.omit(label, str(error))
        return
    if size > limit_bytes:
        staged.omit(label, f"{size} bytes, more than {limit_bytes}")
        return
    staged.taken[name] = str(folder.place(file))
    staged.total_bytes += size
    if staged.total_bytes > MAX_TOTAL_BYTES:
        raise SubmissionError(
            f"too large: its files up to {label} have {staged.total_bytes} bytes, "
            f"more than {MAX_TOTAL_BYTES}; remove files that are not required"
        )


def copy(folder: Folder, file: str, target: Path, limit_bytes: int) -> int:
    """Copy a regular file of at most `limit_bytes`; return how many bytes it has.

    A longer one, which may be growing, leaves nothing.
    """
    size, is_whole = 0, False
    with closing(folder.file(file)) as reader, open(target, "xb") as writer:
        try:
            while size <= limit_bytes and (chunk := reader.read(CHUNK_BYTES)):
                size += writer.write(chunk)
            is_whole = size <= limit_bytes
        finally:
            if not is_whole:
                writer.close()
                target.unlink()
    if is_whole:
        target.chmod(0o644)  # readable for every uid, whatever the umask
    return size


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


def complete(root: Path, provided: Provided) -> list[str]:
    """Add the packages and, in `submission`, missing given modules; return the latter."""
    own: dict[Path, Path] = {}
    for name in provided.packages:
        (root / name).mkdir()
        (root / name).chmod(0o755)
        own |= {root / name / path.name: path for path in (grading.SRC / name).glob("*.py")}
    lacking = [name for name in provided.given if not (root / "submission" / name).exists()]
    lacking = [name for name in lacking if (grading.SRC / "submission" / name).is_file()]
    own |= {root / "submission" / n: grading.SRC / "submission" / n for n in lacking}
    for added, original in own.items():
        shutil.copyfile(original, added)
        added.chmod(0o644)
        # Once for all workers. A submission's own modules are compiled where they are imported:
        # source can be written so that compiling it takes gigabytes, or crashes the interpreter.
        py_compile.compile(str(added), quiet=2, invalidation_mode=BY_HASH)
    return lacking


# Where the code is --------------------------------------------------------------------------------


def find_package(start: Folder, provided: Provided) -> tuple[Folder, bool] | None:
    """Find the folder of the modules.

    Returns:
        the folder, and whether it is where the assignment's own commands put it; None if there is
        none.

    Raises:
        SubmissionError: there are two, and none is where it is expected.
    """
    places = (each for each in _usual_places(start) if any(n.endswith(".py") for n in each.names))
    usual = next(places, None)
    if usual is None:
        return _search(start, provided)
    own = {*provided.modules}
    is_named = usual is not start and usual.parts[-1] == "submission"
    if not is_named and own and not own & {*usual.names}:  # a script beside a folder
        with suppress(SubmissionError):
            return _search(start, provided) or (usual, True)
    return usual, True


def _usual_places(start: Folder) -> Iterator[Folder]:
    """Yield where the code usually is: here, or in a folder that wraps everything."""

    def inside(outer: Folder) -> Iterator[Folder]:
        for parts in (("submission",), ("src", "submission"), ()):
            if folder := outer.below(*parts):
                yield folder

    yield from inside(start)
    names = [n for n in start.names if not is_litter(n) and not n.startswith(".")]
    if len(names) == 1 and (wrapping := start.below(names[0])):
        yield from inside(wrapping)


def _search(start: Folder, provided: Provided) -> tuple[Folder, bool] | None:
    """Find the modules anywhere: by the folder's name, else by the modules' names."""
    files = [(folder, {*names}) for folder, names in start.walk()]
    known = {*provided.modules, *provided.given} - {"__init__.py"}
    python = [folder for folder, names in files if any(n.endswith(".py") for n in names)]
    named = [one for one in python if one.parts and PACKAGE.fullmatch(one.parts[-1])]
    full = [folder for folder, names in files if len(known & names) >= ENOUGH_MODULES]
    for places in (named, full):
        if len(places) > 1:
            raise SubmissionError(
                f"{start.shown()}: there are {len(places)} folders with the code: "
                f"{listed(['/'.join(one.parts) or '.' for one in places])}; upload one of them"
            )
        if places:
            return places[0], False
    return None


def _output_folders(package: Folder, is_usual: bool) -> list[Folder]:
    """List where outputs may be: next to the code, and where `run.py` was called."""
    folders, outer = [package], package.parent
    if outer and (PACKAGE.fullmatch(package.parts[-1]) or not is_usual):
        folders.insert(0, outer)
        if outer.parts[-1:] == ("src",) and outer.parent:
            folders.insert(0, outer.parent)
    return folders


def _only_archive(start: Folder) -> tuple[Folder, str] | None:
    """Return folder and name of the archive in an upload without anything else to grade."""
    names = _files(start)
    packed = [(folder, name) for folder, name in names if upload.is_archive(name)]
    graded = (".py", *OUTPUT_SUFFIXES)
    if len(packed) != 1 or any(name.lower().endswith(graded) for _, name in names):
        return None
    return packed[0] if upload.is_supported(packed[0][1]) else None


def _files(start: Folder) -> list[tuple[Folder, str]]:
    """Return all files that are searched, litter excepted."""
    return [(folder, n) for folder, names in start.walk() for n in names if not is_litter(n)]


def listed(names: list[str]) -> str:
    """Return names for a sentence: "a, b and 3 more"."""
    shown = [name if len(name) <= 80 else f"{name[:76]} ..." for name in names]
    if len(shown) > SHOWN:
        return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _intended_name(name: str, expected: Iterable[str]) -> str | None:
    """Return the expected name of which this is probably a changed form."""
    plain = ADDED.sub("", name).lower()
    return next((one for one in expected if one != name and one.lower() == plain), None)
