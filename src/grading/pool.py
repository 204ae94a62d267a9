"""Starts workers: forked from a zygote on Linux, elsewhere a fresh process for each test.

`open_pool()` chooses; tests force either way on Linux. `zygote.py` is the other end of a zygote.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from . import schema, wire, worker
from .errors import GradingError, WireError
from .frames import MAX_FRAME_BYTES, MAX_OUTPUT_BYTES, Finished, Reader, finished, send, start
from .guardian import REASONS, STACK_S, Ending
from .limits import Limits
from .paths import SRC
from .sandbox import Confinement

START_S = 120.0  # importing torch from a cold disk
GRACE_S = 10.0  # for the guardian, after the wall-clock limit

ENDING = {
    "code": int,
    "signal": int,
    "reason": schema.Where(str, lambda reason: reason in REASONS, "a limit's name or none"),
    "cpu_s": float,
    "wall_s": float,
    "memory_bytes": int,
    "import_s": float,
    "clean": bool,
}
FLAGS = ("-P", "-s", "-B", "-X", "utf8")
SIGKILL, SIGXCPU = 9, 24  # which Windows lacks


@dataclass(frozen=True)
class Job:
    """One probe to run in one worker."""

    torch: bool
    request: dict[str, Any]
    limits: Limits
    scratch: Path
    confinement: Confinement = Confinement()
    claims_fd: int | None = None  # the guardian keeps it open, and so the claim on the job's uid


class Pool(Protocol):
    """Runs jobs, each in a process of its own."""

    def run(self, job: Job) -> Finished: ...

    def warm(self, with_torch: bool) -> None: ...

    def abandon(self) -> None:
        """End the running jobs, in whatever threads."""

    def close(self) -> None: ...


def fork_is_safe() -> bool:
    """Return whether workers can be forked: only on Linux.

    macOS's libraries break in forked children, and Windows has no fork.
    """
    return sys.platform == "linux"


def open_pool(hash_seed: int, lasting: bool = False) -> Pool:
    """Return the pool that suits this platform.

    Args:
        lasting: whether it will serve many submissions.
    """
    return ZygotePool(hash_seed, lasting) if fork_is_safe() else FreshPool(hash_seed)


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


def read_ending(status: bytes | bytearray) -> Ending:
    """Read the guardian's report; if it is incomplete, the guardian was killed."""
    try:
        report = json.loads(status)
        if "failed" in report:
            raise GradingError(f"the guardian failed: {report['failed']}")
        schema.check(report, ENDING)
        return Ending(**report)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, WireError):
        return Ending(0, 9, "unknown", 0.0, 0.0, 0)


class ZygotePool:
    """A zygote with torch and one without, each started when first needed.

    Submissions and the reference are forked from the same zygote: it has read no secret, a child
    that needs one reads it in its own memory, and a second zygote would double torch's memory (in
    a container of 768 MB, PyTorch's CUDA build would not fit twice).

    A zygote that was killed is replaced, and its unfinished jobs are run again. One whose guardian
    could not clean up is also replaced before its next job. When a container runs out of memory,
    the kernel kills a worker; occasionally it checks again before that worker's memory is free, and
    then kills the zygote (see `limits.offer`).
    """

    def __init__(self, hash_seed: int, lasting: bool = False) -> None:
        self._hash_seed, self._lasting = hash_seed, lasting
        self._zygotes: dict[bool, Zygote] = {}
        self._replaced: list[Zygote] = []  # their guardians may still be at work
        self._lock = threading.Lock()

    def run(self, job: Job) -> Finished:
        try:
            return self._run(job)
        except ZygoteKilled:
            return self._run(job)

    def _run(self, job: Job) -> Finished:
        zygote = self._zygote(job.torch)
        finished = zygote.run(job)
        if not finished.ending.clean:
            zygote.is_clean = False
        return finished

    def warm(self, with_torch: bool) -> None:
        """Start a zygote before its first job; it imports while others work."""
        self._zygote(with_torch)

    def abandon(self) -> None:
        for zygote in [*self._zygotes.values(), *self._replaced]:
            zygote.abandon()

    def close(self) -> None:
        for zygote in [*self._zygotes.values(), *self._replaced]:
            zygote.close()
        self._zygotes.clear()
        self._replaced.clear()

    def _zygote(self, with_torch: bool) -> Zygote:
        with self._lock:
            zygote = self._zygotes.get(with_torch)
            if zygote is not None and not (zygote.is_clean and zygote.is_alive()):
                self._replaced = [each for each in self._replaced if not each.is_gone()]
                self._replaced.append(self._zygotes.pop(with_torch))
                zygote.retire()
            if with_torch not in self._zygotes:
                environment = clean_environment(self._hash_seed)
                self._zygotes[with_torch] = Zygote(with_torch, environment, self._lasting)
            return self._zygotes[with_torch]


class ZygoteKilled(GradingError):
    """A job did not begin because its zygote has ended. The student's code has not run."""


