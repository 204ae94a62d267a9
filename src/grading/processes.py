"""Starts workers: forked from a zygote on Linux, elsewhere a fresh process for each test.

This is the only module that depends on the platform. `open_pool()` chooses; tests force either way
on Linux.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from . import wire, worker
from .frames import MAX_FRAME_BYTES, MAX_OUTPUT_BYTES, Finished, Reader, finished, send, start
from .guardian import STACK_S, Ending
from .jobs import FLAGS, START_S, Job, Pool, clean_environment, command, join
from .limits import Limits
from .zygotes import ZygotePool

SIGKILL, SIGXCPU = 9, 24  # which Windows lacks

__all__ = [
    "FLAGS",
    "FreshPool",
    "InProcessPool",
    "Job",
    "Pool",
    "ZygotePool",
    "clean_environment",
    "command",
    "fork_is_safe",
    "open_pool",
]


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
