"""Lets modules of the package `submission` be imported by their bare names, as public code does.

    from utils import read_text      # in submission/dataset.py: the same module as submission.utils

A bare name is looked for here last: no file of a student's hides the standard library, an installed
library, or a package next to `submission`. Workers and students' commands find the same modules.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "submission"


def install(package: Path, ours: Iterable[str] = ()) -> None:
    """Find the modules of a package `submission` by their bare names from now on.

    Args:
        ours: names of modules next to the package that are not hidden by a module in it. Others
            are: there, src/dataset.py is a command.
    """
    beside = {path.parent.name for path in package.parent.glob("*/__init__.py")}
    names = {path.stem for path in package.glob("*.py")}
    names -= {"__init__", *beside, *ours, *sys.stdlib_module_names}
    sys.meta_path.insert(0, Finder(package.parent, frozenset(names)))


class Finder:
    """Finds bare names that are not found elsewhere, and loads the package's modules for them."""

    def __init__(self, beside: Path, names: frozenset[str]) -> None:
        self._beside, self._names = os.path.realpath(beside), names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._names:
            return None
        elsewhere = [folder for folder in sys.path if os.path.realpath(folder) != self._beside]
        library = PathFinder.find_spec(name, elsewhere)
        if library is not None and library.loader is not None:  # not just a folder of this name
            return library
        return ModuleSpec(name, self)  # type: ignore[arg-type]  # it has what a loader needs

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make a module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        del sys.modules[name]  # if it is imported again meanwhile, it must not be this empty one
        sys.modules[name] = importlib.import_module(f"{PACKAGE}.{name}")


def saved_as_utf16(package: Path) -> list[Path]:
    """Return the modules of a package that are saved as UTF-16, which Python can't read."""
    return [path for path in sorted(package.glob("*.py")) if _is_file_in_utf16(path)]


def _is_file_in_utf16(path: Path) -> bool:
    try:
        return is_utf16(path.read_bytes())
    except OSError:
        return False


def is_utf16(data: bytes) -> bool:
    """Return whether a source is in UTF-16, with or without a byte order mark; or in UTF-32.

    Of ASCII in UTF-16, every second byte is 0. A single one has another cause.
    """
    zeros = max(data[::2].count(0), data[1::2].count(0))
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or zeros > len(data) // 4


UTF16 = (
    "saved as UTF-16, expected UTF-8: in VS Code, click on UTF-16 in the bar at the bottom, then "
    "`Save with Encoding`; in Notepad, `Save as` with the encoding UTF-8"
)
