"""Landlock: an unprivileged process gives up access to files, permanently (Linux >= 5.13).

Raw system calls through ctypes; the kernel's Documentation/userspace-api/landlock.rst is the
authority for numbers and structures.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
VERSION_FLAG = 1
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = EXECUTE | READ_FILE | READ_DIR
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
# Which rights each ABI version knows: 13 at first; then moving (2), TRUNCATE (3), IOCTL_DEV (5).
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP_BOTH = 0b11  # bind and connect, ABI 4
SCOPE_BOTH = 0b11  # abstract Unix sockets and signals, ABI 6


def abi() -> int:
    """Return the kernel's Landlock version, or 0 if it has none."""
    try:
        found = _syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    except (OSError, AttributeError):
        return 0
    return max(found, 0)


def restrict(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Give up all access except reading below `readable` and any access below `writable`.

    Needs no_new_privs. TCP, abstract sockets and signals to processes outside are also given up if
    the kernel supports it. Paths that don't exist are skipped.

    Returns:
        The ABI version that was used.

    Raises:
        OSError: the kernel refuses.
    """
    version = abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    handled = FILE_RIGHTS[max(v for v in FILE_RIGHTS if v <= version)]
    attributes = struct.pack(
        "=QQQ", handled, TCP_BOTH if version >= 4 else 0, SCOPE_BOTH if version >= 6 else 0
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _syscall(CREATE_RULESET, attributes, size, 0)
    try:
        for path in readable:
            _allow(ruleset, path, READ & handled)
        for path in writable:
            _allow(ruleset, path, handled)
        _syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= ON_FILES
        _syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)


def _syscall(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
