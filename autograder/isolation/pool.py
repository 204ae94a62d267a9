"""Confined workers (Linux): forked from a zygote, each with the confinement that its role needs.

`zygote.py` is the other end of a zygote.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grading import schema, wire
from grading.errors import GradingError, WireError
from grading.limits import Limits
from grading.pool import (
    FLAGS,
    MAX_FRAME_BYTES,
    REASONS,
    START_S,
    Ending,
    Finished,
    Job,
    clean_environment,
    read_answer,
    text_of,
)
from grading.worker import MAX_OUTPUT_BYTES, READY

from ..paths import ROOT, SRC
from . import authority, leftovers, sandbox
from .limits import memory_of_a_test
from .sandbox import Confinement, Layers, UidPool

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


def _command(call: str) -> list[str]:
    """Return the command that runs a zygote, which can import our code and nothing of the user's.

    The root, in which `autograder` is, contains more than workers may import.
    """
    code = (
        f"import sys; sys.path[:0] = [{str(SRC)!r}, {str(ROOT)!r}]; "
        f"from autograder.isolation.zygote import main; del sys.path[1]; {call}"
    )
    return [sys.executable, *FLAGS, "-c", code]


class ConfinedPool:
    """A zygote with torch and one without, each started when first needed.

    Submissions and the reference are forked from the same zygote: it has read no secret, a child
    that needs one reads it in its own memory, and a second zygote would double torch's memory (in
    a container of 768 MB, PyTorch's CUDA build would not fit twice).

    A zygote that was killed is replaced, and its unfinished jobs are run again. One whose guardian
    could not clean up is also replaced before its next job. When a container runs out of memory,
    the kernel kills a worker; occasionally it checks again before that worker's memory is free, and
    then kills the zygote (see `limits.offer`).

    A student's worker gets every available layer. The reference's, which may contain a student's
    parameters, gets the layers that need no user of its own.
    """

    def __init__(
        self, hash_seed: int, layers: Layers, authoritative: bool = False, lasting: bool = False
    ) -> None:
        self._hash_seed, self._lasting = hash_seed, lasting
        self.layers, self.authoritative = layers, authoritative
        self._uids = UidPool()
        self._zygotes: dict[bool, Zygote] = {}
        self._replaced: list[Zygote] = []  # their guardians may still be at work
        self._lock = threading.Lock()

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        self._uids.close()
        self._uids = UidPool()
        work.chmod(0o711)  # a test's own uid passes through to its scratch folder
        return authority.require(self, self.layers, self.authoritative, work, staged, private)

    def run(self, job: Job) -> Finished:
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=job.work))
        confinement = self._confinement(job, scratch)
        uid, claims_fd = confinement.uid, None
        if uid is not None:
            os.chown(scratch, uid, uid)
            claims_fd = self._uids.claims_fd
        memory_bytes = min(job.limits.memory_bytes, memory_of_a_test())
        limits = replace(job.limits, memory_bytes=memory_bytes)
        task = Task(job.torch, job.request, limits, scratch, confinement, claims_fd)
        try:
            finished = self._run(task)
            if finished.ending.clean:
                self._uids.release(uid)
            return finished
        finally:
            leftovers.remove_tree(scratch)

    def _confinement(self, job: Job, scratch: Path) -> Confinement:
        uids = self._uids if job.role == "submission" else None
        return sandbox.for_worker(self.layers, uids, Path(job.request["submission"]), scratch)

    def _run(self, task: Task) -> Finished:
        try:
            return self._run_once(task)
        except ZygoteKilled:
            return self._run_once(task)

    def _run_once(self, task: Task) -> Finished:
        zygote = self._zygote(task.torch)
        finished = zygote.run(task)
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
        self._uids.close()

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


@dataclass(frozen=True)
class Task:
    """A job with the place and the confinement of its worker."""

    torch: bool
    request: dict[str, Any]
    limits: Limits
    scratch: Path
    confinement: Confinement
    claims_fd: int | None  # the guardian keeps it open, and so the claim on the task's uid


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
                _command(f"main({fd}, {with_torch}, {lasting})"),
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

    def run(self, task: Task) -> Finished:
        """Let a worker do a task.

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
                "probe": task.request["probe"],
                "limits": task.limits.as_dict(),
                "scratch": str(task.scratch),
                "confinement": task.confinement.as_dict(),
            }
        )
        theirs = [request_r, frame_w, output_w, status_w, lifeline_r]
        self._lifelines.add(lifeline_w)
        try:
            kept = [] if task.claims_fd is None else [task.claims_fd]
            guardian = self._send(message.encode("utf-8"), theirs + kept)
        except ConnectionError:
            self._cut(lifeline_w)
            for fd in (request_w, frame_r, output_r, status_r):
                os.close(fd)
            raise ZygoteKilled(f"the zygote ended with {self._process.poll()}") from None
        finally:
            for fd in theirs:
                os.close(fd)
        sender = start(send, request_w, wire.encode(task.request))
        frame = Reader(frame_r, MAX_FRAME_BYTES)
        output = Reader(output_r, MAX_OUTPUT_BYTES)
        status = Reader(status_r, 1 << 16)
        clean = False
        try:
            status.join(task.limits.total_wall_s + GRACE_S)
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
    notes, whole, rest = read_answer(frame.data)
    stack = text_of(rest) if whole is None else ""
    ready = frame.data.startswith(READY)
    return Finished(ending, ready, whole, text_of(output.data), notes, stack)
