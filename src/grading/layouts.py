"""Knows where people put their code and outputs, and how names change on the way to the grader.

The public course has had its files in `src/*.py`, in `src/submission/` and flat; people pack the
folder above, the folder below, or all of a drive. Wherever the code is, it is graded alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .errors import SubmissionError
from .upload import Folder, is_archive, is_litter, is_supported

OUTPUT_SUFFIXES = (".params", ".predictions")
GRADED = (".py", *OUTPUT_SUFFIXES)
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
        if outer and (PACKAGE.fullmatch(self.folder.parts[-1]) or not self.is_usual):
            folders.insert(0, outer)
            if outer.parts[-1:] == ("src",) and outer.parent:
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
    if is_loose and own and not {*own} & {*usual.names}:  # a script beside a folder, for example
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
            folder = outer and outer.below(*parts)
            if folder and any(name.endswith(".py") for name in folder.names):
                return folder, not parts
    return None, False


def _only_child(folder: Folder) -> Folder | None:
    """Return the folder that wraps everything, if there is one and nothing next to it."""
    names = [n for n in folder.names if not is_litter(n) and not n.startswith(".")]
    return folder.below(names[0]) if len(names) == 1 else None


def _search(start: Folder, own: Collection[str], given: Collection[str]) -> Package | None:
    """Find the modules anywhere: by the folder's name, else by the modules' names.

    Raises:
        SubmissionError: two folders have them.
    """
    files = [(folder, {*names}) for folder, names in start.walk()]
    known = {*own, *given} - {"__init__.py"}
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
            return Package(places[0], is_usual=False)
    return None


def only_archive(start: Folder) -> tuple[Folder, str] | None:
    """Return folder and name of the archive in an upload without anything else to grade."""
    found = files(start)
    packed = [(folder, name) for folder, name in found if is_archive(name)]
    if len(packed) != 1 or any(name.lower().endswith(GRADED) for _, name in found):
        return None
    return packed[0] if is_supported(packed[0][1]) else None


def files(start: Folder) -> list[tuple[Folder, str]]:
    """Return all files that are searched, litter excepted."""
    return [(folder, n) for folder, names in start.walk() for n in names if not is_litter(n)]


def listed(names: list[str]) -> str:
    """Return names for a sentence: "a, b and 3 more"."""
    shown = [name if len(name) <= 80 else f"{name[:76]} ..." for name in names]
    if len(shown) > SHOWN:
        return f"{', '.join(shown[:SHOWN])} and {len(shown) - SHOWN} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def intended_name(name: str, expected: Iterable[str]) -> str | None:
    """Return the expected name of which this is probably a changed form."""
    plain = ADDED.sub("", name).lower()
    return next((one for one in expected if one != name and one.lower() == plain), None)


def outputs_elsewhere(
    top: Folder, folders: list[Folder], expected: Collection[str]
) -> dict[str, str]:
    """Return the paths of outputs that are not in the folders where outputs may be, by name."""
    near, places = {folder.parts for folder in folders}, dict[str, str]()
    for folder, names in top.walk():
        for file in names if folder.parts not in near else ():
            name = file if file in expected else intended_name(file, expected)
            if name is not None:
                places.setdefault(name, "/".join((*folder.parts, file)))
    return places
