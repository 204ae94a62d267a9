"""Run the tests as three processes side by side.

    python -m tests.side_by_side [ARGUMENT OF PYTEST...]

What needs a trained project waits half of its time, in emulated containers with half a CPU; two
more processes, for what students get and for the rest, keep the cores busy meanwhile. With
arguments one process runs what they select. Output of the second and the third follows the first's.
Exit code: 0 when all are green, else that of the first that is not.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from tests.interpreter import STRICT

HERE = Path(__file__).resolve().parent
# These share the fixtures demo and released of conftest.py, which are made once a process.
TRAINED = (
    "gradescope",
    "handout/test_release.py",
    "test_end_to_end.py",
    "test_github.py",
)
GIVEN = (
    "handout/test_edits.py",
    "handout/test_sheet.py",
    "handout/test_typeset.py",
    "student",
    "test_compare.py",
    "test_notebooks.py",
    "test_report.py",
)


def pytest(*arguments: str) -> list[str]:
    """Return the command."""
    return [sys.executable, *STRICT, "-m", "pytest", *arguments]


def main(arguments: list[str]) -> int:
    """Run one process or three."""
    if arguments:
        return subprocess.run(pytest(*arguments)).returncode
    trained, given = ([f"tests/{name}" for name in names] for names in (TRAINED, GIVEN))
    others = [f"--ignore={path}" for path in (*trained, *given)]
    with tempfile.TemporaryFile() as kept, tempfile.TemporaryFile() as kept_too:
        files = {kept: given, kept_too: others}
        beside = [_start(paths, file) for file, paths in files.items()]
        try:
            codes = [subprocess.run(pytest(*trained)).returncode]
            codes += [process.wait() for process in beside]
        finally:
            for process, file in zip(beside, files, strict=True):
                process.kill()
                file.seek(0)
                print(file.read().decode("utf-8", errors="replace"), flush=True)
    return next((code for code in codes if code), 0)


def _start(paths: list[str], file: IO) -> subprocess.Popen:
    return subprocess.Popen(
        pytest("-p", "no:cacheprovider", *paths),
        stdout=file,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
