"""Confinement of the workers that run student code (Linux); these names are its interface.

authority.py          what a run whose score counts requires, and how that is verified
pool.py               the pool; a zygote (zygote.py) forks guardians, and these fork workers
guardian.py           watches a worker, times its imports, and ends it
sandbox.py            what confines it: limits, Landlock and a filter (kernel.py,
                      system_calls.py), a user of its own (users.py)
leftovers.py          removes what it leaves
"""

import contextlib
import sys
import tempfile
from pathlib import Path

from grading.errors import GradingError

from . import authority
from .pool import ConfinedPool
from .sandbox import Layers, detect, hide_memory

__all__ = ["ConfinedPool", "Layers", "detect", "hide_memory", "is_available", "obstacles"]


def is_available() -> bool:
    """Return whether workers can be forked, and so confined: only on Linux.

    macOS's libraries break in forked children, and Windows has no fork.
    """
    return sys.platform == "linux"


def obstacles(layers: Layers) -> list[str]:
    """Try what student code must not do; return why no run here can be authoritative, if so."""
    with (
        contextlib.closing(ConfinedPool(0, layers)) as pool,
        tempfile.TemporaryDirectory(prefix="grading-", ignore_cleanup_errors=True) as folder,
    ):
        work, staged = Path(folder), Path(folder) / "staged"
        work.chmod(0o711)
        (staged / "submission").mkdir(parents=True)
        staged.chmod(0o755)
        try:
            return authority.obstacles(pool, layers, work, staged, ())
        except GradingError as error:
            return [str(error)]
