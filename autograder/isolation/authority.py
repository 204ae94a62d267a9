"""An authoritative run: one whose score counts, and its requirements.

Required are a separate process and uid for each test (and therefore Linux and root), limits,
no_new_privs, secrets that the tests' uids can't read, and no network. Landlock and seccomp are used
if the kernel has them, and reported as missing otherwise. All of this is verified: a canary in a
worker tries each forbidden action, and any success is a grader error. So is a submitted link to the
solutions that was followed.

Folders that workers may read must contain no secrets: solutions, answers, results. Landlock opens
whole folders of libraries. If a course is below one of them (in /usr/src, or in the folder of the
Python environment), its solutions are readable with the libraries. A bind mount may also bring them
there; links don't, since the kernel follows them first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading import wire
from grading.errors import GradingError, SubmissionError, UsageError, WireError
from grading.limits import Limits
from grading.pool import Job, Pool
from grading.staging import stage

from .. import paths
from . import leftovers, sandbox

MOUNTS = Path("/proc/self/mountinfo")
CANARY = {"read": [str], "written": [str], "signalled": [int], "sockets": [str], "scratch": bool}
CANARY_CPU_S = 10.0
# Where an upload may contain a link, and the part of the solutions' folder to which it leads.
LINKS = {
    "submission": "submission",
    "src": ".",
    "src/submission": "submission",
    "wrapping": ".",
    "wrapping/submission": "submission",
    "submission/dataset.py": "submission/dataset.py",
    "deep/er/Submission (1)": "submission",
    "deep/er": ".",
}


def secrets(private: Sequence[Path] = ()) -> list[str]:
    """List what student code must not read: solutions, answers, results being written, ...

    Raises:
        UsageError: this user can't read the solutions.
    """
    paths.refuse_closed_solutions()
    found = [paths.SOLUTIONS, paths.ANSWERS, *sorted(paths.ANSWERS.glob("*"))]
    for code in (paths.HIDDEN, paths.SOLUTIONS / "submission"):
        found += [code, *sorted(code.glob("*.py"))]
    return [str(path) for path in [*found, *private] if path.exists()]


def require(
    pool: Pool,
    layers: sandbox.Layers,
    authoritative: bool,
    work: Path,
    staged: Path,
    private: Sequence[Path],
) -> dict[str, Any]:
    """Refuse a run that the pool can't protect; return which layers protect it.

    Raises:
        UsageError: the submission's code could read secrets among the libraries.
        GradingError: the run was to be authoritative, and can't be.
    """
    facts = {"authoritative": authoritative, "layers": layers.names()}
    if authoritative:
        if found := obstacles(pool, layers, work, staged, private):
            raise GradingError("this run can't be authoritative: " + "; ".join(found))
        return facts | {"missing": layers.missing()}
    if paths.HIDDEN.exists():  # without judges, there are no secrets
        for open_to_code in exposed(layers, [*secrets(), *private]):
            raise UsageError(f"{open_to_code}; move it elsewhere before grading")
    return facts


def obstacles(
    pool: Pool, layers: sandbox.Layers, work: Path, staged: Path, private: Sequence[Path]
) -> list[str]:
    """Send a canary, and return why a run can't be authoritative, if so."""
    found = faults(layers, send_canary(pool, work, staged, private))
    return found + exposed(layers, [*secrets(), *private])


def send_canary(
    pool: Pool, work: Path, staged: Path, private: Sequence[Path] = ()
) -> dict[str, Any]:
    """Run the canary like a test, and submit links; return what it could do.

    Raises:
        GradingError: it didn't return.
    """
    parents = [path.parent for path in private]
    args = {
        "secrets": secrets(private),
        "folders": [str(p) for p in {work, staged, paths.SRC, paths.ROOT, paths.DATA, *parents}],
        "pids": [os.getpid(), os.getppid()],
    }
    request = {
        "probe": "autograder.isolation.canary:try_everything",
        "args": args,
        "seed": 0,
        "submission": str(staged),
    }
    job = Job("submission", False, request, Limits.for_test(CANARY_CPU_S), work)
    finished = pool.run(job)
    try:
        envelope = wire.decode(finished.frame or b"")
        wire.check(envelope.get("value"), CANARY)
    except (WireError, AttributeError) as error:
        raise GradingError(f"the canary did not return: {error}; {finished.output}") from None
    return envelope["value"] | {"linked": hand_in_links(work)}


def hand_in_links(work: Path) -> list[str]:
    """Try to submit the reference as a link; return the places of links that were followed."""
    followed = []
    for number, (name, target) in enumerate(LINKS.items()):
        upload, staged = work / f"canary-upload-{number}", work / f"canary-staged-{number}"
        (upload / name).parent.mkdir(parents=True)
        (upload / name).symlink_to(paths.SOLUTIONS / target)
        try:
            stage(upload, staged)
            followed.append(name)
        except SubmissionError:
            continue
        finally:
            leftovers.remove_tree(upload)
            leftovers.remove_tree(staged)
    return followed


def faults(layers: sandbox.Layers, canary: dict[str, Any]) -> list[str]:
    """List the reasons why a run can't be authoritative here; none if it can."""
    found = [] if layers.root else [f"tests have no uid of their own ({layers.obstacle})"]
    found += [f"student code can read {path}" for path in canary["read"]]
    found += [f"student code can write to {path}" for path in canary["written"]]
    found += [f"student code can signal process {pid}" for pid in canary["signalled"]]
    found += [f"student code can open {kind} sockets" for kind in canary["sockets"]]
    found += [f"{name} can be submitted as a link to the solutions" for name in canary["linked"]]
    return found + ([] if canary["scratch"] else ["student code can't write to its scratch folder"])


# Secrets in folders of libraries ------------------------------------------------------------------


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
