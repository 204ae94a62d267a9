"""What the kernel enforces for a worker: Landlock and a filter of system calls (Linux).

Python has no functions for either. The C library is opened once: opening it for every call takes
longer than the call, and a worker, which has to copy each page of memory that it touches, would pay
for that several times over.

The kernel's Documentation/userspace-api/landlock.rst and seccomp_filter.rst are the authority for
numbers and structures.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import stat
import struct
from collections.abc import Collection

from . import system_calls as calls

# Landlock
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
# The filter, which is classic BPF, made here
PR_SET_SECCOMP, MODE_FILTER = 22, 2
KILL = 0x80000000
LOAD, JEQ, JGE, JSET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT = 0, 4
INSTRUCTION = struct.Struct("=HBBI")
ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
# The kernel's error for a user with too many processes, which programs expect.
NO_MORE = calls.ERRNO | errno.EAGAIN

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


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


# Landlock: a process gives up access to files, permanently (Linux >= 5.13) ------------------------


def landlock_abi() -> int:
    """Return the kernel's Landlock version, or 0 if it has none."""
    try:
        found = syscall(CREATE_RULESET, None, 0, VERSION_FLAG)
    except (OSError, AttributeError):
        return 0
    return max(found, 0)


def restrict_files(readable: Collection[str], writable: Collection[str]) -> None:
    """Confine this process to files and folders; needs no_new_privs.

    Raises:
        OSError: the kernel refuses.
    """
    version = landlock_abi()
    if not version:
        raise OSError("this kernel has no Landlock")
    handled = FILE_RIGHTS[max(v for v in FILE_RIGHTS if v <= version)]
    attributes = struct.pack(
        "=QQQ", handled, TCP_BOTH if version >= 4 else 0, SCOPE_BOTH if version >= 6 else 0
    )
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = syscall(CREATE_RULESET, attributes, size, 0)
    try:
        for path in readable:
            _allow(ruleset, path, READ & handled)
        for path in writable:
            _allow(ruleset, path, handled)
        syscall(RESTRICT_SELF, ruleset, 0)
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
        syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, struct.pack("=Qi", rights, fd), 0)
    finally:
        os.close(fd)


# The filter: a worker makes only the system calls of system_calls.py ------------------------------


def has_seccomp() -> bool:
    """Return whether the tables cover this machine's system calls, and the kernel has filters."""
    return platform.machine() in ARCHES and os.path.exists("/proc/sys/kernel/seccomp")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install_filter(own_pid: int, processes: bool) -> None:
    """Install the filter for this process and its future children; needs no_new_privs.

    Args:
        own_pid: the only process that `kill` and the like may name besides 0 (which means self).
        processes: whether it may start processes; threads are always allowed.

    Raises:
        OSError: the kernel refuses.
    """
    program = build_filter(platform.machine(), own_pid, processes)
    code = b"".join(INSTRUCTION.pack(*instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = _Program(len(program), ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(filter_program))


def build_filter(machine: str, own_pid: int, processes: bool) -> list[Instruction]:
    """Return the filter's instructions."""
    arch, column = ARCHES[machine]
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (JEQ, 1, 0, arch),
        (RETURN, 0, 0, KILL),  # 32-bit calls have other numbers
        (LOAD, 0, 0, NUMBER_AT),
        *_of(calls.CLONE[column], _clone(processes)),
        *_of(calls.MMAP[column], _mmap()),
    ]
    for numbers in calls.OWN_PID_ONLY.values():
        program += _of(numbers[column], _own_pid(own_pid))
    for each in calls.COMMANDS.values():
        tests = [_load(each.argument)]
        for commands, action in ((each.allowed, calls.ALLOWED), (each.ignored, calls.IGNORED)):
            for command in commands:
                tests += [(JEQ, 0, 1, command), _return(action)]
        program += _of(each.numbers[column], [*tests, _return(each.others)])
    return program + _by_number(column, processes)


def _by_number(column: int, processes: bool) -> list[Instruction]:
    """Return the end of the filter: what is done with a call whatever its arguments."""
    actions: dict[int | None, int] = dict.fromkeys(range(calls.NEWEST + 1), calls.REFUSED)
    for action in calls.LISTED:
        actions |= {numbers[column]: action for numbers in calls.calls(action).values()}
    for numbers in (calls.FORK, calls.VFORK):
        actions[numbers[column]] = calls.ALLOWED if processes else NO_MORE
    # From the last number down, since a comparison finds all numbers from one on; also those of
    # x86-64's second table, x32, which are far beyond.
    program = [(JGE, 0, 1, calls.NEWEST + 1), _return(calls.ABSENT)]
    for number in range(calls.NEWEST, 0, -1):
        if actions[number] != actions[number - 1]:
            program += [(JGE, 0, 1, number), _return(actions[number])]
    return [*program, _return(actions[0])]


def _of(number: int, then: list[Instruction]) -> list[Instruction]:
    """Return what decides a call by its number, and then by instructions that always return."""
    return [(JEQ, 0, len(then), number), *then]


def _clone(processes: bool) -> list[Instruction]:
    return [
        _load(0),
        (JSET, 0, 1, calls.NEW_NAMESPACES),
        _return(calls.REFUSED),
        (JSET, 1, 0, calls.CLONE_THREAD),
        _return(calls.ALLOWED if processes else NO_MORE),
        _return(calls.ALLOWED),
    ]


def _mmap() -> list[Instruction]:
    return [
        _load(3),
        (JSET, 2, 0, calls.MAP_HUGETLB),
        (JSET, 0, 2, calls.MAP_ANONYMOUS),
        (JSET, 0, 1, calls.MAP_SHARED),
        _return(calls.REFUSED),
        _return(calls.ALLOWED),
    ]


def _own_pid(own_pid: int) -> list[Instruction]:
    return [
        _load(0),
        (JEQ, 2, 0, own_pid),
        (JEQ, 1, 0, 0),
        _return(calls.REFUSED),
        _return(calls.ALLOWED),
    ]


def _load(argument: int) -> Instruction:
    """Return the loading of an argument's low half in struct seccomp_data (little-endian)."""
    return (LOAD, 0, 0, 16 + 8 * argument)


def _return(action: int) -> Instruction:
    return (RETURN, 0, 0, action)
