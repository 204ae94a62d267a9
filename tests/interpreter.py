"""How tests start Python and other programs, or run a command in their own process."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

# What this suite's own process has in its environment, and what it starts shall not.
OUTER = ("PYTHONPATH", "PYTEST_XDIST_WORKER")


def captured(
    words: Sequence[str | Path], folder: Path, **keywords
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; both streams are captured as UTF-8 text.

    Keyword arguments are those of subprocess.run.
    """
    usual = {"cwd": folder, "capture_output": True, "encoding": "utf-8"}
    usual["stdin"] = subprocess.DEVNULL
    return subprocess.run(words, **usual | keywords)


def python(folder: Path, *arguments: str | Path, **keywords) -> subprocess.CompletedProcess:
    """Run `python ARGUMENT...` in a folder, as `captured` does."""
    inner = {k: v for k, v in os.environ.items() if k not in OUTER}
    return captured([sys.executable, *arguments], folder, **{"env": inner} | keywords)


def python_after(
    statements: str, folder: Path, *arguments: str | Path, **keywords
) -> subprocess.CompletedProcess:
    """Run `python src/COMMAND.py ARGUMENT...` in a folder, after some statements."""
    command = "sys.path.insert(0, 'src'); sys.argv = sys.argv[1:]"
    run = "runpy.run_path(sys.argv[0], run_name='__main__')"
    code = "\n".join(["import runpy, sys", statements, command, run])
    return python(folder, "-c", code, *arguments, **keywords)


def without(*packages: str) -> str:
    """Return a statement after which these packages can't be imported."""
    return f"sys.modules.update(dict.fromkeys({packages!r}))"


def call(
    main: Callable[[list[str]], int], capture: pytest.CaptureFixture, *arguments: str
) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors of a command's `main`."""
    try:
        code = main(list(arguments))
    except SystemExit as ended:  # argparse's
        code = ended.code
    out, err = capture.readouterr()
    assert "Traceback" not in err
    return code, out, err
