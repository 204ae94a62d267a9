"""The zygote: a process that has imported the libraries once, for all workers (Linux).

    parent --exec--> zygote --fork--> guardian --fork--> worker, worker, ...

The parent asks the zygote for a guardian, which gets a socket of its own. Through it, the parent
sends one JSON message per job, together with the job's descriptors. The guardian forks a worker for
the job, watches it, and answers with a report. If the parent's end closes, it kills the worker.
"""

import contextlib
import faulthandler
import fcntl
import gc
import json
import os
import pkgutil
import signal
import socket
import sys
import traceback
from dataclasses import asdict
from typing import Any

from grading import wire, worker
from grading.pool import Ending
from grading.worker import Limits

from . import guardian, kernel, leftovers, sandbox
from .guardian import Clock
from .sandbox import Confinement

DESCRIPTORS = 4  # request, frame, output; the claim of a uid, if it has one
ZYGOTES_SCORE = 500  # see sandbox.offer
REQUEST_FD, FRAME_FD = 3, 4  # where the worker finds its own
PR_SET_CHILD_SUBREAPER = 36


def main(control_fd: int, with_torch: bool) -> None:
    """Serve until the parent closes the socket. Started by `pool.Zygote`."""
    control = socket.socket(fileno=control_fd)
    sandbox.hide_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C, and closes the socket
    worker.preload(with_torch)
    usual_score = sandbox.offer(ZYGOTES_SCORE)
    gc.freeze()  # or a worker's garbage collector would touch, and so copy, shared memory
    with contextlib.suppress(ConnectionError):  # the parent has ended without notice
        control.send(b"ready")
        while True:  # each message asks for a guardian, and has its socket
            message, fds, _, _ = socket.recv_fds(control, 16, 1)
            leftovers.reap()  # so that the CPU time of guardians that have ended counts as ours
            if not message:
                break
            if os.fork() == 0:
                control.close()
                sandbox.offer(usual_score)
                _guard(socket.socket(fileno=fds[0]))
            os.close(fds[0])
    control.close()
    with contextlib.suppress(ChildProcessError):
        while True:  # until the guardians have ended, which they do after their present jobs
            os.wait()
    os._exit(0)  # shutting down torch properly takes longer than many tests


def _guard(parent: socket.socket) -> None:
    """Be a guardian: do one job after another, until the parent closes the socket."""
    try:
        os.setsid()
        is_clean = True
        while is_clean:
            message, fds, _, _ = socket.recv_fds(parent, 1 << 16, DESCRIPTORS)
            if not message:
                break
            try:
                ending = asdict(_do(json.loads(message), fds, parent.fileno()))
                is_clean = leftovers.reap()
                report = {"ending": ending, "is_clean": is_clean}
            except Exception:  # the grader's fault: the worker can't touch this process
                report = {"failed": traceback.format_exc()[-4000:]}
                is_clean = False
            parent.send(json.dumps(report).encode("ascii"))
    except ConnectionError:
        pass  # the parent has ended without notice
    finally:
        try:
            guardian.kill_descendants()  # whatever went wrong, no worker may continue without us
        finally:
            os._exit(0)


def _do(job: dict[str, Any], fds: list[int], parent: int) -> Ending:
    """Let a worker do a job, and remove what it left."""
    kernel.prctl(PR_SET_CHILD_SUBREAPER, 1)
    # Here, where it is readable, and once for all workers that run it. A mistake in the probe
    # appears in the worker, which tries again and can report it.
    with contextlib.suppress(BaseException):  # SystemExit, too
        pkgutil.resolve_name(job["probe"])
    confinement = Confinement(**job["confinement"])
    pipes, claims = fds[:3], fds[3:]
    limits, clock = Limits(**job["limits"]), Clock()
    pid = os.fork()
    if pid == 0:
        _work(job, limits, confinement, pipes, clock)
    for fd in pipes:
        os.close(fd)
    ending = guardian.watch(pid, limits, parent, job["scratch"], clock)
    uid = confinement.uid
    guardian.kill_descendants(uid)
    if uid is not None and not confinement.landlock_abi:
        leftovers.sweep_files(uid)
    if uid is not None and not confinement.seccomp:
        leftovers.sweep_memory(uid)
    for fd in claims:
        os.close(fd)
    return ending


def _work(
    job: dict[str, Any], limits: Limits, confinement: Confinement, fds: list[int], clock: Clock
) -> None:
    """Run the worker: take the confinement first, then read the request."""
    try:
        os.setsid()
        _lay_descriptors(*fds)
        os.chdir(job["scratch"])
        os.environ |= worker.at_home(job["scratch"])
        sandbox.limit(limits)
        sandbox.take(confinement)
        with open(REQUEST_FD, "rb", closefd=False) as requests:
            request = wire.read_request(requests)
        os.listdir(os.path.join(request["submission"], "submission"))  # TMPDIR may be locked
        answer = worker.prepare(request)
        for number in (signal.SIGUSR1, signal.SIGXCPU):  # from the guardian, from the kernel
            # In C: it writes the stack during other C code, whatever student code catches.
            faulthandler.register(number, file=FRAME_FD, all_threads=False, chain=True)
        sys.breakpointhook = worker.refuse_breakpoint
        os.write(FRAME_FD, worker.READY)
        stuck = request.get("stuck", ())
        sys.meta_path.insert(0, worker.Finder(FRAME_FD, stuck, clock.switch))
        reply = answer()
        with contextlib.suppress(Exception):  # by now these are whatever the student's code left
            sys.stdout.flush()
            sys.stderr.flush()
        worker.write_all(FRAME_FD, reply)
    except Exception:
        traceback.print_exc()  # failures before READY are the grader's
        sys.stderr.flush()
    finally:
        os._exit(0)


def _lay_descriptors(request: int, frame: int, output: int) -> None:
    """Move descriptors to their numbers, and close all others.

    0 is empty, 1 and 2 are the captured output, 3 is the request, 4 the frame.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (null, output, output, request, frame)]
    for target, fd in enumerate(high):
        os.dup2(fd, target, inheritable=target <= 2)
    os.closerange(len(high), 4096)
