"""What a run whose score counts requires of its confinement, and how that is verified.

Required are a separate process and uid for each test (and therefore Linux and root), limits,
no_new_privs, secrets that the tests' uids can't read, and no network; Landlock and seccomp if the
kernel has them. A canary in a worker tries to read, write, signal and open sockets as student code
must not, and any success is a grader error. So is a submitted link to the solutions that was
followed.

Landlock opens whole folders of libraries, which must contain no secrets: solutions, answers,
results. A course may be below one of them (in /usr/src, or in the folder of the Python
environment), and a bind mount may bring it there; links don't, since the kernel follows them first.
"""

import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import grading
from grading import wire
from grading.errors import GradingError, SubmissionError, WireError
from grading.pool import Job, Pool
from grading.staging import stage
from grading.worker import Context, Limits

from .. import solutions
from . import leftovers, sandbox

MOUNTS = Path("/proc/self/mountinfo")
# The secrets read, the folders written to, the processes reached, the kinds of socket opened; and
# whether the scratch folder could be written to.
CANARY = {"read": [str], "written": [str], "signalled": [int], "sockets": [str], "scratch": bool}
CANARY_CPU_S = 10.0
SOCKETS = {"TCP": socket.AF_INET, "Unix": socket.AF_UNIX}
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
    """List what student code must not read; UsageError: this user can't read the solutions."""
    solutions.refuse_closed()
    found = [grading.SOLUTIONS, solutions.ANSWERS, *sorted(solutions.ANSWERS.glob("*"))]
    for code in (solutions.HIDDEN, grading.SOLUTIONS / "submission"):
        found += [code, *sorted(code.glob("*.py"))]
    return [str(path) for path in [*found, *private] if path.exists()]


def obstacles(
    pool: Pool, layers: sandbox.Layers, work: Path, staged: Path, private: Sequence[Path]
) -> list[str]:
    """Send a canary, and return why a run can't be authoritative, if so."""
    found = faults(layers, send_canary(pool, work, staged, private))
    return found + exposed(layers, [*secrets(), *private])


def send_canary(pool: Pool, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
    """Run the canary like a test, and submit links; return what succeeded.

    GradingError: the canary did not return.
    """
    folders = {work, staged, grading.SRC, grading.ROOT, grading.DATA}
    args = {
        "secrets": secrets(private),
        "folders": [str(path) for path in folders | {path.parent for path in private}],
        "pids": [os.getpid(), os.getppid()],
    }
    probe = f"{__name__}:try_everything"
    request = {"probe": probe, "args": args, "seed": 0, "submission": str(staged)}
    finished = pool.run(Job("submission", False, request, Limits.for_test(CANARY_CPU_S), work))
    try:
        value = wire.decode(finished.frame or b"").get("value")
        wire.check(value, CANARY)
    except (WireError, AttributeError) as error:
        raise GradingError(f"the canary did not return: {error}; {finished.output}") from None
    return value | {"linked": hand_in_links(work)}


def hand_in_links(work: Path) -> list[str]:
    """Try to submit the reference as a link; return the places of links that were followed."""
    followed = []
    for number, (name, target) in enumerate(LINKS.items()):
        upload, staged = work / f"canary-upload-{number}", work / f"canary-staged-{number}"
        (upload / name).parent.mkdir(parents=True)
        (upload / name).symlink_to(grading.SOLUTIONS / target)
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


# The canary, which runs in a worker ---------------------------------------------------------------


def try_everything(
    context: Context, secrets: list[str], folders: list[str], pids: list[int]
) -> dict[str, Any]:
    """Try, in a worker like student code, what it must not do; return what succeeded, as CANARY.

    Only to write to the scratch folder should succeed.
    """
    return {
        "read": [path for path in secrets if any(_ways_to_read(path))],
        "written": [path for path in folders if _works(_write, path)],
        "signalled": [pid for pid in pids if _works(os.kill, pid, 0)],
        "sockets": [kind for kind, family in SOCKETS.items() if _works(socket.socket, family)],
        "scratch": _works(_write, str(context.scratch)),
    }


def _works(attempt: Callable[..., Any], *arguments: Any) -> bool:
    try:
        attempt(*arguments)
    except OSError:
        return False
    return True


def _ways_to_read(path: str) -> Iterator[bool]:
    """Yield whether each way to read a file or folder works: by its name, or through a link."""
    yield _works(_read, path)
    for make in (os.symlink, os.link):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            link = os.path.join(folder, "link")
            yield _works(make, path, link) and _works(_read, link)


def _read(path: str) -> None:
    if os.path.isdir(path):
        os.listdir(path)
    else:
        with open(path, "rb") as reader:
            reader.read(1)


def _write(folder: str) -> None:
    path = os.path.join(folder, f"canary-{os.getpid()}")
    with open(path, "wb"):
        pass
    os.unlink(path)


# Secrets in folders of libraries ------------------------------------------------------------------


def exposed(layers: sandbox.Layers, secrets: Iterable[str | Path]) -> list[str]:
    """List the folders of libraries that expose secrets to workers, each with one such secret.

    Secrets may not exist yet. Without Landlock, no folder is opened because none is closed: files
    are then protected by the tests' uids, or not at all (`Layers.missing`).
    """
    if not layers.landlock_abi:
        return []
    folders = sorted({os.path.realpath(f) for f in sandbox.readable_by_all() if os.path.exists(f)})
    lines = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    # Blanks and the like are in octal, see proc_pid_mountinfo(5).
    points = [
        re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), line.split(" ")[4])
        for line in lines
    ]
    mounts = [p for p in points if _identity(p) and any(_meet(p, f) for f in folders)]
    real = dict.fromkeys(map(os.path.realpath, secrets))
    found: dict[str, str] = {}
    for secret in real:
        if any(str(parent) in real for parent in Path(secret).parents):
            continue  # it is where the other one is
        for place in _places(secret, mounts):
            opened = next((f for f in folders if _meet(place, f)), None)
            if opened and not (layers.root and _is_closed(place)):
                found.setdefault(opened, place)
    return [
        f"the submission's code could read {place}, because it may read {opened} for libraries"
        for opened, place in found.items()
    ]


def _places(path: str, mounts: list[str]) -> list[str]:
    """Return a real path, and the other places at which mounts show it or a part of it."""
    around = {_identity(folder): str(folder) for folder in (Path(path), *Path(path).parents)}
    inside = {
        _identity(os.path.join(folder, name))
        for folder, folders, files in os.walk(path)
        for name in (*folders, *files)
    }
    places = [path]
    for point in mounts:
        shown = _identity(point)
        if shown in around:
            place = os.path.normpath(os.path.join(point, os.path.relpath(path, around[shown])))
            if _identity(place) == _identity(path):  # otherwise another mount covers it
                places.append(place)
        elif shown in inside:
            places.append(point)
    return places


def _identity(path: str | Path) -> tuple[int, int] | None:
    """Return what no other file or folder has; None if there is none here."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _meet(place: str, folder: str) -> bool:
    """Return whether a readable folder contains the place, or is inside it."""
    return os.path.commonpath([place, folder]) in (place, folder)


def _is_closed(path: str) -> bool:
    """Return whether file permissions keep out other users, such as a test with its own uid."""
    try:
        # Who may enter a folder may read what it contains, although they can't list it.
        needed = 0o001 if os.path.isdir(path) else 0o004
        own = not os.stat(path).st_mode & needed
        return own or any(not parent.stat().st_mode & 0o001 for parent in Path(path).parents)
    except FileNotFoundError:
        return True  # results, which only their owner can read
