"""Starts workers: forked from a zygote on Linux, a fresh process a test elsewhere.

The one module that knows about platforms. `open_pool()` chooses; tests force either on Linux.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import schema, wire
from .errors import GradingError, WireError
from .frames import MAX_FRAME_BYTES, MAX_OUTPUT_BYTES, Finished, Reader, finished, send, start
from .guardian import REASONS, STACK_S, Ending
from .limits import Limits
from .paths import SRC
from .sandbox import Confinement

START_S = 120.0  # importing torch from a cold disk
GRACE_S = 10.0  # what a guardian may take after the wall-clock limit

ENDING = {
    "code": int,
    "signal": int,
    "reason": schema.Where(str, lambda reason: reason in REASONS, "a limit's name or none"),
    "cpu_s": float,
    "wall_s": float,
    "memory_bytes": int,
    "clean": bool,
}
FLAGS = ("-P", "-s", "-B", "-X", "utf8")


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
        """End the jobs that run now, in whatever threads."""

    def close(self) -> None: ...


def fork_is_safe() -> bool:
    """Return whether workers can be forked: only on Linux.

    macOS's libraries break in forked children, and Windows has no fork.
    """
    return sys.platform == "linux"


def open_pool(hash_seed: int) -> Pool:
    """Return the way of starting workers that suits this platform."""
    return ZygotePool(hash_seed) if fork_is_safe() else FreshPool(hash_seed)


def clean_environment(hash_seed: int) -> dict[str, str]:
    """Build an environment from nothing: no variable of the user's reaches student code."""
    environment = {
        "PYTHONHASHSEED": str(hash_seed % 2**32),
        "LC_ALL": "C.UTF-8",
        "PATH": os.defpath,
        # One thread everywhere: sums then come out the same, and forks stay safe.
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    for name in ("SYSTEMROOT", "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        if name in os.environ:  # Windows can't start without the first; tests set the others
            environment[name] = os.environ[name]
    return environment


def command(code: str) -> list[str]:
    """Return the command that runs `code` with `grading` and nothing of the user's to import."""
    return [sys.executable, *FLAGS, "-c", f"import sys; sys.path.insert(0, {str(SRC)!r}); {code}"]


class ZygotePool:
    """A zygote with torch and one without, each started when first needed.

    Submissions and the reference are forked from the same: it has read no secret, a child that is
    to read one does so in its own memory, and a second one would double what torch takes (in a
    container of 768 MB, PyTorch's CUDA build would not fit twice).

    A zygote that was killed is replaced, and what it didn't get to do is done again. One whose
    guardian could not clean up is replaced, too, before its next job. Where the
    memory of a container ends, the kernel ends a worker; now and then it looks a second time before
    that worker's memory is free, and then it's the zygote's turn (see `limits.offer`).
    """

    def __init__(self, hash_seed: int) -> None:
        self._hash_seed = hash_seed
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
        """Start a zygote ahead of its first job; it imports while others work."""
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
                self._zygotes[with_torch] = Zygote(with_torch, clean_environment(self._hash_seed))
            return self._zygotes[with_torch]


class ZygoteKilled(GradingError):
    """A job was not begun: its zygote is no more. The student's code has not run."""


class Zygote:
    """The parent's end of one zygote process."""

    def __init__(self, with_torch: bool, environment: dict[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            fd = theirs.fileno()
            self._process = subprocess.Popen(
                command(f"from grading.zygote import main; main({fd}, {with_torch})"),
                env=environment,
                pass_fds=[fd],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._ready = False
        self._lock = threading.Lock()
        self._lifelines: set[int] = set()
        self.is_clean = True  # whether nothing is left of any job that has ended

    def is_alive(self) -> bool:
        """Return whether the process still runs; it doesn't end by itself before `close`."""
        return self._process.poll() is None

    def retire(self) -> None:
        """Let the process end after the jobs it has begun; others raise ZygoteKilled."""
        with self._lock, contextlib.suppress(OSError):  # the process has ended already
            self._control.shutdown(socket.SHUT_RDWR)

    def is_gone(self) -> bool:
        """Return whether the process and all its jobs have ended; if so, nothing of it is held."""
        gone = not self._lifelines and not self.is_alive()
        if gone:
            self.close()
        return gone

    def _ends_within(self, seconds: float) -> bool:
        """Return whether it ends in that time; its descriptors close before that is known."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def run(self, job: Job) -> Finished:
        """Have a worker do a job.

        Raises:
            ZygoteKilled: the job can be done again, by another zygote.
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
            with self._lock:
                kept = [] if job.claims_fd is None else [job.claims_fd]
                socket.send_fds(self._control, [message.encode("utf-8")], theirs + kept)
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
        try:
            status.join(job.limits.wall_s + GRACE_S)
        finally:
            self._cut(lifeline_w)  # whatever is still alive is killed by the guardian now
        _join(sender, frame, output, status)
        if not status.data and not frame.data and self._ends_within(1.0):
            raise ZygoteKilled(f"the zygote ended with {self._process.poll()}")
        return finished(_ending(status.data), frame, output)

    def abandon(self) -> None:
        for lifeline in list(self._lifelines):
            self._cut(lifeline)

    def _cut(self, lifeline: int) -> None:
        with self._lock:
            if lifeline in self._lifelines:
                self._lifelines.discard(lifeline)
                os.close(lifeline)

    def close(self) -> None:
        self._control.close()
        if not self._ready:
            self._process.kill()  # nobody has used it; it may still be importing
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
    """A fresh process a test: slower, and all that Windows and macOS allow."""

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
        assert stdin and stdout and stderr  # pipes, as asked for
        sender = start(send, os.dup(stdin.fileno()), request)
        stdin.close()
        frame = Reader(os.dup(stdout.fileno()), MAX_FRAME_BYTES)
        output = Reader(os.dup(stderr.fileno()), MAX_OUTPUT_BYTES)
        self._running.add(process)
        ending = self._wait(process, frame, job.limits)
        self._running.discard(process)
        _join(sender, frame, output)
        stdout.close()
        stderr.close()
        return finished(ending, frame, output)

    def abandon(self) -> None:
        for process in list(self._running):
            _kill_session(process)

    def warm(self, with_torch: bool) -> None:
        """Do nothing: no process can be started ahead here."""

    def close(self) -> None:
        """Do nothing: no process stays behind between tests."""

    def _wait(self, process: subprocess.Popen, frame: Reader, limits: Limits) -> Ending:
        started = time.monotonic()
        while not frame.data and process.poll() is None and time.monotonic() - started < START_S:
            time.sleep(0.005)  # until it says that its libraries are imported
        started = time.monotonic()
        try:
            process.wait(limits.wall_s + STACK_S)
        except subprocess.TimeoutExpired:
            pass
        wall_s = time.monotonic() - started
        _kill_session(process)
        code = process.wait()
        # At the limit a worker says where it is, and ends.
        reason = "wall" if wall_s >= limits.wall_s else ""
        died_of = -code if code < 0 else 0
        if died_of in (9, 24) and not reason and wall_s >= limits.cpu_s:
            reason = "cpu"  # SIGKILL or SIGXCPU of the kernel's own limit
        return Ending(max(code, 0), died_of, reason, 0.0, wall_s, 0)


def _join(*threads: threading.Thread) -> None:
    """Wait for all threads together; they end with the processes that hold the other ends."""
    deadline = time.monotonic() + GRACE_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _kill_session(process: subprocess.Popen) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, 9)
    except (ProcessLookupError, PermissionError):
        pass


def _ending(status: bytes | bytearray) -> Ending:
    """Read the guardian's report; without a whole one, somebody killed the guardian."""
    try:
        report = json.loads(status)
        if "failed" in report:
            raise GradingError(f"the guardian failed: {report['failed']}")
        schema.check(report, ENDING)
        return Ending(**report)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, WireError):
        return Ending(0, 9, "unknown", 0.0, 0.0, 0)
