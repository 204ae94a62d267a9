"""Times a worker's imports of the submission, whose limit is not the test's.

A test may take two seconds, and `import torch` alone takes one of them, more on a slow computer. So
the seconds in which modules of the submission are imported, with whatever these import, don't count
as the test's: they have a limit of their own, the same for each test (`Limits.import_s`).

The worker itself says when it imports. Code that lies about it gets the limit of imports in
addition to that of its test, and no more.
"""

from __future__ import annotations

import mmap
import struct
import time
from dataclasses import dataclass

# Whether an import is under way; CPU and wall seconds of earlier ones; when the last one began.
NOTE = struct.Struct("=?dddd")


def _now() -> tuple[float, float]:
    """Return this process's CPU seconds, and the time."""
    return time.process_time(), time.monotonic()


@dataclass(frozen=True)
class Imports:
    """How many CPU and wall seconds imports have taken, and whether one is under way."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    under_way: bool = False


class Clock:
    """What a guardian knows of its worker's imports, in memory that both share.

    A byte counts the worker's notes. There is room for two, which take turns, so that a note is
    never read while it is written.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1 + 2 * NOTE.size)

    def switch(self, importing: bool) -> None:
        """Note, in the worker, that an import of the submission begins or ends."""
        _, cpu_s, wall_s, began_cpu_s, began = self._last()
        cpu_now_s, now = _now()
        if not importing:
            cpu_s, wall_s = cpu_s + cpu_now_s - began_cpu_s, wall_s + now - began
        count = (self._shared[0] + 1) % 256
        NOTE.pack_into(self._shared, _place(count), importing, cpu_s, wall_s, cpu_now_s, now)
        self._shared[0] = count

    def read(self, cpu_now_s: float) -> Imports:
        """Return, in the guardian, what the worker noted.

        Args:
            cpu_now_s: what the worker has used so far.
        """
        under_way, cpu_s, wall_s, began_cpu_s, began = self._last()
        if under_way:
            cpu_s, wall_s = cpu_s + cpu_now_s - began_cpu_s, wall_s + time.monotonic() - began
        return Imports(_sensible(cpu_s), _sensible(wall_s), under_way)

    def _last(self) -> tuple[bool, float, float, float, float]:
        while True:
            count = self._shared[0]
            note = NOTE.unpack_from(self._shared, _place(count))
            if count == self._shared[0]:
                return note


def _place(count: int) -> int:
    return 1 + count % 2 * NOTE.size


def _sensible(seconds: float) -> float:
    return seconds if seconds > 0 else 0.0  # not a forged NaN, either
