"""Pools of workers: what a run hands to workers, how their work ended, and the pools of students.

A run gives each of its jobs to a `Pool`, which decides in which process the job's probe runs. Staff
have another one, whose workers are confined. torch takes longer to import than most tests run, so a
worker of the `LocalPool` does job after job. After each it undoes what the job changed
(`worker.Traces`); if it can't, or if it ended, another takes its place.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import host

from . import SRC, wire, worker
from .errors import GradingError, WireError
from .worker import LIKE_NEW, MAX_OUTPUT_BYTES, READY, Limits, forget

MAX_FRAME_BYTES = (
    wire.MAX_ANSWER_HEADER_BYTES
    + wire.MAX_ANSWER_BODY_BYTES
    + wire.MAX_NOTES_BYTES
    + 1024  # READY and the frame's prefix
)
START_S = 120.0  # importing torch from a cold disk
TICK_S = 0.05
GRACE_S = 5.0  # for a worker that should have ended itself, or that undoes what a job changed
CHUNKS = 64  # of an answer, which wait to be read
FLAGS = ("-P", "-s", "-B", "-X", "utf8")
Kind = tuple[str, bool]  # of a worker: a job's role, and whether it needs torch


@dataclass(frozen=True)
class Job:
    """One probe to run in one worker."""

    role: str  # whose code runs, "submission" or "reference"
    torch: bool  # whether the probe needs torch
    # For the worker: probe ("module:function"), args, seed, submission (the staged folder), stuck
    # (modules whose import hangs); code (for a debugger).
    request: dict[str, Any]
    limits: Limits
    work: Path  # the run's folder, in which the pool makes and removes the job's scratch folder
    fresh: bool = False  # whether it must have a worker that has run nothing else


@dataclass(frozen=True)
class Ending:
    """How a job ended, and what it used; 0 where that can't be measured."""

    code: int = 0  # the process's exit status, meaningless when signal is not 0
    signal: int = 0
    reason: str = ""  # why it was ended, a key of `verdicts.BY_REASON`; "": it ended by itself
    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_bytes: int = 0
    import_s: float = 0.0  # CPU seconds of imports, a part of `cpu_s` with a limit of its own


@dataclass(frozen=True)
class Finished:
    """How a job ended, and what its worker left: frame, prints and notes."""

    ending: Ending
    ready: bool  # it reached the student's code: any failure before that is the grader's
    # If there is a complete one: a view of what was read, so that it is never in memory twice.
    frame: bytes | memoryview | None
    output: str
    notes: wire.Notes = wire.read_notes(b"")
    stack: str = ""  # of a worker that timed out, as faulthandler writes it, if at all
    used: bool = False  # whether the worker had done other jobs before


class Pool(Protocol):
    """Decides in which processes jobs run."""

    def run(self, job: Job) -> Finished: ...

    def warm(self, with_torch: bool) -> None:
        """Start what a job will need, so that libraries are imported meanwhile."""

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        """Get ready for a submission, whose code must not read `private` files.

        Returns:
            facts for its results: what protects the run.

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
        "MPLBACKEND": "Agg",  # pictures in memory; there is no screen
    }
    for name in ("SYSTEMROOT", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        if name in os.environ:  # Windows can't start without the first; tests set the others
            environment[name] = os.environ[name]
    return environment


def command(code: str) -> list[str]:
    """Return the command that runs `code`, which can import `grading` but nothing of the user's."""
    return [sys.executable, *FLAGS, "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {code}"]


def read_answer(data: bytearray) -> tuple[wire.Notes, memoryview | None, memoryview]:
    """Return the notes in what a worker wrote, its frame if it is complete, and what follows."""
    view = memoryview(data)[len(READY) :]
    notes = wire.read_notes(bytes(view[: wire.MAX_NOTES_BYTES]))
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


def make_scratch(work: Path) -> Path:
    """Make a job's folder, empty but for a copy of this user's lists of fonts.

    Without them, matplotlib looks through all fonts of the computer in each job that imports it.
    """
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=work))
    fonts = scratch / worker.FONTS
    fonts.mkdir()
    for path in font_lists():
        shutil.copyfile(path, fonts / path.name)
    return scratch


@functools.cache
def font_lists() -> tuple[Path, ...]:
    """Return where matplotlib has kept its lists of fonts for this user, one per version."""
    home = Path(os.path.expanduser("~"))
    local = Path(os.environ.get("LOCALAPPDATA", home))
    folders = home / ".cache" / "matplotlib", home / ".matplotlib", local / "matplotlib"
    found = {path for folder in folders for path in folder.glob("fontlist-*.json")}
    return tuple(path for path in found if path.is_file())


