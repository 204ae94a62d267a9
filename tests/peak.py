"""Measure the peak memory of a process that a test starts (Linux), by code put before its own.

It does not use getrusage, whose peak includes that of pytest, from before exec.
"""

from pathlib import Path

import grading
from tests.interpreter import python

HEAD = """
import sys
sys.path.insert(0, sys.argv[1])
def peak_kib():
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
"""


def growth_kib(code: str, *arguments: str | Path) -> int:
    """Run `code` with these as sys.argv[2:]; return the growth of peak_kib(): its last output."""
    ran = python(grading.ROOT, "-c", HEAD + code, grading.SRC, *arguments, check=True)
    return int(ran.stdout.splitlines()[-1])
