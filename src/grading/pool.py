"""Workers' pools: what a run hands to workers, how their work ended, and the plainest of pools.

A run gives each of its jobs to a `Pool`, which decides in which process the job's probe runs.
`LocalPool` (`local_pool.py`) serves students' computers; staff have one whose workers are confined.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import importing, wire, worker
from .errors import WireError
from .limits import Limits
from .paths import SRC
from .traces import forget
from .worker import MAX_OUTPUT_BYTES, READY

MAX_FRAME_BYTES = (
    wire.MAX_ANSWER_HEADER_BYTES
    + wire.MAX_ANSWER_BODY_BYTES
    + importing.MAX_NOTES_BYTES
    + 1024  # READY and the frame's prefix
)
START_S = 120.0  # importing torch from a cold disk
FLAGS = ("-P", "-s", "-B", "-X", "utf8")
REASONS = (
    "",
    "cpu",
    "wall",
    "import",
    "import-wall",
    "memory",
    "processes",
    "threads",
    "files",
    "abandoned",
)


@dataclass(frozen=True)
class Job:
    """One probe to run in one worker.

    Attributes:
        role: whose code runs, "submission" or "reference".
        torch: whether the probe needs torch.
        request: for the worker: probe ("module:function"), args, seed, submission (the staged
            folder), stuck (modules whose import hangs); code (for a debugger).
        work: the run's folder, in which the pool makes the job's scratch folder and removes it.
        fresh: whether it must have a worker that has run nothing else.
    """

    role: str
    torch: bool
    request: dict[str, Any]
    limits: Limits
    work: Path
    fresh: bool = False


@dataclass(frozen=True)
class Ending:
    """How a worker ended.

    `reason` is "" if it ended by itself, otherwise the limit that it hit ("abandoned": the grader
    ended). `import_s`: CPU seconds of imports, a part of `cpu_s` that has a limit of its own.
    """

    code: int  # exit status, meaningless when signal is not 0
    signal: int
    reason: str
    cpu_s: float
    wall_s: float
    memory_bytes: int
    import_s: float = 0.0


@dataclass(frozen=True)
class Finished:
    """How a worker ended, its frame if there is a complete one, prints, notes.

    `ready` tells whether it reached the student's code: any failure before that is the grader's.
    The frame is a view of what was read, so that an answer is never in memory twice. `used` tells
    whether the worker had done other jobs before.
    """

    ending: Ending
    ready: bool
    frame: bytes | memoryview | None
    output: str
    notes: importing.Notes = importing.read_notes(b"")
    stack: str = ""  # of a worker that timed out, as faulthandler writes it, if at all
    used: bool = False


class Pool(Protocol):
    """Runs jobs."""

    def run(self, job: Job) -> Finished: ...

    def warm(self, with_torch: bool) -> None:
        """Start what a job will need, so that libraries are imported meanwhile."""

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        """Get ready for a submission, and return facts for its results: what protects the run.

        Args:
            work: the run's folder.
            staged: the staged submission.
            private: files that its code must not read.

        Raises:
            UsageError, GradingError: it can't be run as it should.
        """

    def abandon(self) -> None:
        """End the running jobs, in whatever threads."""

    def close(self) -> None: ...


def clean_environment(hash_seed: int) -> dict[str, str]:
    """Build an environment from nothing: none of the user's variables reach student code."""
    environment = {
        "PYTHONHASHSEED": str(hash_seed % 2**32),
        "LC_ALL": "C.UTF-8",
        "PATH": os.defpath,
        # One thread everywhere, for reproducible sums and safe forks.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # What torch.compile is given is run as it is: compiling takes longer than a test may.
        "TORCHDYNAMO_DISABLE": "1",
    }
    for name in ("SYSTEMROOT", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        if name in os.environ:  # Windows can't start without the first; tests set the others
            environment[name] = os.environ[name]
    return environment


def command(code: str) -> list[str]:
    """Return the command that runs `code`, which can import `grading` but nothing of the user's."""
    return [sys.executable, *FLAGS, "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {code}"]


def read_answer(data: bytearray) -> tuple[importing.Notes, memoryview | None, memoryview]:
    """Return the notes in what a worker wrote, its frame if it is complete, and what follows."""
    view = memoryview(data)[len(READY) :]
    notes = importing.read_notes(bytes(view[: importing.MAX_NOTES_BYTES]))
    rest = view[notes.size :]
    try:
        frame = wire.find_frame(rest)
    except WireError:
        return notes, None, rest
    return notes, frame, rest[len(frame) :]


def text_of(data: bytes | bytearray | memoryview) -> str:
    """Return what a worker printed, or its stack, as text."""
    text = bytes(data[:MAX_OUTPUT_BYTES]).decode("utf-8", errors="replace")
    return text + "\n[... cut]" if len(data) >= MAX_OUTPUT_BYTES else text


@contextlib.contextmanager
def scratch_folder(work: Path) -> Iterator[Path]:
    """Make an empty folder for a job, and remove it with whatever the job left in it."""
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=work))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def is_debugged() -> bool:
    """Return whether an editor's debugger is attached, which stops only in this process."""
    return not {"debugpy", "pydevd"}.isdisjoint(sys.modules)


def in_process_line() -> str:
    """Return the line that says that tests run in this process, and what that means."""
    why = "A debugger is attached. " if is_debugged() else ""
    return f"{why}In-process: no isolation and no limits; this result does not count."


class InProcessPool:
    """Runs probes in the grader's own process, only for debugging (`--in-process`).

    In a checkout, the files themselves are imported, so that a debugger's breakpoints work. There
    is no isolation and there are no limits, so the result doesn't count, and can't be written to a
    file.
    """

    def run(self, job: Job) -> Finished:
        worker.preload(job.torch)
        root = Path(job.request["submission"])
        forget(root)
        before, path, finders = os.getcwd(), list(sys.path), list(sys.meta_path)
        with scratch_folder(job.work) as scratch:
            os.chdir(scratch)
            try:
                frame = worker.prepare(job.request, in_process=True)()
            finally:
                os.chdir(before)
                sys.path[:], sys.meta_path[:] = path, finders
                forget(root)
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        return {"authoritative": False, "layers": ["none: in process"]}

    def abandon(self) -> None:
        """Do nothing: the job ran in the thread that was interrupted."""

    def warm(self, with_torch: bool) -> None:
        """Do nothing: there is no process to start."""

    def close(self) -> None:
        """Do nothing: there is no process to end."""
