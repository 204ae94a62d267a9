"""A seccomp filter that refuses system calls that no solution needs (Linux, x86-64 and arm64).

The filter is classic BPF, made here; the kernel's Documentation/userspace-api/seccomp_filter.rst
is the authority. Everything that is not listed is allowed, since numpy and torch use more of the
kernel than can be listed; Landlock and the uid protect what remains reachable.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import struct

from . import kernel

PR_SET_SECCOMP, MODE_FILTER = 22, 2
KILL, ERRNO, ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
LOAD, JEQ, JGE, JSET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER_AT, ARCH_AT = 0, 4
X32_BIT = 0x40000000  # x86-64's second table of system calls
INSTRUCTION = struct.Struct("=HBBI")
ANY_PID = 0xFFFFFFFF  # stands for a pid, and is none
ARCHES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# name: (x86-64, arm64), from the kernel's tables; None: it doesn't exist there.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    # networks
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    # other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "kcmp": (312, 272),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "mount_setattr": (442, 442),
    # ways around file permissions
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    # keyrings
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # large attack surfaces of the kernel
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "personality": (135, 92),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
    # what Landlock does not watch: permissions, owners, times and attributes of files
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    # priorities of all processes of a user
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    # memory that belongs to no process and so escapes the watch
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "socketpair": (53, 199),
    # shared memory that outlives its processes: System V's and POSIX message queues
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}
# Refused for any process but the caller itself; name: (x86-64, arm64, which argument is the pid).
OWN_PID_ONLY: dict[str, tuple[int, int, int]] = {
    "kill": (62, 129, 0),
    "tkill": (200, 130, 0),
    "tgkill": (234, 131, 0),
    "prlimit64": (302, 261, 0),
    "sched_setaffinity": (203, 122, 0),
    "sched_setscheduler": (144, 119, 0),
    "sched_setparam": (142, 118, 0),
    "sched_setattr": (314, 274, 0),
}
# Refused with these commands; name: (x86-64, arm64, commands, the second argument). A pipe's owner
# can be sent any signal by whoever set it; TIOCSTI and TIOCLINUX type into a terminal.
REFUSED_COMMANDS: dict[str, tuple[int, int, tuple[int, ...]]] = {
    "fcntl": (72, 25, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": (16, 29, (0x8901, 0x8902, 0x5412, 0x541C)),  # FIOSETOWN, SIOCSPGRP, TIOC...
}
CLONE, CLONE3 = (56, 220), (435, 435)
CLONE_THREAD = 0x00010000
FORKS: tuple[tuple[int | None, int | None], ...] = (
    (57, None),
    (58, None),
)  # fork and vfork; on arm64, libc takes clone for both
NEW_NAMESPACES = (
    0x7E020000 | 0x00000080
)  # CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net, time


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


def build(machine: str, own_pid: int, processes: bool) -> list[tuple[int, int, int, int]]:
    """Return the filter's instructions as (code, jump if true, jump if false, constant)."""
    arch, column = ARCHES[machine]
    refuse = (RETURN, 0, 0, ERRNO | errno.EPERM)
    # The kernel's error for a user with too many processes, which programs expect.
    no_more = (RETURN, 0, 0, ERRNO | errno.EAGAIN)
    program = [
        (LOAD, 0, 0, ARCH_AT),
        (JEQ, 1, 0, arch),
        (RETURN, 0, 0, KILL),  # 32-bit calls have other numbers
        (LOAD, 0, 0, NUMBER_AT),
        (JGE, 0, 1, X32_BIT),
        refuse,
        # clone3 hides its flags behind a pointer; if it doesn't exist, libc uses clone.
        (JEQ, 0, 1, CLONE3[column]),
        (RETURN, 0, 0, ERRNO | errno.ENOSYS),
        (JEQ, 0, 6, CLONE[column]),
        (LOAD, 0, 0, _argument(0)),
        (JSET, 0, 1, NEW_NAMESPACES),
        refuse,
        (JSET, 1, 0, CLONE_THREAD),
        (RETURN, 0, 0, ALLOW) if processes else no_more,
        (RETURN, 0, 0, ALLOW),
    ]
    for numbers in FORKS:
        number = numbers[column]
        if not processes and number is not None:
            program += [(JEQ, 0, 1, number), no_more]
    for numbers in REFUSED.values():
        number = numbers[column]
        if number is not None:
            program += [(JEQ, 0, 1, number), refuse]
    for x86_64, arm64, position in OWN_PID_ONLY.values():
        program += [
            (JEQ, 0, 5, (x86_64, arm64)[column]),
            (LOAD, 0, 0, _argument(position)),
            (JEQ, 2, 0, own_pid),
            (JEQ, 1, 0, 0),
            refuse,
            (RETURN, 0, 0, ALLOW),
        ]
    for x86_64, arm64, commands in REFUSED_COMMANDS.values():
        number = (x86_64, arm64)[column]
        program += [(JEQ, 0, 2 * len(commands) + 2, number), (LOAD, 0, 0, _argument(1))]
        for command in commands:
            program += [(JEQ, 0, 1, command), refuse]
        program.append((RETURN, 0, 0, ALLOW))
    return [*program, (RETURN, 0, 0, ALLOW)]


def _argument(position: int) -> int:
    """Return the offset of an argument's low half in struct seccomp_data (little-endian)."""
    return 16 + 8 * position
