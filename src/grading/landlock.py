"""Landlock: an unprivileged process gives up access to files, permanently (Linux >= 5.13).

The kernel's Documentation/userspace-api/landlock.rst is the authority for numbers and structures.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Collection

from . import kernel

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
OWN = "/proc/self"  # another folder for each process


def abi() -> int:
    """Return the kernel's Landlock version, or 0 if it has none."""
    try:
        found = kernel.syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    except (OSError, AttributeError):
        return 0
    return max(found, 0)


def restrict(readable: Collection[str], writable: Collection[str]) -> int:
    """Give up all access except reading below `readable` and any access below `writable`.

    Needs no_new_privs. TCP, abstract sockets and signals to processes outside are also given up if
    the kernel supports it. Paths that don't exist are skipped.

    Returns:
        The ABI version that was used.

    Raises:
        OSError: the kernel refuses.
    """
    enforce(make_ruleset(readable, writable), readable)
    return abi()


def make_ruleset(readable: Collection[str], writable: Collection[str]) -> int:
    """Return the descriptor of a ruleset for `enforce`, which another process may then call.

    A worker's guardian makes it: the worker, just forked, would copy memory for each step. Only
    the process itself can add its own folder of /proc, so that one is left to `enforce`.

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
    ruleset = kernel.syscall(CREATE_RULESET, attributes, size, 0)
    try:
        for path in readable:
            if path != OWN:
                _allow(ruleset, path, READ & handled)
        for path in writable:
            _allow(ruleset, path, handled)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def enforce(ruleset: int, readable: Collection[str]) -> None:
    """Confine this process to a ruleset, and close it; needs no_new_privs.

    Args:
        readable: as the ruleset was made with; if it has OWN, this process's own is added.

    Raises:
        OSError: the kernel refuses.
    """
    try:
        if OWN in readable:
            _allow(ruleset, OWN, READ)
        kernel.syscall(RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= ON_FILES
        kernel.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)
