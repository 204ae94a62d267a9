"""The system calls of Linux on x86-64 and arm64, and what a worker's filter does with each.

Each call is listed with its two numbers, from the kernel's tables; "-": that machine lacks it. What
is not listed is refused: whatever reaches networks, other processes, namespaces, mounts, keyrings,
permissions, owners and times of files, which Landlock does not watch, or the machine itself; memory
that belongs to no process, and so escapes the watch; and large parts of the kernel that no solution
needs. A call newer than NEWEST is refused as by a kernel that lacks it: libraries then do without.
`kernel.py` makes the filter from these tables; what they must achieve together, and what one worker
can still tell another, is in `autograder/__init__.py`.
"""

import errno
import re
from typing import NamedTuple

ERRNO, ALLOWED = 0x00050000, 0x7FFF0000  # the kernel's SECCOMP_RET_ERRNO and SECCOMP_RET_ALLOW
REFUSED = ERRNO | errno.EPERM
ABSENT = ERRNO | errno.ENOSYS  # as by a kernel without it: who needs the call has another way
IGNORED = ERRNO | 0  # succeeds without any effect
NO_MORE = ERRNO | errno.EAGAIN  # the error of a user with too many processes, for programs
NEWEST = 469  # the last number of Linux 6.17, on both machines

Numbers = tuple[int | None, ...]  # two: on x86-64 and on arm64

# What is done with a call whatever its arguments; a comment says why.
LISTED = {
    ALLOWED: """
        # reads, writes and waits for what is open: what may be opened is for Landlock to say
        read 0 63, write 1 64, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66,
        preadv 295 69, pwritev 296 70, pwritev2 328 287, lseek 8 62, close 3 57,
        close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59,
        poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -,
        epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22,
        epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -,
        signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86,
        timerfd_gettime 287 87, sendfile 40 71, copy_file_range 326 285, fsync 74 82,
        fdatasync 75 83, sync 162 81, syncfs 306 267, sync_file_range 277 84,
        readahead 187 213, ftruncate 77 46, fallocate 285 47,
        # opens, lists, makes and removes files: Landlock says which
        open 2 -, openat 257 56, openat2 437 437, creat 85 -, truncate 76 45, mkdir 83 -,
        mkdirat 258 34, mknod 133 -, mknodat 259 33, rmdir 84 -, unlink 87 -,
        unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, link 86 -,
        linkat 265 37, symlink 88 -, symlinkat 266 36, getdents 78 -, getdents64 217 61,
        chdir 80 49, fchdir 81 50, getcwd 79 17, umask 95 166,
        # describes files, also those that Landlock doesn't allow to open
        stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -,
        faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78,
        statfs 137 43, fstatfs 138 44, ustat 136 -, sysfs 139 -, getxattr 191 8,
        lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12,
        flistxattr 196 13, getxattrat 464 464, listxattrat 465 465, file_getattr 468 468,
        # manages the process's own memory, which the guardian measures
        munmap 11 215, mprotect 10 226, brk 12 214, mremap 25 216, msync 26 227,
        mlock 149 228, munlock 150 229, mlockall 151 230, munlockall 152 231,
        mlock2 325 284, remap_file_pages 216 234, pkey_mprotect 329 288, pkey_alloc 330 289,
        pkey_free 331 290, mseal 462 462, map_shadow_stack 453 453, mbind 237 235,
        set_mempolicy 238 237, get_mempolicy 239 236, set_mempolicy_home_node 450 450,
        # runs and synchronizes the process's own threads
        futex 202 98, futex_waitv 449 449, futex_wake 454 454, futex_wait 455 455,
        futex_requeue 456 456, set_robust_list 273 99, set_tid_address 218 96, rseq 334 293,
        membarrier 324 283, sched_yield 24 124, getcpu 309 168, gettid 186 178,
        set_thread_area 205 -, get_thread_area 211 -, arch_prctl 158 -,
        restart_syscall 219 128,
        # starts, awaits and ends processes of its own: a limit holds for their number
        execve 59 221, execveat 322 281, wait4 61 260, waitid 247 95, exit 60 93,
        exit_group 231 94,
        # handles the process's own signals
        rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
        rt_sigpending 127 136, rt_sigtimedwait 128 137, rt_sigsuspend 130 133,
        sigaltstack 131 132, pause 34 -, uretprobe 335 -, uprobe 336 -,
        # tells and awaits the time, also the CPU time of any process
        time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114,
        clock_nanosleep 230 115, nanosleep 35 101, alarm 37 -, getitimer 36 102,
        setitimer 38 103, timer_create 222 107, timer_settime 223 110,
        timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, times 100 153,
        # asks or lowers the process's own rights and limits: only root could raise them
        getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176,
        getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
        getpgrp 111 -, setpgid 109 154, setsid 112 157, setuid 105 146, setgid 106 144,
        setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
        setgroups 116 159, setfsuid 122 151, setfsgid 123 152, capget 125 90, capset 126 91,
        getrlimit 97 163, setrlimit 160 164, getrusage 98 165, prctl 157 167,
        seccomp 317 277,
        # asks about the machine, and how processes are scheduled, which no worker can change
        uname 63 160, sysinfo 99 179, getrandom 318 278, sched_getaffinity 204 123,
        sched_getscheduler 145 120, sched_getparam 143 121, sched_getattr 315 275,
        sched_get_priority_max 146 125, sched_get_priority_min 147 126,
        sched_rr_get_interval 148 127, getpriority 140 141, ioprio_get 252 31,
        # uses sockets, of which a worker has none
        accept 43 202, accept4 288 242, sendto 44 206, recvfrom 45 207, sendmsg 46 211,
        recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243, shutdown 48 210,
        getsockname 51 204, getpeername 52 205, setsockopt 54 208, getsockopt 55 209
        """,
    IGNORED: """
        # advice and locks, by which one worker could tell another something; no program notices
        fadvise64 221 223, flock 73 32, sched_setaffinity 203 122
        """,
    ABSENT: """
        # who uses a file, and which of its parts are in memory
        inotify_init 253 -, inotify_init1 294 26, inotify_add_watch 254 27,
        inotify_rm_watch 255 28, mincore 27 232, cachestat 451 451, preadv2 327 286,
        # pipes that keep pages of memory which no process has any more
        splice 275 76, tee 276 77, vmsplice 278 75,
        # asynchronous input and output, of which the whole machine has a limited number
        io_setup 206 0, io_destroy 207 1, io_submit 209 2, io_cancel 210 3,
        io_getevents 208 4, io_pgetevents 333 292,
        # clone3, whose flags are behind a pointer: libc then uses clone
        clone3 435 435
        """,
}


