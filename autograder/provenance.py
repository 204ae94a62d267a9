"""What judged a result, so that the run can be repeated: a hash of files, the processor."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from grading import paths
from grading.edition import Assignment, to_json
from grading.staging import Provided

from . import solutions

DESCRIPTION = paths.ROOT / "autograder" / "description.py"  # only in a checkout
CPUINFO = Path("/proc/cpuinfo")
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # which torch's kernels use
KERNELS = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")  # variables that choose among them


def judged_by(assignment: Assignment, provided: Provided) -> str:
    """Hash all that decides a verdict: description, tests, harness, data, reference, answers.

    The hash is the same in a checkout and in the release that was built from it.
    """
    digest = hashlib.sha256(to_json(assignment))
    for path in sorted(files(provided)):
        digest.update(f"\0{Path(os.path.relpath(path, paths.ROOT)).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def files(provided: Provided) -> Iterator[Path]:
    """Yield all files that decide a verdict."""
    yield paths.SRC / "grader.py"
    for folder in (paths.SRC / "grading", paths.QUESTIONS, paths.ROOT / "autograder"):
        found = (p for p in folder.rglob("*") if p.suffix in (".py", ".json", ".toml"))
        yield from (p for p in found if p != DESCRIPTION)
    yield from (p for p in paths.DATA.glob("*") if p.is_file())
    for name in provided.packages:
        yield from (paths.SRC / name).glob("*.py")
    given = (paths.SRC / "submission" / name for name in provided.given)
    yield from (path for path in given if path.is_file())
    yield from (paths.SOLUTIONS / "submission").glob("*.py")
    yield from solutions.HIDDEN.glob("*.py")
    yield from solutions.ANSWERS.glob("*.tsv")


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
