"""The zygote: a process that has imported the libraries once and forks a worker a test (Linux).

    parent --exec--> zygote --fork--> guardian --fork--> worker

The parent sends one JSON message a job over a socket, with its descriptors beside it; the
zygote forks a guardian and forgets about it. The guardian reports on the job's status pipe.
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

from . import guardian, importing, limits, sandbox, wire, worker

DESCRIPTORS = 6  # request, frame, output, status, lifeline; claims of uids, if there are any
ZYGOTES_SCORE = 500  # see limits.offer
REQUEST_FD, FRAME_FD = 3, 4  # where the worker finds its two


def main(control_fd: int, with_torch: bool) -> None:
    """Serve jobs until the parent closes the socket. Started by `processes.Zygote`."""
    control = socket.socket(fileno=control_fd)
    sandbox.hide_memory()
    worker.preload(with_torch)
    usual_score = limits.offer(ZYGOTES_SCORE)
    gc.freeze()  # or a worker's garbage collector looks at, and so copies, all that it shares
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it closes the socket
    try:
        control.send(b"ready")
        _serve(control, usual_score)
    except ConnectionError:
        os._exit(0)  # the parent has left without a word: bad usage, say, or nothing to run


def _serve(control: socket.socket, usual_score: int) -> None:
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1 << 16, DESCRIPTORS)
        _reap()
        if not message:
            os._exit(0)  # taking torch down in good order takes longer than many a test
        job = json.loads(message)
        _import_probe(job["probe"])
        pid = os.fork()
        if pid == 0:
            control.close()
            limits.offer(usual_score)
            _guard(job, fds)
        for fd in fds:
            os.close(fd)


def _import_probe(name: str) -> None:
    """Import a probe here, where it can be read, and once for all workers that run it.

    A mistake in it shows in the worker, which tries again and can tell.
    """
    with contextlib.suppress(BaseException):  # SystemExit, too
        worker.find_probe(name)


def _reap() -> None:
    """Take note of guardians that have ended, so that their CPU time counts as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _guard(job: dict[str, Any], fds: list[int]) -> None:
    """Live the guardian's life, from fork to exit."""
    request, frame, output, status, lifeline, *_claims = fds  # the claims: held until we end
    code = 1
    try:
        os.setsid()
        guardian.become_subreaper()
        allowed = limits.Limits(**job["limits"])
        confinement = sandbox.Confinement(**job["confinement"])
        pid = os.fork()
        if pid == 0:
            os.close(status)
            os.close(lifeline)
            _work(job, allowed, confinement, request, frame, output)
        for fd in (request, frame, output):
            os.close(fd)
        ending = guardian.watch(pid, allowed, lifeline, job["scratch"])
        ending = replace(ending, clean=_clean_up(confinement))
        os.write(status, json.dumps(asdict(ending)).encode("ascii"))
        code = 0
    except Exception:  # ours: the worker may not touch this process
        os.write(status, json.dumps({"failed": traceback.format_exc()[-4000:]}).encode("ascii"))
    finally:
        try:
            guardian.kill_descendants()  # whatever went wrong here, no worker goes on without us
        finally:
            os._exit(code)


def _clean_up(confinement: sandbox.Confinement) -> bool:
    """Leave nothing of a test behind; return whether nothing is left."""
    clean = True
    if confinement.uid is not None:
        clean = sandbox.kill_user(confinement.uid)
    clean = guardian.kill_descendants() and clean
    if confinement.uid is not None and not confinement.landlock:
        sandbox.sweep_files(confinement.uid)
    if confinement.uid is not None and not confinement.seccomp:
        sandbox.sweep_memory(confinement.uid)
    return clean


def _work(
    job: dict[str, Any],
    allowed: limits.Limits,
    confinement: sandbox.Confinement,
    request: int,
    frame: int,
    output: int,
) -> None:
    """Live the worker's life: take the confinement first, then read the request."""
    try:
        os.setsid()
        _lay_descriptors(request, frame, output)
        os.chdir(job["scratch"])
        os.environ["HOME"] = os.environ["TMPDIR"] = job["scratch"]
        limits.take(allowed)
        sandbox.take(confinement)
        wanted = wire.decode(wire.read_frame(lambda n: os.read(REQUEST_FD, n)))
        os.listdir(os.path.join(wanted["submission"], "submission"))  # TMPDIR may be locked
        answer = worker.prepare(wanted)
        worker.tell_where_when_asked(FRAME_FD, signal.SIGUSR1)
        worker.refuse_breakpoints()
        os.write(FRAME_FD, worker.READY)
        importing.watch(lambda note: os.write(FRAME_FD, note), wanted.get("stuck", ()))
        reply = answer()
        with contextlib.suppress(Exception):  # by now these are whatever the student's code left
            sys.stdout.flush()
            sys.stderr.flush()
        left = memoryview(reply)
        while left:
            left = left[os.write(FRAME_FD, left) :]
    except Exception:
        traceback.print_exc()  # what goes wrong before READY is ours
        sys.stderr.flush()
    finally:
        os._exit(0)


def _lay_descriptors(request: int, frame: int, output: int) -> None:
    """Give descriptors their numbers, and close all others.

    0 is nothing, 1 and 2 are the captured output, 3 is the request, 4 the frame.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (null, output, output, request, frame)]
    for target, fd in enumerate(high):
        os.dup2(fd, target, inheritable=False if target > 2 else True)
    os.closerange(5, 4096)
