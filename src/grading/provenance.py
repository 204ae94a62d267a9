"""What was graded, when, and with which versions."""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import platform
from importlib import metadata

from .staging import Staged

PACKAGES = ("torch", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of the interpreter, the system and the libraries that compute."""
    found = {"python": platform.python_version(), "system": platform.platform()}
    return found | {name: _version(name) for name in PACKAGES}


def digests(staged: Staged) -> dict[str, str]:
    """Return the SHA-256 of each file that was copied from a submission, by its staged name."""
    found = {}
    for name in sorted(staged.taken):
        with open(staged.root / name, "rb") as reader:
            found[name] = hashlib.file_digest(reader, "sha256").hexdigest()
    return found


def digest_of(files: dict[str, str]) -> str:
    """Return one hash for all files of a submission: names and contents."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode("utf-8", errors="surrogateescape")).hexdigest()


def now() -> str:
    """Return the current time for a result: `2027-01-30 18:02 UTC`."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def has_torch() -> bool:
    """Return whether this Python has torch; without it, only tests that need none can run."""
    return importlib.util.find_spec("torch") is not None


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
