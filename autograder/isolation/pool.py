"""Confined workers (Linux): forked from a zygote, each with the confinement that its role needs.

`zygote.py` is the other end of a zygote.
"""

import contextlib
import itertools
import json
import os
import secrets
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from grading import ROOT, wire
from grading.errors import GradingError, UsageError
from grading.pool import (
    MAX_FRAME_BYTES,
    START_S,
    Ending,
    Finished,
    Job,
    clean_environment,
    command,
    make_scratch,
    read_answer,
    text_of,
)
from grading.worker import MAX_OUTPUT_BYTES, READY, write_all

from .. import solutions
from . import authority, leftovers, sandbox, users
from .sandbox import Layers

UNKNOWN = "unknown"  # the reason of a worker whose guardian was killed
GRACE_S = 10.0  # for the guardian, after the wall-clock limit


class ConfinedPool:
    """A zygote with torch and one without, each started when first needed.

    Submissions and the reference are forked from the same zygote: it has read no secret, a child
    that needs one reads it in its own memory, and PyTorch's CUDA build would not fit twice into a
    container of 768 MB.

    A zygote that was killed is replaced, and its jobs that have not begun are run again. When a
    container runs out of memory, the kernel kills a worker; occasionally it checks again before
    that worker's memory is free, and then kills the zygote (see `sandbox.offer`).

    A student's worker gets every available layer. The reference's, which may contain a student's
    parameters, gets the layers that need no user of its own.

    Args:
        layers: by default, everything that works here.
        authoritative: whether to refuse a submission unless its score can count.
    """

    def __init__(
        self, hash_seed: int, layers: Layers | None = None, authoritative: bool = False
    ) -> None:
        self.layers, self.authoritative = layers or sandbox.detect(), authoritative
        self._environment = clean_environment(hash_seed)
        self._uids = itertools.count(secrets.randbelow(1 << 20))  # see users.claim
        self._zygotes: dict[bool, Zygote] = {}
        self._replaced: list[Zygote] = []  # they were killed, but their guardians may work on
        self._lost: list[int] = []  # descriptors of claims, of killed guardians' uids
        self._is_abandoned = False
        self._lock = threading.Lock()

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        work.chmod(0o711)  # a test's own uid passes through to its scratch folder
        facts = {"authoritative": self.authoritative, "layers": self.layers.names()}
        if self.authoritative:
            if found := authority.obstacles(self, self.layers, work, staged, private):
                raise GradingError("this run can't be authoritative: " + "; ".join(found))
            return facts | {"missing": self.layers.missing()}
        if solutions.HIDDEN.exists():  # without judges, there are no secrets
            for words in authority.exposed(self.layers, [*authority.secrets(), *private]):
                raise UsageError(f"{words}; move it elsewhere before grading")
        return facts

    def run(self, job: Job) -> Finished:
        memory_bytes = min(job.limits.memory_bytes, sandbox.memory_of_a_test())
        job = replace(job, limits=replace(job.limits, memory_bytes=memory_bytes))
        scratch, uid, claims = make_scratch(job.work), None, list[int]()
        try:
            if self.layers.root and job.role == "submission":
                uid, claim = users.claim(next(self._uids))
                claims.append(claim)
                for path in (scratch, *scratch.rglob("*")):
                    os.chown(path, uid, uid)
            staged = Path(job.request["submission"])
            message = {
                "probe": job.request["probe"],
                "limits": asdict(job.limits),
                "scratch": str(scratch),
                "confinement": asdict(sandbox.for_worker(self.layers, uid, staged, scratch)),
            }
            try:
                finished = self._zygote(job.torch).run(job, message, claims)
            except ZygoteKilled:
                finished = self._zygote(job.torch).run(job, message, claims)
            if finished.ending.reason == UNKNOWN:  # no other test of this run gets its uid
                self._lost += claims
                claims = []
            return finished
        finally:
            leftovers.remove_tree(scratch)
            for claim in claims:
                os.close(claim)

    def warm(self, with_torch: bool) -> None:
        self._zygote(with_torch)

    def abandon(self) -> None:
        with self._lock:
            self._is_abandoned = True
        for zygote in (*self._zygotes.values(), *self._replaced):
            zygote.abandon()

    def close(self) -> None:
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes.clear()
        while self._lost:
            os.close(self._lost.pop())

    def _zygote(self, with_torch: bool) -> "Zygote":
        with self._lock:
            if self._is_abandoned:  # Ctrl-C came while this thread was started: nobody waits for it
                raise GradingError("the run was abandoned")
            zygote = self._zygotes.get(with_torch)
            if zygote is not None and not zygote.is_alive():
                zygote.close()
                self._replaced.append(zygote)
                zygote = None
            if zygote is None:
                zygote = self._zygotes[with_torch] = Zygote(with_torch, self._environment)
            return zygote


class ZygoteKilled(GradingError):
    """A job did not begin because its zygote has ended. The student's code has not run."""


