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
        self._lock = threading.Lock()
        self._watching = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, allowed: Limits) -> None:
        """Begin to watch a job, whose imports of the submission `switch` reports."""
        with self._lock:
            self._left = {
                False: (allowed.cpu_s, allowed.wall_s),
                True: (allowed.import_s, allowed.import_wall_s),
            }
            self._used_s = {False: 0.0, True: 0.0}
            self._most_bytes = resident_bytes() + allowed.memory_bytes
            self._go_on(False)
            self._watching.set()

    def switch(self, importing: bool) -> None:
        """Go on with the other limit when an import of the submission begins or ends."""
        with self._lock:
            self._pause()
            self._go_on(importing)

    def end(self) -> tuple[float, float]:
        """Stop watching; return the job's CPU seconds, and those of them in imports."""
        with self._lock:
            self._watching.clear()
            faulthandler.cancel_dump_traceback_later()
            self._pause()
            return sum(self._used_s.values()), self._used_s[True]

    def _go_on(self, importing: bool) -> None:
        self._importing, self._since = importing, (time.process_time(), time.monotonic())
        wall_s = max(self._left[importing][1], 0.0) + LATER_S
        faulthandler.dump_traceback_later(wall_s, exit=True, file=self._fd)

    def _pause(self) -> None:
        cpu_s, wall_s = self._used()
        left_cpu_s, left_wall_s = self._left[self._importing]
        self._left[self._importing] = (left_cpu_s - cpu_s, left_wall_s - wall_s)
        self._used_s[self._importing] += cpu_s

    def _used(self) -> tuple[float, float]:
        cpu_s, started = self._since
        return time.process_time() - cpu_s, time.monotonic() - started

    def _watch(self) -> None:
        while self._watching.wait():
            time.sleep(TICK_S)
            with self._lock:
                if self._watching.is_set():
                    self._look()

    def _look(self) -> None:
        cpu_s, wall_s = self._left[self._importing]
        used_cpu_s, used_wall_s = self._used()
        if used_cpu_s > cpu_s:
            self._stop("import" if self._importing else "cpu")
        elif used_wall_s > wall_s:
            self._stop("import-wall" if self._importing else "wall")
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
