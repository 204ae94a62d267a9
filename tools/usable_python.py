"""Check for tools/setup.sh whether .venv can be created with the interpreter that runs this file.

    uv=FILE-OR-NOTHING python3.12 -I tools/usable_python.py

Prints `ok FILE`, with the interpreter to create .venv from, or `no REASON`. A virtual environment
only links to that interpreter. If root creates it, the grader's workers run as other users, who
must be able to execute it.

Old interpreters must be able to parse this file, too, so that they print their reason.
"""

import os
import sys


def refusal(base: str) -> str:
    """Return why the interpreter (`base`, links resolved) is not usable; empty if it is."""
    if sys.version_info < (3, 11):  # noqa: UP036
        version = ".".join(str(number) for number in sys.version_info[:2])
        return "is Python " + version + ", expected 3.11 or newer"
    if os.geteuid() == 0:
        for name in (base, os.path.realpath(os.__file__)):
            closed = closed_folder(name)
            if closed:
                return "lies below " + closed + ", which other users cannot enter"
        if not os.stat(base).st_mode & 1:
            return "may not be executed by other users"
    if not os.environ["uv"]:
        try:
            import ensurepip  # noqa: F401
            import venv  # noqa: F401
        except ImportError:
            return "lacks venv or ensurepip (install uv, or on Debian python3-venv)"
    return ""


def closed_folder(name: str) -> str:
    """Return the innermost folder above a file that other users cannot enter; empty if none."""
    folder = os.path.dirname(name)
    while os.stat(folder).st_mode & 1:
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


if __name__ == "__main__":
    base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    reason = refusal(base)
    print("no " + reason if reason else "ok " + (base if os.geteuid() == 0 else sys.executable))
