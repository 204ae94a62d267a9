"""What takes long to make is made once per run, and copied by each process that needs it."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

MADE = ".made"


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that the first process to ask for it fills; the others wait.

    Args:
        make: fills the folder, which is empty. If it raises, the next process tries it again.
    """
    base = factory.getbasetemp()
    if base.name.startswith("popen-"):  # a process of pytest-xdist, or of a pytest inside one
        base = base.parent  # that of all processes of this run
    folder = base / f"once-{name}"
    with FileLock(base / f"once-{name}.lock"):
        if not (folder / MADE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            (folder / MADE).touch()
    return folder
