"""What the kernel enforces for a worker: Landlock and a filter of system calls (Linux).

Python has no functions for either. The kernel's Documentation/userspace-api/landlock.rst and
seccomp_filter.rst are the authority for numbers and structures.
"""

import ctypes
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
# An instruction, and how many it leaves out if it holds, and if it doesn't.
COMPARISONS = {calls.EQUALS: (JEQ, 0, 1), calls.HAS: (JSET, 0, 1), calls.LACKS: (JSET, 1, 0)}

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant


@functools.cache
def _libc() -> ctypes.CDLL:
    """Open the C library, only once: this takes longer than a call, in a worker many times."""
    return ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int, pointer: object = 0) -> None:
    """Call prctl(option, value, pointer, 0, 0); OSError: the kernel refuses."""
    _checked(_libc().prctl(option, value, pointer, 0, 0))


def syscall(number: int, *arguments: object) -> int:
    """Make a system call by its number; return its result.

    OSError: the kernel refuses. AttributeError: this system has no system calls by number.
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


def restrict_files(abi: int, readable: Collection[str], writable: Collection[str]) -> None:
    """Confine this process to files and folders, with no_new_privs; OSError: it is refused."""
    handled = FILE_RIGHTS[max(v for v in FILE_RIGHTS if v <= abi)]
    attributes = struct.pack("=QQQ", handled, TCP_BOTH, SCOPE_BOTH)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8  # bytes of these that the kernel knows
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
    """Install the filter for this process and its future children, with no_new_privs.

    `system_calls.rules` explains the arguments. OSError: the kernel refuses.
    """
    program = build_filter(platform.machine(), own_pid, processes)
    code = b"".join(INSTRUCTION.pack(*instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_program = _Program(len(program), ctypes.addressof(buffer))
    prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(filter_program))


def build_filter(machine: str, own_pid: int, processes: bool) -> list[Instruction]:
    """Return the filter's instructions: first the rules of single calls, then by number alone."""
    arch, column = ARCHES[machine]
    program: list[Instruction] = [
        (LOAD, 0, 0, ARCH_AT),
        (JEQ, 1, 0, arch),
        _return(KILL),  # 32-bit calls have other numbers
        (LOAD, 0, 0, NUMBER_AT),
    ]
    for rule in calls.rules(own_pid, processes).values():
        number = rule.numbers[column]
        if number is not None:
            decision = _decision(rule)
            program += [(JEQ, 0, len(decision), number), *decision]
    actions = dict.fromkeys(range(calls.NEWEST + 1), calls.REFUSED)
    for action, table in calls.CALLS.items():
        listed = (numbers[column] for numbers in table.values())
        actions |= {number: action for number in listed if number is not None}
    # From the last number down, since a comparison finds all numbers from one on; also those of
    # x86-64's second table, x32, which are far beyond.
    program += [(JGE, 0, 1, calls.NEWEST + 1), _return(calls.ABSENT)]
    for number in range(calls.NEWEST, 0, -1):
        if actions[number] != actions[number - 1]:
            program += [(JGE, 0, 1, number), _return(actions[number])]
    return [*program, _return(actions[0])]


def _decision(rule: calls.Rule) -> list[Instruction]:
    """Return the instructions for a call with a rule; they always return."""
    # The low half of an argument in struct seccomp_data (little-endian).
    program: list[Instruction] = [(LOAD, 0, 0, 16 + 8 * rule.argument)]
    for comparison, value, action in rule.cases:
        program += [(*COMPARISONS[comparison], value), _return(action)]
    return [*program, _return(rule.others)]


def _return(action: int) -> Instruction:
    return (RETURN, 0, 0, action)
