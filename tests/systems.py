"""Windows and macOS as far as src/host.py can tell them from Linux, on which tests run."""

import errno
import fcntl
import os
import select
import signal
import sys
from types import SimpleNamespace

import pytest

import host

SYSTEMS = ("linux", "darwin", "win32")
# What their modules lack of what host.py uses on Linux.
LACKS = {
    "linux": {},
    "darwin": {os: {"O_PATH"}},
    "win32": {
        os: {"O_PATH", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "WNOHANG", "killpg", "sysconf"},
        signal: {"SIGKILL", "getitimer", "ITIMER_REAL"},
        select: {"poll"},
    },
}


def become(platform: str, patch: pytest.MonkeyPatch) -> None:
    """Let host.py take this system for another one, which has no /proc and other modules."""
    patch.setattr(host, "sys", SimpleNamespace(platform=platform))
    for module, names in LACKS[platform].items():
        left = {name: value for name, value in vars(module).items() if name not in names}
        patch.setattr(host, module.__name__, SimpleNamespace(**left))
    if platform != "linux":
        patch.setattr(host, "open", _no_proc, raising=False)
    if platform == "win32":
        # It knows no parent's descriptor, either.
        patch.setattr(host.os, "open", lambda path, flags: os.open(path, flags))
        patch.setitem(sys.modules, "fcntl", None)
        patch.setitem(sys.modules, "resource", None)
        patch.setitem(sys.modules, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=_locking))


def _no_proc(path: str, **_: str) -> None:
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _locking(file: int, mode: int, count: int) -> None:
    """Lock for this descriptor alone, like msvcrt.locking(): the same process can't lock twice."""
    assert (mode, count) == (2, 1)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
