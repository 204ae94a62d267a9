"""Workers' pools: what a run hands to workers, how their work ended, and the plainest of pools.

A run gives each of its jobs to a `Pool`, which decides in which process the job's probe runs.
`LocalPool` (`local_pool.py`) serves students' computers; staff have one whose workers are confined.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from . import importing, wire, worker
from .errors import WireError
from .limits import Limits
from .paths import SRC
from .worker import READY

MAX_STACK_BYTES = 64 << 10
MAX_OUTPUT_BYTES = 64 << 10  # of a test's prints, which are kept
MAX_FRAME_BYTES = (
    wire.MAX_ANSWER_HEADER_BYTES
    + wire.MAX_ANSWER_BODY_BYTES
    + importing.MAX_NOTES_BYTES
    + 1024  # READY and the frame's prefix
)
START_S = 120.0  # importing torch from a cold disk
GRACE_S = 10.0  # after the wall-clock limit
STACK_S = 1.0  # the time in which a worker that has timed out may report its place
SIGKILL, SIGXCPU = 9, 24  # which Windows lacks
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
    `clean`: nothing of it was left afterwards.
    """

    code: int  # exit status, meaningless when signal is not 0
    signal: int
    reason: str
    cpu_s: float
    wall_s: float
    memory_bytes: int
    import_s: float = 0.0
    clean: bool = False


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


def join(*threads: threading.Thread) -> None:
    """Wait for all threads together; they end with the processes that hold the other ends."""
    deadline = time.monotonic() + GRACE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


class Reader(threading.Thread):
    """Drains a descriptor to its end, keeping the first `keep` bytes."""

    def __init__(self, fd: int, keep: int) -> None:
        super().__init__(daemon=True)
        self._fd, self._keep = fd, keep
        self.data = bytearray()
        self.start()

    def run(self) -> None:
        try:
            while chunk := os.read(self._fd, 1 << 16):
                self.data += chunk[: max(0, self._keep - len(self.data))]
        finally:
            os.close(self._fd)


