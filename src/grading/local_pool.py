"""The pool of a student's computer: workers that do job after job, on every platform.

torch takes longer to import than most tests run, so a worker stays. After each job it undoes what
the job changed (`traces.py`); if it can't, or if it ended, another takes its place.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import wire
from .errors import GradingError
from .importing import Notes
from .pool import (
    MAX_FRAME_BYTES,
    START_S,
    Ending,
    Finished,
    Job,
    clean_environment,
    command,
    read_answer,
    scratch_folder,
    text_of,
)
from .worker import MAX_OUTPUT_BYTES, READY

TICK_S = 0.05
GRACE_S = 5.0  # for a worker that should have ended itself, or that undoes what a job changed
CHUNKS = 64  # of an answer, which wait to be read


class LocalPool:
    """Workers for the submission, one with torch and one without, and others for the reference."""

    def __init__(self, hash_seed: int, always_fresh: bool = False) -> None:
        """
        Args:
            always_fresh: whether each job gets a worker of its own.
        """
        self._environment, self._always_fresh = clean_environment(hash_seed), always_fresh
        self._crews: dict[tuple[str, bool], Crew] = {}
        self._lock = threading.Lock()

    def run(self, job: Job) -> Finished:
        output, name = tempfile.mkstemp(prefix="output-", dir=job.work)
        try:
            with scratch_folder(job.work) as scratch:
                places = {"scratch": str(scratch), "output": name}
                request = {**job.request, **places, "limits": job.limits.as_dict()}
                job = replace(job, request=request, fresh=job.fresh or self._always_fresh)
                finished = self._crew(job.role, job.torch).run(job)
            return replace(finished, output=_read_all(output) + finished.output)
        finally:
            os.close(output)
            with contextlib.suppress(OSError):  # on Windows, while a process has it open
                os.unlink(name)

    def warm(self, with_torch: bool) -> None:
        """Start a worker for the submission before its first job."""
        self._crew("submission", with_torch).warm()

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        """Return what protects a run: nothing but that its processes are others."""
        return {"authoritative": False, "layers": ["processes of their own"]}

    def abandon(self) -> None:
        """End all workers, in whatever threads their jobs are waited for."""
        for crew in list(self._crews.values()):
            crew.end()

    def close(self) -> None:
        """End all workers."""
        self.abandon()

    def _crew(self, role: str, with_torch: bool) -> Crew:
        with self._lock:
            start = functools.partial(Worker, with_torch, self._environment)
            return self._crews.setdefault((role, with_torch), Crew(start))


class Crew:
    """The worker of one kind that does the jobs, and a spare one that has done none."""

    def __init__(self, start: Callable[[], Worker]) -> None:
        self._start, self._lock = start, threading.Lock()
        self._worker: Worker | None = None
        self._spare: Worker | None = None
        self._ended = False

    def warm(self) -> None:
        """Start the worker, which imports its libraries while others work."""
        with self._lock:
            self._worker = self._worker or self._start()

    def run(self, job: Job) -> Finished:
        """Let a worker do a job."""
        with self._lock:
            if self._ended:
                raise GradingError("the workers have been ended")
            worker = self._worker or self._start()
            if worker.is_used or worker.has_ended:
                if job.fresh or worker.has_ended or not worker.is_like_new():
                    worker.end()
                    spare, self._spare = self._spare, None
                    worker = self._start() if spare is None or spare.has_ended else spare
                # One test alone needs no spare; it would take the time of the first.
                self._spare = self._spare or self._start()
            self._worker = worker
            return worker.run(job)

    def end(self) -> None:
        """End both, and begin no other job."""
        self._ended = True
        for worker in filter(None, (self._worker, self._spare)):
            worker.end()


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
            start_new_session=sys.platform != "win32",
        )
        self.is_used = False
        self._data = bytearray()
        self._chunks: queue.Queue[bytes] = queue.Queue(maxsize=CHUNKS)
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, job: Job) -> Finished:
        """Do a job; a worker that doesn't answer in time is ended."""
        used, self.is_used, self._data = self.is_used, True, bytearray()
        self._send(wire.encode(job.request))
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
        return self._receive(lambda: b"\n" in self._data, GRACE_S) and self._data == b"\n"

    def end(self, most_s: float = 0.0) -> int:
        """End the process and what it started; return its exit status, negative for a signal.

        Args:
            most_s: how long it may take to end by itself.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(most_s)
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        return self._process.wait()

    def _send(self, request: bytes) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):  # it has ended, which its answer tells
            self._process.stdin.write(request)
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout
        with self._process.stdout as answers:
            while chunk := os.read(answers.fileno(), 1 << 16):
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


def _reason(notes: Notes, stack: str, late: bool) -> str:
    """Return the limit that a worker without an answer hit, as in `Ending`."""
    if stack.startswith("Timeout ("):  # C code, or the worker's own thread would have stopped it
        return "import" if notes.importing else "cpu"
    if late:
        return "import-wall" if notes.importing else "wall"
    return notes.limit
