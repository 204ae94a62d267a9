"""Run the tests as two processes side by side, one a core: what needs a trained project, and the
rest.

    python -m tests.in_two [ARGUMENT OF PYTEST...]

With arguments one process runs what they select. The second's output follows the first's.
Exit code: 0 when both are green, else that of the one that is not.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# These share the fixtures tree, demo and released of conftest.py, which are made once a process.
TRAINED = (
    "gradescope",
    "handout",
    "student",
    "test_compare.py",
    "test_end_to_end.py",
    "test_notebooks.py",
    "test_report.py",
)
# As strict as the interpreter that runs this.
FLAGS = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]


def pytest(*arguments: str) -> list[str]:
    """The command."""
    return [sys.executable, *FLAGS, "-m", "pytest", *arguments]


def main(arguments: list[str]) -> int:
    """Run one process or two."""
    if arguments:
        return subprocess.run(pytest(*arguments)).returncode
    paths = [f"tests/{name}" for name in TRAINED]
    with tempfile.TemporaryFile() as kept:
        rest = subprocess.Popen(
            pytest("-p", "no:cacheprovider", *(f"--ignore={path}" for path in paths)),
            stdout=kept,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        try:
            first = subprocess.run(pytest(*paths)).returncode
            second = rest.wait()
        finally:
            rest.kill()
            kept.seek(0)
            print(kept.read().decode("utf-8", errors="replace"), flush=True)
    return first or second


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
