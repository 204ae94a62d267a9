"""Checks that folders that workers may read contain no secrets: solutions, answers, results.

Landlock opens whole folders of libraries. If a course is below one of them (in /usr/src, or in the
folder of the Python environment), its solutions are readable with the libraries. A bind mount may
also bring them there; links don't, since the kernel follows them first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import sandbox

MOUNTS = Path("/proc/self/mountinfo")


def exposed(layers: sandbox.Layers, secrets: Iterable[str | Path]) -> list[str]:
    """List the folders of libraries that expose secrets to workers, each with one such secret.

    Without Landlock, no folder is opened because none is closed: files are then protected by the
    tests' uids, or not at all (`Layers.missing`).

    Args:
        secrets: files and folders, including those that don't exist yet.
    """
    if not layers.landlock_abi:
        return []
    folders = sorted({os.path.realpath(f) for f in sandbox.readable_by_all() if os.path.exists(f)})
    mounts = _mounts()
    found: dict[str, str] = {}
    for secret in secrets:
        for place in _places(os.path.realpath(secret), mounts):
            opened = next((f for f in folders if _meet(place, f)), None)
            if opened and not (layers.root and _is_closed(place)):
                found.setdefault(opened, place)
    return [
        f"the submission's code could read {place}, because it may read {opened} for libraries"
        for opened, place in found.items()
    ]


@dataclass(frozen=True)
class _Mount:
    device: str
    root: str  # the folder of the file system that is mounted ...
    point: str  # ... and where


def _mounts() -> list[_Mount]:
    """List this process's mounts, later ones above earlier ones; see proc_pid_mountinfo(5)."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
    rows = [line.split(" ") for line in lines]
    paths = [row for row in rows if row[3].startswith("/")]  # namespaces are mounted by other names
    return [_Mount(row[2], _unescape(row[3]), _unescape(row[4])) for row in paths]


def _unescape(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _places(path: str, mounts: list[_Mount]) -> list[str]:
    """Return a real path, and the other places at which bind mounts show it or a part of it."""
    above = [m for m in mounts if _is_below(path, m.point)]
    if not above:
        return [path]
    own = max(reversed(above), key=lambda m: len(m.point))
    inner = os.path.normpath(os.path.join(own.root, os.path.relpath(path, own.point)))
    places = [path]
    for mount in mounts:
        if mount.device != own.device or mount == own:
            continue
        if _is_below(inner, mount.root):
            here, there = path, os.path.relpath(inner, mount.root)
            there = os.path.normpath(os.path.join(mount.point, there))
        elif _is_below(mount.root, inner):
            here = os.path.normpath(os.path.join(path, os.path.relpath(mount.root, inner)))
            there = mount.point
        else:
            continue
        if _same(here, there):  # otherwise another mount covers it
            places.append(there)
    return places


def _same(one: str, other: str) -> bool:
    """Return whether two paths lead to the same file; its folder counts if it doesn't exist yet."""
    try:
        if os.path.exists(one):
            return os.path.samefile(one, other)
        return os.path.samefile(os.path.dirname(one), os.path.dirname(other))
    except OSError:
        return False


def _meet(place: str, folder: str) -> bool:
    """Return whether a readable folder contains the place, or is inside it."""
    return _is_below(place, folder) or _is_below(folder, place)


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def _is_closed(path: str) -> bool:
    """Return whether file permissions keep out other users, such as a test with its own uid."""
    try:
        needed = 0o005 if os.path.isdir(path) else 0o004
        own = os.stat(path).st_mode & needed != needed
        return own or any(not parent.stat().st_mode & 0o001 for parent in Path(path).parents)
    except FileNotFoundError:
        return True  # results, which only their owner can read
