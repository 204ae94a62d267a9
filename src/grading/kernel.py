"""System calls for which Python has no function (Linux).

The C library is opened once: opening it for every call takes longer than the call, and a worker,
which has to copy each page of memory that it touches, would pay for that several times over.
"""

from __future__ import annotations

import ctypes
import functools
import os


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """Call prctl(option, value, pointer, 0, 0).

    Raises:
        OSError: the kernel refuses.
    """
    _checked(_libc().prctl(option, value, pointer, 0, 0))


def syscall(number: int, *arguments: object) -> int:
    """Make a system call by its number; return its result.

    Raises:
        OSError: the kernel refuses.
        AttributeError: this system has no system calls by number.
    """
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(_libc().syscall(ctypes.c_long(number), *plain))


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
