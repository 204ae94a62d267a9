"""Puts what this process holds into huge pages, so that forks of it are cheap (Linux).

A fork copies a table with an entry for each page of memory that was written to. After importing
torch these are 70,000 pages of 4 KiB, and copying their entries takes longer than many a test;
with pages of 2 MiB there are 512 times fewer.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

MAPS = Path("/proc/self/maps")
LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *(|\[heap\])")  # memory of no file
HUGE_BYTES = 2 << 20  # x86-64's and arm64's, with base pages of 4 KiB
MADV_COLLAPSE = 25  # Linux >= 6.1; others refuse, and all stays as it was


def collapse() -> None:
    """Ask the kernel for huge pages in place of small ones; it takes half a second of CPU."""
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