class Zygote:
    """The parent's end of one zygote process and its guardians."""

    def __init__(
        self, with_torch: bool, environment: dict[str, str], lasting: bool = False
    ) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            fd = theirs.fileno()
            self._process = subprocess.Popen(
                command(f"from grading.zygote import main; main({fd}, {with_torch}, {lasting})"),
                env=environment,
                pass_fds=[fd],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._ready = False
        self._lock = threading.Lock()
        self._lifelines: set[int] = set()
        self._idle: list[socket.socket] = []  # of idle guardians
        self._retired = False
        self.is_clean = True  # whether nothing is left of any job that has ended

    def is_alive(self) -> bool:
        """Return whether the process still runs; it doesn't end by itself before `close`."""
        return self._process.poll() is None

    def retire(self) -> None:
        """Let the process end after its current jobs; others raise ZygoteKilled."""
        with self._lock, contextlib.suppress(OSError):  # the process has ended already
            self._retired = True
            while self._idle:
                self._idle.pop().close()
            self._control.shutdown(socket.SHUT_RDWR)

    def is_gone(self) -> bool:
        """Return whether the process and all its jobs have ended; if so, free its resources."""
        gone = not self._lifelines and not self.is_alive()
        if gone:
            self.close()
        return gone

    def _ends_within(self, seconds: float) -> bool:
        """Return whether it ends in that time; its descriptors close before this is known."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def run(self, job: Job) -> Finished:
        """Let a worker do a job.

        Raises:
            ZygoteKilled: another zygote can run the job again.
        """
        self._wait_until_ready()
        pipes = [os.pipe() for _ in range(5)]
        request_r, request_w = pipes[0]
        (frame_r, frame_w), (output_r, output_w), (status_r, status_w) = pipes[1:4]
        lifeline_r, lifeline_w = pipes[4]
        message = json.dumps(
            {
                "probe": job.request["probe"],
                "limits": job.limits.as_dict(),
                "scratch": str(job.scratch),
                "confinement": job.confinement.as_dict(),
            }
        )
        theirs = [request_r, frame_w, output_w, status_w, lifeline_r]
        self._lifelines.add(lifeline_w)
        try:
            kept = [] if job.claims_fd is None else [job.claims_fd]
            guardian = self._send(message.encode("utf-8"), theirs + kept)
        except ConnectionError:
            self._cut(lifeline_w)
            for fd in (request_w, frame_r, output_r, status_r):
                os.close(fd)
            raise ZygoteKilled(f"the zygote ended with {self._process.poll()}") from None
        finally:
            for fd in theirs:
                os.close(fd)
        sender = start(send, request_w, wire.encode(job.request))
        frame = Reader(frame_r, MAX_FRAME_BYTES)
        output = Reader(output_r, MAX_OUTPUT_BYTES)
        status = Reader(status_r, 1 << 16)
        clean = False
        try:
            status.join(job.limits.total_wall_s + GRACE_S)
            self._cut(lifeline_w)  # the guardian now kills whatever is still alive
            join(sender, frame, output, status)
            if not status.data and not frame.data and self._ends_within(1.0):
                raise ZygoteKilled(f"the zygote ended with {self._process.poll()}")
            ending = read_ending(status.data)
            clean = ending.clean
        finally:
            self._cut(lifeline_w)
            self._give_back(guardian, clean)
        return finished(ending, frame, output)

    def _send(self, message: bytes, fds: list[int]) -> socket.socket:
        """Send a job to an idle guardian, or to a new one; return its socket.

        Raises:
            ConnectionError: the zygote has ended.
        """
        while True:
            with self._lock:
                is_new = not self._idle
                guardian = self._new_guardian() if is_new else self._idle.pop()
            try:
                socket.send_fds(guardian, [message], fds)
                return guardian
            except ConnectionError:  # it was killed
                guardian.close()
                if is_new:
                    raise

    def _new_guardian(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._control, [b"guard"], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def _give_back(self, guardian: socket.socket, clean: bool) -> None:
        """Keep a guardian for another job; one with anything left to do ends by itself."""
        with self._lock:
            if clean and not self._retired:
                self._idle.append(guardian)
            else:
                guardian.close()

    def abandon(self) -> None:
        for lifeline in list(self._lifelines):
            self._cut(lifeline)

    def _cut(self, lifeline: int) -> None:
        with self._lock:
            if lifeline in self._lifelines:
                self._lifelines.discard(lifeline)
                os.close(lifeline)

    def close(self) -> None:
        self.retire()
        self._control.close()
        if not self._ready:
            self._process.kill()  # it is unused, and may still be importing
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _wait_until_ready(self) -> None:
        with self._lock:
            if self._ready:
                return
            self._control.settimeout(START_S)
            try:
                hello = self._control.recv(16)
            except TimeoutError:
                hello = b""
            if hello != b"ready":
                raise GradingError(
                    "the process that imports the libraries did not start; is everything in "
                    "requirements.txt installed for this Python?"
                )
            self._control.settimeout(None)
            self._ready = True


class FreshPool:
    """Starts a fresh process for each test: slower, but the only way on Windows and macOS."""

    def __init__(self, hash_seed: int) -> None:
        self._environment = clean_environment(hash_seed)
        self._running: set[subprocess.Popen] = set()

    def run(self, job: Job) -> Finished:
        environment = self._environment | {
            "HOME": str(job.scratch),
            "TMPDIR": str(job.scratch),
            "TEMP": str(job.scratch),
        }
        process = subprocess.Popen(
            command("from grading import worker; worker.serve_streams()"),
            env=environment,
            cwd=job.scratch,
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
        os.chdir(job.scratch)
        try:
            frame = worker.prepare(job.request, in_process=True)()
        finally:
            os.chdir(before)
            sys.path[:], sys.meta_path[:] = path, finders
            _forget(root)
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

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
