"""What judged a result, so that the run can be repeated: files and versions."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import importlib.util
import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from . import paths
from .staging import Provided, Staged

PACKAGES = ("torch", "numpy")
CPUINFO = Path("/proc/cpuinfo")
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # which torch's kernels use
KERNELS = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")  # variables that choose among them


def judged_by(provided: Provided) -> str:
    """Hash all files that decide a verdict: tests, harness, data, reference, answers.

    The hash is the same in a checkout and in the release that was built from it.
    """
    digest = hashlib.sha256()
    for path in sorted(files(provided)):
        digest.update(f"\0{Path(os.path.relpath(path, paths.ROOT)).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def files(provided: Provided) -> Iterator[Path]:
    """Yield all files that decide a verdict."""
    yield paths.ASSIGNMENT
    yield paths.SRC / "grader.py"
    for folder in (paths.SRC / "grading", paths.QUESTIONS):
        yield from (p for p in folder.rglob("*") if p.suffix in (".py", ".json"))
    yield from (p for p in paths.DATA.glob("*") if p.is_file())
    for name in provided.packages:
        yield from (paths.SRC / name).glob("*.py")
    given = (paths.SRC / "submission" / name for name in provided.given)
    yield from (path for path in given if path.is_file())
    yield from (paths.SOLUTIONS / "submission").glob("*.py")
    yield from paths.HIDDEN.glob("*.py")
    yield from paths.ANSWERS.glob("*.tsv")


def versions() -> dict[str, str]:
    """Return the versions of the interpreter, the system and the libraries that compute."""
    found = {"python": platform.python_version(), "system": platform.platform()}
    return found | {name: _version(name) for name in PACKAGES}


def processor() -> str:
    """Return the kind of processor, as far as it can change the last bits of a sum.

    This is its name, its instruction sets, and which of them the environment lets libraries use.
    """
    found = {"model name": platform.processor() or platform.machine(), "flags": ""}
    with contextlib.suppress(OSError):  # only Linux has it
        for line in reversed(CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()):
            name, _, value = line.partition(":")
            found[name.strip()] = value.strip()
    kinds = [kind for kind in INSTRUCTIONS if kind in found["flags"].split()]
    told = [os.environ[name] for name in KERNELS if name in os.environ]
    return " ".join([found["model name"], *kinds, *told])


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
