"""A seccomp filter that lets a worker make only the system calls of `system_calls.py` (Linux).

The filter is classic BPF, made here; the kernel's Documentation/userspace-api/seccomp_filter.rst
is the authority.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

from . import kernel
from .system_calls import (
    ABSENT,
    ALLOWED,
    CLONE,
    CLONE_THREAD,
    COMMANDS,
    ERRNO,
    FORK,
    KINDS,
    MAP_ANONYMOUS,
    MAP_HUGETLB,
    MAP_SHARED,
    MMAP,
    NEW_NAMESPACES,
    OWN_PID_ONLY,
    REFUSED,
    VFORK,
)

PR_SET_SECCOMP, MODE_FILTER = 22, 2
KILL = 0x80000000
LOAD, JEQ, JGE, JSET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT = 0, 4
INSTRUCTION = struct.Struct("=HBBI")
ANY_PID = 0xFFFFFFFF  # stands for a pid, and is none
ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# The kernel's error for a user with too many processes, which programs expect.
NO_MORE = ERRNO | errno.EAGAIN

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


def available() -> bool:
    """Return whether the tables cover this machine's system calls, and the kernel has filters."""
    return platform.machine() in ARCHES and os.path.exists("/proc/sys/kernel/seccomp")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def restrict(own_pid: int, processes: bool) -> None:
    """Install the filter for this process and its future children; needs no_new_privs.

    Args:
        own_pid: the only process that `kill` and the like may name besides 0 (which means self).
        processes: whether it may start processes; threads are always allowed.

    Raises:
        OSError: the kernel refuses.
    """
    template, places = prepare(processes)
    code = ctypes.create_string_buffer(template, len(template))
    for place in places:
        struct.pack_into("=I", code, place, own_pid)
    wanted = _Program(len(template) // INSTRUCTION.size, ctypes.addressof(code))
    kernel.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(wanted))


@functools.cache
def prepare(processes: bool) -> tuple[bytes, tuple[int, ...]]:
    """Return the filter for any process, and where its pid belongs in it.

    A guardian calls this once for all of its workers, which are forked with what it returned.
    """
    program = build(platform.machine(), ANY_PID, processes)
    code = b"".join(INSTRUCTION.pack(*instruction) for instruction in program)
    at = [n for n, instruction in enumerate(program) if instruction[3] == ANY_PID]
    return code, tuple(INSTRUCTION.size * n + INSTRUCTION.size - 4 for n in at)


def build(machine: str, own_pid: int, processes: bool) -> list[Instruction]:
    """Return the filter's instructions."""
    arch, column = ARCHES[machine]
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (JEQ, 1, 0, arch),
        (RETURN, 0, 0, KILL),  # 32-bit calls have other numbers
        (LOAD, 0, 0, NUMBER_AT),
        *_of(CLONE[column], _clone(processes)),
        *_of(MMAP[column], _mmap()),
    ]
    for numbers in OWN_PID_ONLY.values():
        program += _of(numbers[column], _own_pid(own_pid))
    for each in COMMANDS.values():
        tests = [_load(each.argument)]
        for command, action in each.actions.items():
            tests += [(JEQ, 0, 1, command), _return(action)]
        program += _of(each.numbers[column], [*tests, _return(each.others)])
    return program + _by_number(column, processes)


def _by_number(column: int, processes: bool) -> list[Instruction]:
    """Return the end of the filter: what is done with a call whatever its arguments."""
    actions = {number[column]: ALLOWED if processes else NO_MORE for number in (FORK, VFORK)}
    for kind in KINDS:
        actions |= {numbers[column]: kind.action for numbers in kind.calls.values()}
    known = sorted(number for number in actions if number is not None)
    # From the last number down, since a comparison finds all numbers from one on; also those of
    # x86-64's second table, x32, which are far beyond.
    program = [(JGE, 0, 1, known[-1] + 1), _return(ABSENT)]
    for number in range(known[-1], -1, -1):
        action, below = actions.get(number, ABSENT), actions.get(number - 1, ABSENT)
        if number == 0:
            program.append(_return(action))
        elif action != below:
            program += [(JGE, 0, 1, number), _return(action)]
    return program


def _of(number: int, then: list[Instruction]) -> list[Instruction]:
    """Return what decides a call by its number, and then by instructions that always return."""
    return [(JEQ, 0, len(then), number), *then]


def _clone(processes: bool) -> list[Instruction]:
    return [
        _load(0),
        (JSET, 0, 1, NEW_NAMESPACES),
        _return(REFUSED),
        (JSET, 1, 0, CLONE_THREAD),
        _return(ALLOWED if processes else NO_MORE),
        _return(ALLOWED),
    ]


def _mmap() -> list[Instruction]:
    return [
        _load(3),
        (JSET, 2, 0, MAP_HUGETLB),
        (JSET, 0, 2, MAP_ANONYMOUS),
        (JSET, 0, 1, MAP_SHARED),
        _return(REFUSED),
        _return(ALLOWED),
    ]


def _own_pid(own_pid: int) -> list[Instruction]:
    return [
        _load(0),
        (JEQ, 2, 0, own_pid),
        (JEQ, 1, 0, 0),
        _return(REFUSED),
        _return(ALLOWED),
    ]


def _load(argument: int) -> Instruction:
    """Return the loading of an argument's low half in struct seccomp_data (little-endian)."""
    return (LOAD, 0, 0, 16 + 8 * argument)


def _return(action: int) -> Instruction:
    return (RETURN, 0, 0, action)
