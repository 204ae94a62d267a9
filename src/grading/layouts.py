"""Finds a student's modules in an upload, whatever its layout, and files with another name.

People zip the folder above, the folder below, or all of a drive; browsers and systems change names.
Where the code is found decides nothing else: it is graded alike. What can't be found, or is there
twice, is said in one sentence with the names that are there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from . import archives
from .errors import SubmissionError
from .upload import Folder, is_litter

# A folder of this name is taken wherever it is, and any that has so many of the package's modules;
# src/ of a release has three files of the same names.
PACKAGE = re.compile(r"submission( ?\(\d+\))?", re.IGNORECASE)
ENOUGH_MODULES = 4
# What is added to names: dataset (1).py, dataset - Copy.py, Copy of dataset.py, dataset-1.py,
# dataset 2.py, x.predictions.txt
ADDED = re.compile(
    r"^copy of |[ _-]*\(\d+\)|[ _-]+copy( \d+)?(?=\.|$)|[ -]\d{1,2}(?=\.)|\.txt$", re.IGNORECASE
)
GRADED = (".py", ".params", ".predictions")
SHOWN = 4  # names in a sentence


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
        found, outer = [self.folder], self.folder.parent
        if outer and (PACKAGE.fullmatch(self.folder.path.name) or not self.is_usual):
            found.insert(0, outer)
            if outer.path.name == "src" and outer.parent:
                found.insert(0, outer.parent)
        return found


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
        for way in (("submission",), ("src", "submission"), ()):
            folder = outer and outer.below(way)
            if folder and _has_python(folder.names()):
                return folder, not way
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
    found = [(way, set(names)) for way, _, names in start.searched()]
    known = {*own, *given} - {"__init__.py"}
    named = [w for w, names in found if w and PACKAGE.fullmatch(w[-1]) and _has_python(names)]
    full = [way for way, names in found if len(known & names) >= ENOUGH_MODULES]
    for ways in (named, full):
        if len(ways) > 1:
            raise SubmissionError(
                f"{start.path}: there are {len(ways)} folders with the code: "
                f"{_listed(['/'.join(way) or '.' for way in ways])}; upload one of them"
            )
        if ways and (folder := start.below(ways[0])):
            return Package(folder, is_usual=False)
    return None


def _has_python(names: Iterable[str]) -> bool:
    return any(name.endswith(".py") for name in names)


def only_archive(start: Folder) -> tuple[tuple[str, ...], str] | None:
    """Return folder and name of the archive in an upload without anything else to grade."""
    files = _files(start)
    packed = [(way, name) for way, name in files if archives.is_archive(name)]
    if len(packed) != 1 or any(name.lower().endswith(GRADED) for _, name in files):
        return None
    return packed[0] if archives.is_opened(packed[0][1]) else None


def nothing_found(start: Folder) -> SubmissionError:
    """Return what to say of an upload without Python files where the grader looks."""
    files = ["/".join((*way, name)) for way, name in _files(start)]
    packed = [file for file in files if archives.is_archive(file)]
    closed = [file for file in packed if not archives.is_opened(file)]
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
    return SubmissionError(f"{start.path}: no folder `submission` with Python files in it: {holds}")


def _files(start: Folder) -> list[tuple[tuple[str, ...], str]]:
    return [(w, name) for w, _, names in start.searched() for name in names if not is_litter(name)]


def _listed(names: list[str]) -> str:
    """Return names for a sentence: "a, b and 3 more"."""
    shown = [name if len(name) <= 80 else f"{name[:76]} ..." for name in names]
    if len(shown) > SHOWN:
        return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


# Files under another name -------------------------------------------------------------------------


def meant_by(name: str, expected: Iterable[str]) -> str | None:
    """Return the expected name of which this is probably a changed form."""
    plain = ADDED.sub("", name).lower()
    return next((one for one in expected if one != name and one.lower() == plain), None)


def outputs_elsewhere(
    top: Folder, folders: list[Folder], expected: Collection[str]
) -> dict[str, str]:
    """Return the paths of outputs that are not in the folders where outputs may be, by name."""
    near, found = {folder.path for folder in folders}, dict[str, str]()
    for way, folder, files in top.searched():
        for file in files if folder.path not in near else ():
            name = file if file in expected else meant_by(file, expected)
            if name is not None:
                found.setdefault(name, "/".join((*way, file)))
    return found
