"""A small process that kills everything of a test's user on behalf of large guardians (root).

To reach all of a user's processes at once, a process has to become that user, which takes a fork
after each test. Forking a process that has imported torch costs more than many tests do. So the
zygote starts this process before it imports anything.
"""

from __future__ import annotations

import contextlib
import os
import socket

from . import sandbox

KILLED = b"k"


class Killer:
    """The way to reach the process; guardians inherit it with the zygote's memory."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    def kill(self, uid: int) -> None:
        """Send SIGKILL to all processes of a user; if the small process has ended, fork instead."""
        read_end, write_end = os.pipe()
        try:
            with contextlib.suppress(OSError):
                socket.send_fds(self._requests, [str(uid).encode("ascii")], [write_end])
            os.close(write_end)
            done = os.read(read_end, 1) == KILLED
        finally:
            os.close(read_end)
        if not done:
            sandbox.kill_as(uid)

    def close(self) -> None:
        """Let the process end once nobody else can ask it either."""
        self._requests.close()


def start(control: socket.socket) -> Killer:
    """Fork the process.

    Args:
        control: what it must not keep open: the zygote's end of its parent's socket.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        try:
            ours.close()
            control.close()
            _serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    return Killer(ours)


def _serve(requests: socket.socket) -> None:
    while True:
        message, fds, _, _ = socket.recv_fds(requests, 64, 1)
        if not message:
            return
        sandbox.kill_as(int(message))
        for fd in fds:
            with contextlib.suppress(OSError):  # the one who asked was killed
                os.write(fd, KILLED)
            os.close(fd)
