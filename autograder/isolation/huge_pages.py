"""Moves this process's memory into huge pages, so that forking it is cheap (Linux).

A fork copies a table with an entry for each page of memory that was written to. After importing
torch there are 70,000 such pages of 4 KiB, and copying their entries takes longer than many tests;
with pages of 2 MiB there are 512 times fewer.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

MAPS = Path("/proc/self/maps")
LINE = re.compile(
    r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(|\[heap\])"
)  # memory not backed by a file
HUGE_BYTES = 2 << 20  # on x86-64 and arm64, with base pages of 4 KiB
MADV_COLLAPSE = 25  # Linux >= 6.1; other kernels refuse, and nothing changes


def collapse() -> None:
    """Ask the kernel for huge pages instead of small ones; this takes half a second of CPU."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        for line in MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
            if (found := LINE.fullmatch(line)) is None:
                continue
            start, stop = (int(word, 16) // HUGE_BYTES for word in found.group(1, 2))
            size = (stop - start - 1) * HUGE_BYTES
            if size > 0:
                address = ctypes.c_void_p((start + 1) * HUGE_BYTES)
                libc.madvise(address, ctypes.c_size_t(size), MADV_COLLAPSE)
