"""Ends a worker of the `LocalPool` when its job's time is over.

A test may take two seconds, and `import torch` alone takes one of them, more on a slow computer. So
the seconds in which modules of the submission are imported, with whatever these import, don't count
as the test's: they have a limit of their own, the same for each test (`Limits.import_s`).

A thread compares what the job has used, on every platform. Code in C that never lets another thread
run is ended by faulthandler, later.
"""

from __future__ import annotations

import faulthandler
import os
import threading
import time
from contextlib import suppress

from .limits import Limits
from .traces import resident_bytes

TICK_S = 0.05
LATER_S = 1.0  # than the thread, which can say more


class Watchdog:
    """Watches one job after another."""

    def __init__(self, fd: int, output_bytes: int) -> None:
        """
        Args:
            fd: where it writes, before it ends the process, which limit was hit and the stack.
            output_bytes: how much of a job's prints is kept on the disk.
        """
        self._fd, self._output_bytes = fd, output_bytes
        self._lock, self._is_watching = threading.Lock(), False
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, allowed: Limits) -> None:
        """Begin to watch a job, whose imports of the submission `switch` reports."""
        with self._lock:
            self._left = {  # CPU and wall seconds, in and outside imports
                "import": [allowed.import_s, allowed.import_wall_s],
                "cpu": [allowed.cpu_s, allowed.wall_s],
            }
            self._used = {"import": 0.0, "cpu": 0.0}  # CPU seconds
            self._most_bytes = resident_bytes() + allowed.memory_bytes
            self._counted, self._is_watching = (time.process_time(), time.monotonic()), True
            self._go_on("cpu")

    def switch(self, importing: bool) -> None:
        """Go on with the other limit when an import of the submission begins or ends."""
        with self._lock:
            self._count()
            self._go_on("import" if importing else "cpu")

    def end(self) -> tuple[float, float]:
        """Stop watching; return the job's CPU seconds, and those of them in imports."""
        with self._lock:
            self._count()
            self._is_watching = False
            faulthandler.cancel_dump_traceback_later()
            return sum(self._used.values()), self._used["import"]

    def _go_on(self, limit: str) -> None:
        self._limit = limit
        wall_s = max(self._left[limit][1], 0.0) + LATER_S
        faulthandler.dump_traceback_later(wall_s, exit=True, file=self._fd)

    def _count(self) -> None:
        before, self._counted = self._counted, (time.process_time(), time.monotonic())
        cpu_s, wall_s = (now - then for now, then in zip(self._counted, before, strict=True))
        self._used[self._limit] += cpu_s
        left = self._left[self._limit]
        left[:] = left[0] - cpu_s, left[1] - wall_s

    def _watch(self) -> None:
        while True:
            time.sleep(TICK_S)
            with self._lock:
                if self._is_watching:
                    self._count()
                    self._look()

    def _look(self) -> None:
        cpu_s, wall_s = self._left[self._limit]
        if cpu_s < 0:
            self._stop(self._limit)
        elif wall_s < 0:
            self._stop("import-wall" if self._limit == "import" else "wall")
        elif resident_bytes() > self._most_bytes:
            self._stop("memory")
        with suppress(OSError):  # closed by the student's code
            if os.fstat(1).st_size > self._output_bytes:
                os.ftruncate(1, self._output_bytes)

    def _stop(self, reason: str) -> None:
        with suppress(OSError):
            os.write(self._fd, f"T {reason}\n".encode("ascii"))
            faulthandler.dump_traceback(self._fd)
        os._exit(1)
