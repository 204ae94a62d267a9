"""The zygote: a process that has imported the libraries once, for all workers (Linux).

    parent --exec--> zygote --fork--> guardian --fork--> worker, worker, ...

The parent asks the zygote for a guardian, which gets its own socket. Through it, the parent sends
one JSON message per job, together with the job's descriptors. The guardian forks a worker for the
job, and reports on the job's status pipe. It serves one job at a time, and ends when its socket
closes, or if it can't clean up after a job.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import socket
import sys
import traceback
from dataclasses import asdict, replace
from typing import Any

from grading import importing, wire, worker
from grading.limits import Limits

from . import guardian, huge_pages, killer, leftovers, limits, sandbox
from .import_clock import Clock

DESCRIPTORS = 6  # request, frame, output, status, lifeline; claims of uids, if there are any
ZYGOTES_SCORE = 500  # see limits.offer
REQUEST_FD, FRAME_FD, RULESET_FD = 3, 4, 5  # where the worker finds its own


def main(control_fd: int, with_torch: bool, lasting: bool) -> None:
    """Serve until the parent closes the socket. Started by `pool.Zygote`.

    Args:
        lasting: whether there will be so many jobs that it pays to make forks cheap.
    """
    control = socket.socket(fileno=control_fd)
    sandbox.hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C, and closes the socket
    kills = killer.start(control) if os.geteuid() == 0 else None
    worker.preload(with_torch, lasting)
    usual_score = limits.offer(ZYGOTES_SCORE)
    gc.freeze()  # or a worker's garbage collector would touch, and so copy, shared memory
    if lasting:
        huge_pages.collapse()
    with contextlib.suppress(ConnectionError):  # the parent has ended without notice
        control.send(b"ready")
        _serve(control, usual_score, kills)
    control.close()
    if kills is not None:
        kills.close()
    _wait_for_all()
    os._exit(0)  # shutting down torch properly takes longer than many tests


def _serve(control: socket.socket, usual_score: int, kills: killer.Killer | None) -> None:
    """Fork a guardian for each message, with the socket that comes with it."""
    while True:
        message, fds, _, _ = socket.recv_fds(control, 16, 1)
        _reap()
        if not message:
            return
        if os.fork() == 0:
            control.close()
            limits.offer(usual_score)
            _guard(socket.socket(fileno=fds[0]), kills)
        os.close(fds[0])


def _reap() -> None:
    """Reap guardians that have ended, so that their CPU time counts as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _wait_for_all() -> None:
    """Wait for guardians, which end after their current jobs."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def _guard(jobs: socket.socket, kills: killer.Killer | None) -> None:
    """Run a guardian, from fork to exit."""
    try:
        os.setsid()
        goes_on = True
        while goes_on:
            message, fds, _, _ = socket.recv_fds(jobs, 1 << 16, DESCRIPTORS)
            goes_on = bool(message) and _do(json.loads(message), fds, kills)
    except ConnectionError:
        pass  # the parent has ended without notice
    finally:
        try:
            guardian.kill_descendants()  # whatever went wrong, no worker may continue without us
        finally:
            os._exit(0)


def _do(job: dict[str, Any], fds: list[int], kills: killer.Killer | None) -> bool:
    """Let a worker do a job, and report; return whether nothing is left of it."""
    request, frame, output, status, lifeline, *claims = fds
    clean = False
    try:
        guardian.become_subreaper()
        allowed = Limits(**job["limits"])
        confinement = sandbox.Confinement(**job["confinement"])
        _import_probe(job["probe"])
        ruleset = sandbox.prepare(confinement)
        clock = Clock()
        pid = os.fork()
        if pid == 0:
            os.close(status)
            os.close(lifeline)
            _work(job, allowed, confinement, request, frame, output, ruleset, clock)
        for fd in (request, frame, output, *([] if ruleset is None else [ruleset])):
            os.close(fd)
        ending = guardian.watch(pid, allowed, lifeline, job["scratch"], clock)
        clean = _clean_up(confinement, kills)
        os.write(status, json.dumps(asdict(replace(ending, clean=clean))).encode("ascii"))
    except Exception:  # the grader's fault: the worker can't touch this process
        os.write(status, json.dumps({"failed": traceback.format_exc()[-4000:]}).encode("ascii"))
        return False
    for fd in (status, lifeline, *claims):  # claims of uids are held for as long as the job lasts
        os.close(fd)
    return clean


def _import_probe(name: str) -> None:
    """Import a probe here, where it is readable, and once for all workers that run it.

    A mistake in it appears in the worker, which tries again and can report it.
    """
    with contextlib.suppress(BaseException):  # SystemExit, too
        worker.find_probe(name)


def _clean_up(confinement: sandbox.Confinement, kills: killer.Killer | None) -> bool:
    """Remove everything that a test left; return whether nothing is left.

    Nearly all tests leave no process, so there is nobody to kill. To look through all processes of
    this machine for one of the test's user would take longer than most tests.
    """
    clean = guardian.is_childless()
    if not clean and confinement.uid is not None:
        clean = sandbox.kill_user(confinement.uid, kills.kill if kills else None)
        clean = guardian.kill_descendants() and clean
    elif not clean:
        clean = guardian.kill_descendants()
    if confinement.uid is not None and not confinement.landlock:
        leftovers.sweep_files(confinement.uid)
    if confinement.uid is not None and not confinement.seccomp:
        leftovers.sweep_memory(confinement.uid)
    return clean


def _work(
    job: dict[str, Any],
    allowed: Limits,
    confinement: sandbox.Confinement,
    request: int,
    frame: int,
    output: int,
    ruleset: int | None,
    clock: Clock,
) -> None:
    """Run the worker: take the confinement first, then read the request."""
    try:
        os.setsid()
        _lay_descriptors(request, frame, output, ruleset)
        os.chdir(job["scratch"])
        os.environ["HOME"] = os.environ["TMPDIR"] = job["scratch"]
        limits.take(allowed)
        sandbox.take(confinement, None if ruleset is None else RULESET_FD)
        wanted = wire.decode(wire.read_frame(lambda n: os.read(REQUEST_FD, n)))
        os.listdir(os.path.join(wanted["submission"], "submission"))  # TMPDIR may be locked
        answer = worker.prepare(wanted)
        for asked in (signal.SIGUSR1, signal.SIGXCPU):  # by the guardian, by the kernel
            worker.tell_where_when_asked(FRAME_FD, asked)
        worker.refuse_breakpoints()
        os.write(FRAME_FD, worker.READY)
        stuck = wanted.get("stuck", ())
        importing.watch(lambda note: os.write(FRAME_FD, note), stuck, clock.switch)
        reply = answer()
        with contextlib.suppress(Exception):  # by now these are whatever the student's code left
            sys.stdout.flush()
            sys.stderr.flush()
        left = memoryview(reply)
        while left:
            left = left[os.write(FRAME_FD, left) :]
    except Exception:
        traceback.print_exc()  # failures before READY are the grader's
        sys.stderr.flush()
    finally:
        os._exit(0)


def _lay_descriptors(request: int, frame: int, output: int, ruleset: int | None) -> None:
    """Move descriptors to their numbers, and close all others.

    0 is empty, 1 and 2 are the captured output, 3 is the request, 4 the frame, 5 Landlock's rules.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    wanted = [null, output, output, request, frame, *([] if ruleset is None else [ruleset])]
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in wanted]
    for target, fd in enumerate(high):
        os.dup2(fd, target, inheritable=False if target > 2 else True)
    os.closerange(len(high), 4096)