# By action, then by name; read here, once for all workers.
CALLS: dict[int, dict[str, Numbers]] = {
    action: {
        name: tuple(None if number == "-" else int(number) for number in numbers)
        for name, *numbers in re.findall(r"(\w+) (\d+|-) (\d+|-)", text)
    }
    for action, text in LISTED.items()
}

# What depends on an argument. Arguments of 32 bits, as all of these are, have nothing above them.

# Only for the calling process itself; the pid is the first argument, and 0 is also the caller.
OWN_PID_ONLY: dict[str, Numbers] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "getpgid": (121, 155),  # of another worker's processes, which can choose it
    "getsid": (124, 156),
}
MAP_SHARED, MAP_ANONYMOUS, MAP_HUGETLB = 0x01, 0x20, 0x40000
CLONE_THREAD = 0x00010000
NEW_NAMESPACES = 0x7E020080  # CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net, time
EQUALS, HAS, LACKS = "equals", "has a bit of", "lacks all bits of"


class Rule(NamedTuple):
    """What is done with a system call by one of its arguments: the first case that holds decides.

    A case says how to compare the argument, with what, and what is done then.
    """

    numbers: Numbers
    argument: int
    cases: tuple[tuple[str, int, int], ...]
    others: int


def rules(own_pid: int, processes: bool) -> dict[str, Rule]:
    """Return the rules for a worker by the names of the calls.

    Args:
        own_pid: the only process that it may name besides 0.
        processes: whether it may start processes; threads are always allowed.
    """
    started = ALLOWED if processes else NO_MORE
    own = ((EQUALS, own_pid, ALLOWED), (EQUALS, 0, ALLOWED))
    # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL; F_DUPFD_QUERY, F_CREATED_QUERY, F_DUPFD_CLOEXEC,
    # F_SETPIPE_SZ, F_GETPIPE_SZ
    fcntl = (0, 1, 2, 3, 4, 1027, 1028, 1030, 1031, 1032)
    locks = (6, 7, 37, 38)  # F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
    # TCGETS, TCGETS2, TIOCGWINSZ: is it a terminal? FIONREAD, FIONBIO; FIONCLEX, FIOCLEX; FICLONE,
    # FICLONERANGE: copies into a writable file
    ioctl = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x40049409, 0x4020940D)
    # MADV_MERGEABLE shares equal pages between processes; MADV_COLD and MADV_PAGEOUT move pages to
    # the swap space, where the guardian doesn't count them.
    madvise = (12, 20, 21)
    return {name: Rule(numbers, 0, own, REFUSED) for name, numbers in OWN_PID_ONLY.items()} | {
        # Threads, and processes where these are allowed, in no new namespace. On arm64, libc takes
        # clone for all three.
        "clone": Rule(
            (56, 220), 0, ((HAS, NEW_NAMESPACES, REFUSED), (HAS, CLONE_THREAD, ALLOWED)), started
        ),
        "fork": Rule((57, None), 0, (), started),
        "vfork": Rule((58, None), 0, (), started),
        # Not: shared memory without a file, since what a process drops of it still exists, and is
        # nobody's; huge pages, which are not counted as resident.
        "mmap": Rule(
            (9, 222),
            3,
            (
                (HAS, MAP_HUGETLB, REFUSED),
                (LACKS, MAP_ANONYMOUS, ALLOWED),
                (LACKS, MAP_SHARED, ALLOWED),
            ),
            REFUSED,
        ),
        # Not: leases and notices, with which the owner of a file delays or observes who opens it;
        # signals to the owner of a pipe; F_GETLK and hints on a file's use, by which one worker
        # could tell another something. So could locks.
        "fcntl": Rule((72, 25), 1, _of(fcntl) + _of(locks, IGNORED), ERRNO | errno.EINVAL),
        # Not: what types into a terminal or sends signals; what changes a file's flags, makes parts
        # of file systems and the like, none of which Landlock watches.
        "ioctl": Rule((16, 29), 1, _of(ioctl), ERRNO | errno.ENOTTY),
        "madvise": Rule((28, 233), 2, _of(madvise, IGNORED), ALLOWED),
    }


def _of(commands: tuple[int, ...], action: int = ALLOWED) -> tuple[tuple[str, int, int], ...]:
    return tuple((EQUALS, command, action) for command in commands)
