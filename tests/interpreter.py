"""How tests start Python."""

import os
import subprocess
import sys
from pathlib import Path

# What this suite's own process has in its environment, and what it starts shall not.
OUTER = ("PYTHONPATH", "PYTEST_XDIST_WORKER")


def python(folder: Path, *arguments: str | Path, **keywords) -> subprocess.CompletedProcess:
    """Run `python ARGUMENT...` in a folder.

    Keyword arguments are those of subprocess.run; both streams are captured as UTF-8 text.
    """
    keywords = {
        "cwd": folder,
        "capture_output": True,
        "encoding": "utf-8",
        "stdin": subprocess.DEVNULL,
        "env": {k: v for k, v in os.environ.items() if k not in OUTER},
        "check": False,
        **keywords,
    }
    return subprocess.run([sys.executable, *arguments], **keywords)
