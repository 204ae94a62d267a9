"""Knows where people put their code and outputs, and how names change on the way to the grader.

The public course has had its files in `src/*.py`, in `src/submission/` and flat; people pack the
folder above, the folder below, or all of a drive. Wherever the code is, it is graded alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from .errors import SubmissionError
from .upload import Folder, is_archive, is_litter, is_supported

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


def find_package(
    start: Folder, own: Collection[str], given: Collection[str]
) -> tuple[Folder, bool] | None:
    """Find the folder of the student's modules.

    Args:
        own: the modules that students write.
        given: the other modules of the package.

    Returns:
        the folder, and whether it is where the assignment's own commands put it; None if there is
        none.

    Raises:
        SubmissionError: there are two, and none is where it is expected.
    """
    places = (each for each in _usual_places(start) if any(n.endswith(".py") for n in each.names))
    usual = next(places, None)
    if usual is None:
        return _search(start, own, given)
    is_named = usual is not start and usual.parts[-1] == "submission"
    if not is_named and own and not {*own} & {*usual.names}:  # a script beside a folder
        with suppress(SubmissionError):
            return _search(start, own, given) or (usual, True)
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


def _search(
    start: Folder, own: Collection[str], given: Collection[str]
) -> tuple[Folder, bool] | None:
    """Find the modules anywhere: by the folder's name, else by the modules' names."""
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
            return places[0], False
    return None


def output_folders(package: Folder, is_usual: bool) -> list[Folder]:
    """List where outputs may be: next to the code, and where `run.py` was called."""
    folders, outer = [package], package.parent
    if outer and (PACKAGE.fullmatch(package.parts[-1]) or not is_usual):
        folders.insert(0, outer)
        if outer.parts[-1:] == ("src",) and outer.parent:
            folders.insert(0, outer.parent)
    return folders


def only_archive(start: Folder) -> tuple[Folder, str] | None:
    """Return folder and name of the archive in an upload without anything else to grade."""
    names = files(start)
    packed = [(folder, name) for folder, name in names if is_archive(name)]
    graded = (".py", *OUTPUT_SUFFIXES)
    if len(packed) != 1 or any(name.lower().endswith(graded) for _, name in names):
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
