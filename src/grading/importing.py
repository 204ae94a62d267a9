"""How a submission is imported: by bare names, too, and not if that hangs.

Public code imports the modules of `submission` by their bare names (`from utils import read_text`
in submission/dataset.py). Such a name is looked for there last: no file of a student's hides the
standard library, an installed library, or a package next to `submission`. Workers and students'
commands find the same modules.

Training code without `if __name__ == "__main__"` would cost every test that imports it its whole
limit, until the run times out. So a worker reports which module of the submission it is importing,
in notes before its frame, and no later test imports a module again that used up the limit, which is
the same for all tests:

    I submission.helper 0.25    its import begins, a quarter of a second after the worker's start
    E                           the import that began last ends
    S submission.helper         known to be stuck: the worker ended instead of importing it
    U 0.52 0.31                 CPU seconds that the job has used, and those of them in imports
    T import                    the limit at which the worker ends itself; its stack follows

A student who writes such notes only stops their own tests.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "submission"
LIMITS = ("cpu", "wall", "import", "import-wall", "memory")
MAX_NOTES_BYTES = 32 << 10  # a submission has a few dozen modules
UTF16 = (
    "saved as UTF-16, expected UTF-8: in VS Code, click on UTF-16 in the bar at the bottom, then "
    "`Save with Encoding`; in Notepad, `Save as` with the encoding UTF-8"
)


def saved_as_utf16(package: Path) -> list[Path]:
    """Return the modules of a package that are saved as UTF-16, which Python can't read."""
    found = []
    for path in sorted(package.glob("*.py")):
        with suppress(OSError):
            if is_utf16(path.read_bytes()):
                found.append(path)
    return found


def is_utf16(data: bytes) -> bool:
    """Return whether a source is in UTF-16, with or without a byte order mark; or in UTF-32.

    Of ASCII in UTF-16, every second byte is 0. A single one has another cause.
    """
    zeros = max(data[::2].count(0), data[1::2].count(0))
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or zeros > len(data) // 4


# Where it runs ------------------------------------------------------------------------------------


class BareNames:
    """Finds bare names that are not found elsewhere, and loads the package's modules for them."""

    def __init__(self, package: Path, ours: Iterable[str] = ()) -> None:
        # A module of the package hides what is next to it, where src/dataset.py is a command, but
        # none of `ours`.
        self._beside = os.path.realpath(package.parent)
        packages = {path.parent.name for path in package.parent.glob("*/__init__.py")}
        names = {path.stem for path in package.glob("*.py")}
        self._names = names - {"__init__", *packages, *ours, *sys.stdlib_module_names}

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


class Finder:
    """Finds the submission's modules as usual; their loaders write notes, and load no stuck one."""

    def __init__(
        self,
        write: Callable[[bytes], Any],
        stuck: Collection[str],
        switch: Callable[[bool], Any],
    ) -> None:
        self._write, self._stuck = write, stuck
        # Called with True when an import begins that no other one has caused, then with False.
        self._switch = switch
        self._depth = 0
        self._started, self._room = time.monotonic(), MAX_NOTES_BYTES

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:  # no such module, or a folder without __init__.py
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            if name in self._stuck:
                self._note(f"S {name}")
                os._exit(0)  # not an exception, which the student's code could catch
            self._note(f"I {name} {time.monotonic() - self._started:.2f}")
            self._depth += 1
            if self._depth == 1:
                self._switch(True)
            try:
                execute(module)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._switch(False)
                self._note("E")

        # In every other respect the loader is unchanged.
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _note(self, text: str) -> None:
        note = text.encode("utf-8", errors="replace") + b"\n"
        self._room -= len(note)
        if self._room >= 0:
            with suppress(OSError):  # the student's code may have closed it
                self._write(note)


# In the grader ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notes:
    """A worker's notes; the last three come from workers of the `LocalPool`."""

    size: int  # of all notes in bytes; the frame follows them
    importing: str  # the module whose import began last and has not ended, or ""
    began_s: float  # when that was, in seconds from the worker's start
    stopped: str  # the stuck module before whose import it ended, or ""
    cpu_s: float = 0.0  # what the job used, if it has answered
    import_s: float = 0.0
    limit: str = ""  # at which it ended itself, or ""


def read_notes(data: bytes) -> Notes:
    """Read the notes at the beginning of `data`, and ignore what follows."""
    position, imports, stopped, used, limit = 0, [("", 0.0)], "", (0.0, 0.0), ""
    while (end := data.find(b"\n", position, MAX_NOTES_BYTES)) >= 0:
        match data[position:end].decode("utf-8", errors="replace").split(" "):
            case ["I", module, began] if _is_number(began):
                imports.append((module, float(began)))
            case ["E"] if len(imports) > 1:
                imports.pop()
            case ["S", module]:
                stopped = module
            case ["U", cpu, in_imports] if _is_number(cpu) and _is_number(in_imports):
                used = float(cpu), float(in_imports)
            case ["T", reason] if reason in LIMITS:
                limit = reason
            case _:
                break
        position = end + 1
    return Notes(position, *imports[-1], stopped, *used, limit)


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()
