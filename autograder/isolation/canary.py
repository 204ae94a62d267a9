"""The canary checks the confinement by trying everything that student code must not do.

It runs like student code, in a worker with the same confinement, and reports what succeeded.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from grading.worker import Context


def try_everything(
    context: Context, secrets: list[str], folders: list[str], pids: list[int]
) -> dict[str, Any]:
    """Try to read each secret, write to each folder, signal each process, open a socket.

    It also tries to read through a link in the scratch folder.

    Returns:
        What succeeded: the secrets read, the folders written to, the processes reached, the kinds
        of socket opened; and whether the scratch folder can be written to, as it should.
    """
    return {
        "read": [path for path in secrets if any(_ways_to_read(path))],
        "written": [path for path in folders if _works(partial(_write, path))],
        "signalled": [pid for pid in pids if _works(partial(os.kill, pid, 0))],
        "sockets": [
            kind
            for kind, family in (("TCP", socket.AF_INET), ("Unix", socket.AF_UNIX))
            if _works(partial(_open_socket, family))
        ],
        "scratch": _works(partial(_write, str(context.scratch))),
    }


def _works(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _ways_to_read(path: str) -> Iterator[bool]:
    """Yield whether each way to read a file or folder works: by its name, or through a link."""
    yield _works(partial(_read, path))
    for make in (os.symlink, os.link):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            link = os.path.join(folder, "link")
            yield _works(partial(_read_by_link, make, path, link))


def _read(path: str) -> None:
    if os.path.isdir(path):
        os.listdir(path)
        return
    with open(path, "rb") as reader:
        reader.read(1)


def _read_by_link(make: Callable[[str, str], None], path: str, link: str) -> None:
    make(path, link)
    _read(link)


def _write(folder: str) -> None:
    path = os.path.join(folder, f"canary-{os.getpid()}")
    with open(path, "wb"):
        pass
    os.unlink(path)


def _open_socket(family: socket.AddressFamily) -> None:
    socket.socket(family, socket.SOCK_STREAM).close()
