"""Finds modules whose import never ends, and then stops later tests from importing them.

Training code without `if __name__ == "__main__"` would otherwise cost every test that imports it
its whole limit, until the run times out. A worker reports which module of the submission it is
importing, in notes before its frame:

    I submission.helper 0.25    its import begins, a quarter of a second after the worker's start
    E                           the import that began last ends
    S submission.helper         known to be stuck: the worker ended instead of importing it
    U 0.52 0.31                 CPU seconds that the job has used, and those of them in imports
    T import                    the limit at which the worker ends itself; its stack follows

A student who writes such notes only stops their own tests. The limit of imports is the same for
all tests, so no later test tries to import the module again.
"""

from __future__ import annotations

import importlib.machinery
import os
import time
from collections.abc import Callable, Collection, Container
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from .limits import Limits

PACKAGE = "submission"
LIMITS = ("cpu", "wall", "import", "import-wall", "memory")
MAX_NOTES_BYTES = 32 << 10  # a submission has a few dozen modules


# In the worker ----------------------------------------------------------------------------------


class Finder:
    """Finds the submission's modules as usual; their loaders write notes, and load no stuck one."""

    def __init__(
        self,
        write: Callable[[bytes], Any],
        stuck: Collection[str],
        switch: Callable[[bool], Any],
    ) -> None:
        """
        Args:
            switch: called with True when an import begins that no other one has caused, and with
                False when it ends.
        """
        self._write, self._stuck, self._switch = write, stuck, switch
        self._depth = 0
        self._started, self._room = time.monotonic(), MAX_NOTES_BYTES

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
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


# In the grader ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notes:
    """A worker's notes.

    Attributes:
        size: the size of all notes in bytes; the frame follows them.
        importing: the module whose import began last and has not ended, or "".
        began_s: when that was, in seconds from the worker's start.
        stopped: the stuck module before whose import it ended, or "".
        cpu_s, import_s: what the job used, from a worker of the `LocalPool` that has answered.
        limit: the limit at which a worker of the `LocalPool` ended itself, or "".
    """

    size: int
    importing: str
    began_s: float
    stopped: str
    cpu_s: float = 0.0
    import_s: float = 0.0
    limit: str = ""


def read_notes(data: bytes) -> Notes:
    """Read the notes at the beginning of `data`, and ignore what follows."""
    position, imports, stopped, used, limit = 0, [("", 0.0)], "", (0.0, 0.0), ""
    while (end := data.find(b"\n", position, MAX_NOTES_BYTES)) >= 0:
        words = data[position:end].decode("utf-8", errors="replace").split(" ")
        if len(words) == 3 and words[0] == "I" and _is_number(words[2]):
            imports.append((words[1], float(words[2])))
        elif len(words) == 3 and words[0] == "U" and _is_number(words[1]) and _is_number(words[2]):
            used = float(words[1]), float(words[2])
        elif len(words) == 2 and words[0] == "T" and words[1] in LIMITS:
            limit = words[1]
        elif words == ["E"] and len(imports) > 1:
            imports.pop()
        elif len(words) == 2 and words[0] == "S":
            stopped = words[1]
        else:
            break
        position = end + 1
    return Notes(position, *imports[-1], stopped, *used, limit)


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()


@dataclass(frozen=True)
class Stuck:
    """A module whose import took the whole limit of imports.

    Attributes:
        file: its name in the submission.
        named: whether messages may name it: not if a hidden test found it, whose inputs the choice
            of a file could reveal.
    """

    file: str
    named: bool


def find_stuck(
    notes: Notes, reason: str, wall_s: float, limits: Limits, files: Container[str], named: bool
) -> Stuck | None:
    """Return the module in whose import a worker got stuck, or None.

    The whole limit of imports must have been used (a run's deadline shortens some), at least half
    of the time in this import, and the module must be one of the submission's files: if code hits a
    limit elsewhere, every test tries again.

    Args:
        reason, wall_s: from the worker's ending.
        limits: the worker's limits.
        files: the staged files.
    """
    whole = reason == "import" or (
        reason == "import-wall"
        and limits.import_wall_s >= Limits.for_test(limits.cpu_s).import_wall_s
    )
    module = notes.importing.replace(".", "/")
    file = f"{module}/__init__.py" if module == PACKAGE else f"{module}.py"
    if not whole or file not in files or notes.began_s > wall_s / 2:
        return None
    return Stuck(file, named)