def start(target: Any, *args: Any) -> threading.Thread:
    """Run a function in a thread."""
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def send(fd: int, data: bytes) -> None:
    """Write all data, as long as somebody reads, and close the descriptor."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view[: 1 << 16]) :]
    except OSError:
        pass  # the worker died first; its ending says how
    finally:
        os.close(fd)


def finished(ending: Ending, frame: Reader, output: Reader) -> Finished:
    """Collect what a worker that has ended left behind."""
    ready = frame.data.startswith(READY)
    view = memoryview(frame.data)[len(READY) :]
    notes = importing.read_notes(bytes(view[: importing.MAX_NOTES_BYTES]))
    whole = _whole_frame(view[notes.size :])
    stack = b"" if whole is not None else bytes(view[notes.size :][:MAX_STACK_BYTES])
    said = stack.decode("utf-8", errors="replace")
    return Finished(ending, ready, whole, _decode(output.data), notes, said)


def _whole_frame(data: memoryview) -> memoryview | None:
    """Return the frame after READY and the notes, if it is complete."""
    try:
        return wire.find_frame(data)
    except WireError:
        return None


def _decode(data: bytes | bytearray) -> str:
    text = data.decode("utf-8", errors="replace")
    return text + "\n[... cut]" if len(data) >= MAX_OUTPUT_BYTES else text


@contextlib.contextmanager
def scratch_folder(work: Path) -> Iterator[Path]:
    """Make an empty folder for a job, and remove it with whatever the job left in it."""
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=work))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class FreshPool:
    """Starts a fresh process for each test: slower, but the only way on Windows and macOS."""

    def __init__(self, hash_seed: int) -> None:
        self._environment = clean_environment(hash_seed)
        self._running: set[subprocess.Popen] = set()

    def run(self, job: Job) -> Finished:
        with scratch_folder(job.work) as scratch:
            return self._run(job, scratch)

    def _run(self, job: Job, scratch: Path) -> Finished:
        environment = self._environment | dict.fromkeys(("HOME", "TMPDIR", "TEMP"), str(scratch))
        process = subprocess.Popen(
            command("from grading import worker; worker.serve_streams()"),
            env=environment,
            cwd=scratch,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )
        limits = job.limits.as_dict()
        request = wire.encode({**job.request, "torch": job.torch, "limits": limits})
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin and stdout and stderr  # pipes, as requested
        sender = start(send, os.dup(stdin.fileno()), request)
        stdin.close()
        frame = Reader(os.dup(stdout.fileno()), MAX_FRAME_BYTES)
        output = Reader(os.dup(stderr.fileno()), MAX_OUTPUT_BYTES)
        self._running.add(process)
        code, wall_s = self._wait(process, frame, job.limits)
        self._running.discard(process)
        join(sender, frame, output)
        stdout.close()
        stderr.close()
        ending = Ending(max(code, 0), max(-code, 0), "", 0.0, wall_s, 0)
        found = finished(ending, frame, output)
        return replace(found, ending=replace(ending, reason=_reason(found, job.limits)))

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        return {"authoritative": False, "layers": ["processes of their own", "limits"]}

    def abandon(self) -> None:
        for process in list(self._running):
            _kill_session(process)

    def warm(self, with_torch: bool) -> None:
        """Do nothing: no process can be started in advance here."""

    def close(self) -> None:
        """Do nothing: no process remains between tests."""

    def _wait(self, process: subprocess.Popen, frame: Reader, limits: Limits) -> tuple[int, float]:
        """Return the exit status, and how long the process worked."""
        started = time.monotonic()
        while not frame.data and process.poll() is None and time.monotonic() - started < START_S:
            time.sleep(0.005)  # until it reports that its libraries are imported
        started = time.monotonic()
        try:
            process.wait(limits.total_wall_s + STACK_S)
        except subprocess.TimeoutExpired:
            pass
        wall_s = time.monotonic() - started
        _kill_session(process)
        return process.wait(), wall_s


def _reason(ended: Finished, limits: Limits) -> str:
    """Return the limit that a process hit, as in `Ending`.

    At its own limit of time (`import_clock.OwnWatch`), a worker reports its place, and ends.
    """
    ending, importing = ended.ending, bool(ended.notes.importing)
    if ended.stack.startswith("Timeout (") or ending.wall_s >= limits.total_wall_s:
        return "import-wall" if importing else "wall"
    limit_s = limits.import_s if importing else limits.cpu_s
    if ending.signal == SIGXCPU or (ending.signal == SIGKILL and ending.wall_s >= limit_s):
        return "import" if importing else "cpu"  # the kernel's own limit
    return ""


def _kill_session(process: subprocess.Popen) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, 9)
    except (ProcessLookupError, PermissionError):
        pass


class InProcessPool:
    """Runs probes in the grader's own process, only for debugging (`--in-process`).

    In a checkout, the files themselves are imported, so that a debugger's breakpoints work. There
    is no isolation and there are no limits, so the result doesn't count, and can't be written to a
    file.
    """

    def run(self, job: Job) -> Finished:
        worker.preload(job.torch)
        root = Path(job.request["submission"])
        _forget(root)
        before, path, finders = os.getcwd(), list(sys.path), list(sys.meta_path)
        with scratch_folder(job.work) as scratch:
            os.chdir(scratch)
            try:
                frame = worker.prepare(job.request, in_process=True)()
            finally:
                os.chdir(before)
                sys.path[:], sys.meta_path[:] = path, finders
                _forget(root)
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        return {"authoritative": False, "layers": ["none: in process"]}

    def abandon(self) -> None:
        """Do nothing: the job ran in the thread that was interrupted."""

    def warm(self, with_torch: bool) -> None:
        """Do nothing: there is no process to start."""

    def close(self) -> None:
        """Do nothing: there is no process to end."""


def _forget(root: Path) -> None:
    """Forget a submission's packages: the next job may use the reference's, for instance.

    Its modules may also be known by their bare names.
    """
    packages = {path.name for path in root.iterdir() if path.is_dir()}
    for name, module in list(sys.modules.items()):
        for each in (name, str(getattr(module, "__name__", name))):
            if each.partition(".")[0] in packages:
                sys.modules.pop(name, None)