class Zygote:
    """The parent's end of one zygote process and its guardians."""

    def __init__(self, with_torch: bool, environment: dict[str, str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            fd = theirs.fileno()
            # The root, in which `autograder` is, contains more than workers may import.
            load = f"sys.path.insert(1, {str(ROOT)!r}); from autograder.isolation import zygote"
            self._process = subprocess.Popen(
                command(f"{load}; del sys.path[1]; zygote.main({fd}, {with_torch})"),
                env=environment,
                pass_fds=[fd],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._ready = self._is_abandoned = False
        self._idle: list[socket.socket] = []  # of idle guardians
        self._working: set[socket.socket] = set()  # of the others
        self._lock = threading.Lock()

    def is_alive(self) -> bool:
        """Return whether the process runs; it doesn't end by itself before `close`."""
        return self._process.poll() is None

    def run(self, job: Job, message: dict[str, Any], claims: list[int]) -> Finished:
        """Let a worker do a job; ZygoteKilled: another zygote can run it again.

        Args:
            message: for the guardian.
            claims: the descriptor that holds the claim of its uid, if it has one.
        """
        self._wait_until_ready()
        request = wire.encode(job.request)
        request_r, request_w = os.pipe()
        frame_r, frame_w = os.pipe()
        output_r, output_w = os.pipe()
        frame, output = Reader(frame_r, MAX_FRAME_BYTES), Reader(output_r, MAX_OUTPUT_BYTES)
        sender = threading.Thread(target=send, args=(request_w, request), daemon=True)
        sender.start()
        theirs = [request_r, frame_w, output_w]
        try:
            guardian = self._send(json.dumps(message).encode("utf-8"), [*theirs, *claims])
        finally:
            for fd in theirs:
                os.close(fd)
        is_clean = False
        self._working.add(guardian)
        try:
            if self._is_abandoned:  # just before
                _stop(guardian)
            report = _receive(guardian, job.limits.total_wall_s + GRACE_S)
            join(sender, frame, output)
            if not report and not frame.data and self._ends_within(1.0):
                raise ZygoteKilled(f"the zygote ended with {self._process.poll()}")
            if not report:  # the guardian was killed
                return finished(Ending(0, 9, UNKNOWN, 0.0, 0.0, 0), frame, output)
            content = json.loads(report)
            if "failed" in content:
                raise GradingError(f"the guardian failed: {content['failed']}")
            is_clean = content["is_clean"]
            return finished(Ending(**content["ending"]), frame, output)
        finally:
            self._working.discard(guardian)
            if is_clean:
                self._idle.append(guardian)
            else:
                guardian.close()

    def _send(self, message: bytes, fds: list[int]) -> socket.socket:
        """Send a job to an idle guardian, or to a new one; return its socket."""
        with contextlib.suppress(IndexError):
            while True:
                guardian = self._idle.pop()
                try:
                    socket.send_fds(guardian, [message], fds)
                    return guardian
                except ConnectionError:  # it was killed
                    guardian.close()
        guardian, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._control, [b"guard"], [theirs.fileno()])
                socket.send_fds(guardian, [message], fds)
                return guardian
            except OSError:
                guardian.close()
                self._ends_within(1.0)
                raise ZygoteKilled(f"the zygote ended with {self._process.poll()}") from None

    def _ends_within(self, seconds: float) -> bool:
        """Return whether it ends in that time; its descriptors close before this is known."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def abandon(self) -> None:
        """End the running jobs, and those that begin now."""
        self._is_abandoned = True
        for guardian in list(self._working):
            _stop(guardian)

    def close(self) -> None:
        """Let the process end after its current jobs."""
        for guardian in self._idle:
            guardian.close()
        _stop(self._control)
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


def _receive(guardian: socket.socket, seconds: float) -> bytes:
    """Return a guardian's report, b"" if it was killed; let it stop if it takes too long."""
    for limit_s in (seconds, GRACE_S):
        guardian.settimeout(limit_s)
        try:
            return guardian.recv(1 << 16)
        except TimeoutError:
            _stop(guardian)
        except ConnectionError:  # it was killed before it read the message
            break
    return b""


def _stop(other: socket.socket) -> None:
    """Let a guardian kill its worker, or a zygote end, as if this process had ended."""
    with contextlib.suppress(OSError):  # it has ended
        other.shutdown(socket.SHUT_WR)


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


def send(fd: int, data: bytes) -> None:
    """Write all data, as long as somebody reads, and close the descriptor."""
    try:
        with contextlib.suppress(OSError):  # the worker died first; its ending says how
            write_all(fd, data)
    finally:
        os.close(fd)


def finished(ending: Ending, frame: Reader, output: Reader) -> Finished:
    """Return what a worker that has ended left behind."""
    notes, whole, rest = read_answer(frame.data)
    stack = text_of(rest) if whole is None else ""
    ready = frame.data.startswith(READY)
    return Finished(ending, ready, whole, text_of(output.data), notes, stack)
