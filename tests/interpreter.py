"""How tests start Python: as strictly as the suite itself."""

import os
import subprocess
import sys
from pathlib import Path

# The flags of every interpreter that tests start: a file opened without its encoding is an error,
# except in matplotlib, which opens its list of fonts so.
ALLOWED = "ignore::EncodingWarning:matplotlib.font_manager"
STRICT = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-W", ALLOWED)

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
    return subprocess.run([sys.executable, *STRICT, *arguments], **keywords)