@contextlib.contextmanager
def scratch_folder(work: Path) -> Iterator[Path]:
    """Make a folder for a job, and remove it with whatever the job left in it."""
    scratch = make_scratch(work)
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
    is no isolation and there are no limits, so the result doesn't count.
    """

    def run(self, job: Job) -> Finished:
        worker.preload(job.torch)
        root = Path(job.request["submission"])
        forget(root)
        before, path, finders = os.getcwd(), list(sys.path), list(sys.meta_path)
        with scratch_folder(job.work) as scratch:
            os.chdir(scratch)
            try:
                frame = worker.prepare(job.request)()
            finally:
                os.chdir(before)
                sys.path[:], sys.meta_path[:] = path, finders
                forget(root)
        return Finished(Ending(), True, frame, "")

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        return {"authoritative": False, "layers": ["none: in process"]}

    def warm(self, with_torch: bool) -> None: ...

    def abandon(self) -> None: ...

    def close(self) -> None: ...


class LocalPool:
    """Workers of each kind: for submission or reference, with torch or without.

    The one of a kind that has done jobs does the next ones; a spare one has done none.
    """

    def __init__(self, hash_seed: int, always_fresh: bool = False) -> None:
        self._environment, self._always_fresh = clean_environment(hash_seed), always_fresh
        self._workers, self._spares = dict[Kind, Worker](), dict[Kind, Worker]()
        self._locks: defaultdict[Kind, threading.Lock] = defaultdict(threading.Lock)
        self._is_ended = False

    def run(self, job: Job) -> Finished:
        output, name = tempfile.mkstemp(prefix="output-", dir=job.work)
        try:
            with scratch_folder(job.work) as scratch, self._locks[job.role, job.torch]:
                places = {"scratch": str(scratch), "output": name}
                request = {**job.request, **places, "limits": asdict(job.limits)}
                finished = self._worker_for(job).run(replace(job, request=request))
            return replace(finished, output=_read_all(output) + finished.output)
        finally:
            os.close(output)
            with contextlib.suppress(OSError):  # on Windows, while a process has it open
                os.unlink(name)

    def warm(self, with_torch: bool) -> None:
        kind = "submission", with_torch
        with self._locks[kind]:
            if kind not in self._workers:
                self._workers[kind] = Worker(with_torch, self._environment)

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        return {"authoritative": False, "layers": ["processes of their own"]}

    def abandon(self) -> None:
        self._is_ended = True
        for each in (*self._workers.values(), *self._spares.values()):
            each.end()

    close = abandon

    def _worker_for(self, job: Job) -> Worker:
        if self._is_ended:  # Ctrl-C came while this thread was started: nobody waits for it
            raise GradingError("the workers have been ended")
        kind, fresh = (job.role, job.torch), job.fresh or self._always_fresh
        chosen = self._workers.get(kind) or Worker(job.torch, self._environment)
        if chosen.is_used or chosen.has_ended:
            if fresh or chosen.has_ended or not chosen.is_like_new():
                chosen.end()
                spare = self._spares.pop(kind, None)
                if spare is None or spare.has_ended:
                    spare = Worker(job.torch, self._environment)
                chosen = spare
            # One test alone needs no spare; it would take the time of the first.
            if kind not in self._spares:
                self._spares[kind] = Worker(job.torch, self._environment)
        self._workers[kind] = chosen
        return chosen


class Worker:
    """The grader's end of one worker."""

    def __init__(self, with_torch: bool, environment: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command(f"from grading import worker; worker.serve({with_torch})"),
            env=environment,
            cwd=tempfile.gettempdir(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self.is_used = False
        self._data = bytearray()
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=CHUNKS)
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, job: Job) -> Finished:
        """Do a job; a worker that doesn't answer in time is ended."""
        used, self.is_used, self._data = self.is_used, True, bytearray()
        with contextlib.suppress(OSError):  # it has ended, which its answer tells
            self._requests.write(wire.encode(job.request))
            self._requests.flush()
        ready = self._receive(lambda: self._data.startswith(READY), START_S)
        started, most_s = time.monotonic(), job.limits.total_wall_s + GRACE_S
        answered = ready and self._receive(lambda: read_answer(self._data)[1] is not None, most_s)
        wall_s = time.monotonic() - started
        late = wall_s >= most_s
        code = 0 if answered else self.end(0.0 if late else GRACE_S)
        notes, frame, rest = read_answer(self._data)
        stack = "" if answered else text_of(rest)
        reason = "" if answered else _reason(notes, stack, late)
        ending = Ending(max(code, 0), max(-code, 0), reason, notes.cpu_s, wall_s, 0, notes.import_s)
        self._data = bytearray(rest)
        said = "" if ready else _read_all(self._errors.fileno())
        return Finished(ending, ready, frame, said, notes, stack, used)

    @property
    def has_ended(self) -> bool:
        """Whether it is gone, as after a lack of memory while nothing ran."""
        return self._process.poll() is not None

    def is_like_new(self) -> bool:
        """Return whether nothing of the last job is left in it."""
        return self._receive(lambda: bool(self._data), GRACE_S) and self._data == LIKE_NEW

    def end(self, most_s: float = 0.0) -> int:
        """End it, after `most_s`, and what it started; return its status, negative for a signal."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(most_s)
        host.kill_session(self._process)
        with contextlib.suppress(OSError):
            self._requests.close()
        return self._process.wait()

    def _read(self) -> None:
        with self._answers:
            while chunk := os.read(self._answers.fileno(), 1 << 16):
                self._chunks.put(chunk)
        self._chunks.put(b"")

    def _receive(self, is_complete: Callable[[], bool], most_s: float) -> bool:
        """Read until an answer is complete; return False if it ends, or time is over, before."""
        until = time.monotonic() + most_s
        while not is_complete():
            ended = self._process.poll() is not None
            try:
                chunk = self._chunks.get(timeout=TICK_S)
            except queue.Empty:
                if ended or time.monotonic() > until:
                    return False
                continue
            if not chunk or len(self._data) > MAX_FRAME_BYTES:
                return False
            self._data += chunk
        return True


def _read_all(file: int) -> str:
    """Return what was printed to a file, from its beginning."""
    os.lseek(file, 0, os.SEEK_SET)
    return text_of(os.read(file, MAX_OUTPUT_BYTES))


def _reason(notes: wire.Notes, stack: str, late: bool) -> str:
    """Return the limit that a worker without an answer hit, as in `Ending`."""
    if stack.startswith("Timeout ("):  # C code, or the worker's own thread would have stopped it
        return "import" if notes.importing else "cpu"
    if late:
        return "import-wall" if notes.importing else "wall"
    return notes.limit
