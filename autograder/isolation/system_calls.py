"""The system calls of Linux on x86-64 and arm64, and what a worker's filter does with each.

Each call is listed with its two numbers, from the kernel's tables; "-": that machine lacks it. What
is not listed is newer than this list, and refused as by a kernel that lacks it: libraries then do
without. `kernel.py` makes the filter from these tables; what they must achieve together, and what
one worker can still tell another, is in `autograder/__init__.py`.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

ERRNO, ALLOWED = 0x00050000, 0x7FFF0000  # the kernel's SECCOMP_RET_ERRNO and SECCOMP_RET_ALLOW
REFUSED = ERRNO | errno.EPERM
ABSENT = ERRNO | errno.ENOSYS  # as by a kernel without it: who needs the call has another way
IGNORED = ERRNO | 0  # succeeds without any effect

Numbers = tuple[int | None, int | None]  # on x86-64 and arm64


@dataclass(frozen=True)
class Kind:
    """System calls that are treated alike, whatever their arguments, for the same reason."""

    action: int
    reason: str
    listed: str

    @property
    def calls(self) -> dict[str, Numbers]:
        """The numbers of each call, by name."""
        words = (entry.split() for entry in self.listed.split(","))
        return {name: (_number(x86_64), _number(arm64)) for name, x86_64, arm64 in words}


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


KINDS = (
    Kind(
        ALLOWED,
        "reads, writes and waits for what is open: what may be opened is for Landlock to say",
        """
        read 0 63, write 1 64, pread64 17 67, pwrite64 18 68, readv 19 65, writev 20 66,
        preadv 295 69, pwritev 296 70, pwritev2 328 287, lseek 8 62, close 3 57,
        close_range 436 436, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59,
        poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create 213 -,
        epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -, epoll_pwait 281 22,
        epoll_pwait2 441 441, eventfd 284 -, eventfd2 290 19, signalfd 282 -,
        signalfd4 289 74, timerfd_create 283 85, timerfd_settime 286 86,
        timerfd_gettime 287 87, sendfile 40 71, copy_file_range 326 285, fsync 74 82,
        fdatasync 75 83, sync 162 81, syncfs 306 267, sync_file_range 277 84,
        readahead 187 213, ftruncate 77 46, fallocate 285 47
        """,
    ),
    Kind(
        ALLOWED,
        "opens, lists, makes and removes files: Landlock says which",
        """
        open 2 -, openat 257 56, openat2 437 437, creat 85 -, truncate 76 45, mkdir 83 -,
        mkdirat 258 34, mknod 133 -, mknodat 259 33, rmdir 84 -, unlink 87 -,
        unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, link 86 -,
        linkat 265 37, symlink 88 -, symlinkat 266 36, getdents 78 -, getdents64 217 61,
        chdir 80 49, fchdir 81 50, getcwd 79 17, umask 95 166
        """,
    ),
    Kind(
        ALLOWED,
        "describes files, also those that Landlock doesn't allow to open",
        """
        stat 4 -, fstat 5 80, lstat 6 -, newfstatat 262 79, statx 332 291, access 21 -,
        faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78,
        statfs 137 43, fstatfs 138 44, ustat 136 -, sysfs 139 -, getxattr 191 8,
        lgetxattr 192 9, fgetxattr 193 10, listxattr 194 11, llistxattr 195 12,
        flistxattr 196 13, getxattrat 464 464, listxattrat 465 465, file_getattr 468 468
        """,
    ),
    Kind(
        ALLOWED,
        "manages the process's own memory, which the guardian measures",
        """
        munmap 11 215, mprotect 10 226, brk 12 214, mremap 25 216, msync 26 227,
        mlock 149 228, munlock 150 229, mlockall 151 230, munlockall 152 231,
        mlock2 325 284, remap_file_pages 216 234, pkey_mprotect 329 288, pkey_alloc 330 289,
        pkey_free 331 290, mseal 462 462, map_shadow_stack 453 453, mbind 237 235,
        set_mempolicy 238 237, get_mempolicy 239 236, set_mempolicy_home_node 450 450
        """,
    ),
    Kind(
        ALLOWED,
        "runs and synchronizes the process's own threads",
        """
        futex 202 98, futex_waitv 449 449, futex_wake 454 454, futex_wait 455 455,
        futex_requeue 456 456, set_robust_list 273 99, set_tid_address 218 96, rseq 334 293,
        membarrier 324 283, sched_yield 24 124, getcpu 309 168, gettid 186 178,
        set_thread_area 205 -, get_thread_area 211 -, arch_prctl 158 -,
        restart_syscall 219 128
        """,
    ),
    Kind(
        ALLOWED,
        "starts, awaits and ends processes of its own: a limit holds for their number",
        """
        execve 59 221, execveat 322 281, wait4 61 260, waitid 247 95, exit 60 93,
        exit_group 231 94
        """,
    ),
    Kind(
        ALLOWED,
        "handles the process's own signals",
        """
        rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139,
        rt_sigpending 127 136, rt_sigtimedwait 128 137, rt_sigsuspend 130 133,
        sigaltstack 131 132, pause 34 -, uretprobe 335 -, uprobe 336 -
        """,
    ),
    Kind(
        ALLOWED,
        "tells and awaits the time, also the CPU time of any process",
        """
        time 201 -, gettimeofday 96 169, clock_gettime 228 113, clock_getres 229 114,
        clock_nanosleep 230 115, nanosleep 35 101, alarm 37 -, getitimer 36 102,
        setitimer 38 103, timer_create 222 107, timer_settime 223 110,
        timer_gettime 224 108, timer_getoverrun 225 109, timer_delete 226 111, times 100 153
        """,
    ),
    Kind(
        ALLOWED,
        "asks or lowers the process's own rights and limits: only root could raise them",
        """
        getpid 39 172, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176,
        getegid 108 177, getresuid 118 148, getresgid 120 150, getgroups 115 158,
        getpgrp 111 -, setpgid 109 154, setsid 112 157, setuid 105 146, setgid 106 144,
        setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
        setgroups 116 159, setfsuid 122 151, setfsgid 123 152, capget 125 90, capset 126 91,
        getrlimit 97 163, setrlimit 160 164, getrusage 98 165, prctl 157 167,
        seccomp 317 277
        """,
    ),
    Kind(
        ALLOWED,
        "asks about the machine, and how processes are scheduled, which no worker can change",
        """
        uname 63 160, sysinfo 99 179, getrandom 318 278, sched_getaffinity 204 123,
        sched_getscheduler 145 120, sched_getparam 143 121, sched_getattr 315 275,
        sched_get_priority_max 146 125, sched_get_priority_min 147 126,
        sched_rr_get_interval 148 127, getpriority 140 141, ioprio_get 252 31
        """,
    ),
    Kind(
        ALLOWED,
        "uses sockets, of which a worker has none",
        """
        accept 43 202, accept4 288 242, sendto 44 206, recvfrom 45 207, sendmsg 46 211,
        recvmsg 47 212, sendmmsg 307 269, recvmmsg 299 243, shutdown 48 210,
        getsockname 51 204, getpeername 52 205, setsockopt 54 208, getsockopt 55 209
        """,
    ),
    Kind(
        IGNORED,
        "advice and locks, by which one worker could tell another something; no program notices",
        """
        fadvise64 221 223, flock 73 32, sched_setaffinity 203 122
        """,
    ),
    Kind(
        REFUSED,
        "networks, and memory in the buffers of sockets",
        """
        socket 41 198, connect 42 203, bind 49 200, listen 50 201, socketpair 53 199
        """,
    ),
    Kind(
        REFUSED,
        "other processes",
        """
        ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271,
        process_madvise 440 440, process_mrelease 448 448, pidfd_open 434 434,
        pidfd_getfd 438 438, pidfd_send_signal 424 424, rt_sigqueueinfo 129 138,
        rt_tgsigqueueinfo 297 240, kcmp 312 272, get_robust_list 274 100,
        move_pages 279 239, migrate_pages 256 238
        """,
    ),
    Kind(
        REFUSED,
        "namespaces and mounts",
        """
        unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41,
        chroot 161 51, open_tree 428 428, open_tree_attr 467 467, move_mount 429 429,
        fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433,
        mount_setattr 442 442, statmount 457 457, listmount 458 458
        """,
    ),
    Kind(
        REFUSED,
        "ways around file permissions",
        """
        open_by_handle_at 304 265, name_to_handle_at 303 264
        """,
    ),
    Kind(
        REFUSED,
        "keyrings",
        """
        add_key 248 217, request_key 249 218, keyctl 250 219
        """,
    ),
    Kind(
        REFUSED,
        "the machine, for its administrator",
        """
        kexec_load 246 104, kexec_file_load 320 294, init_module 175 105,
        finit_module 313 273, delete_module 176 106, personality 135 92, swapon 167 224,
        swapoff 168 225, reboot 169 142, acct 163 89, quotactl 179 60, quotactl_fd 443 443,
        settimeofday 164 170, clock_settime 227 112, adjtimex 159 171,
        clock_adjtime 305 266, sethostname 170 161, setdomainname 171 162, syslog 103 116,
        vhangup 153 58, modify_ldt 154 -, iopl 172 -, ioperm 173 -, nfsservctl 180 42,
        lookup_dcookie 212 18, lsm_get_self_attr 459 459, lsm_set_self_attr 460 460,
        lsm_list_modules 461 461
        """,
    ),
    Kind(
        REFUSED,
        "large parts of the kernel that no solution needs",
        """
        io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427,
        bpf 321 280, perf_event_open 298 241, userfaultfd 323 282
        """,
    ),
    Kind(
        REFUSED,
        "what Landlock does not watch: permissions, owners, times and attributes of files",
        """
        chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -,
        fchown 93 55, lchown 94 -, fchownat 260 54, utime 132 -, utimes 235 -,
        futimesat 261 -, utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7,
        setxattrat 463 463, removexattr 197 14, lremovexattr 198 15, fremovexattr 199 16,
        removexattrat 466 466, file_setattr 469 469
        """,
    ),
    Kind(
        REFUSED,
        "how processes are scheduled, also those of other users",
        """
        setpriority 141 140, ioprio_set 251 30, sched_setscheduler 144 119,
        sched_setparam 142 118, sched_setattr 314 274
        """,
    ),
    Kind(
        REFUSED,
        "memory that belongs to no process and so escapes the watch, like a million Landlock rules",
        """
        memfd_create 319 279, memfd_secret 447 447, landlock_create_ruleset 444 444,
        landlock_add_rule 445 445, landlock_restrict_self 446 446
        """,
    ),
    Kind(
        REFUSED,
        "memory, semaphores and messages of System V and POSIX, which outlive their processes",
        """
        shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197, semget 64 190,
        semop 65 193, semtimedop 220 192, semctl 66 191, msgget 68 186, msgsnd 69 189,
        msgrcv 70 188, msgctl 71 187, mq_open 240 180, mq_unlink 241 181,
        mq_timedsend 242 182, mq_timedreceive 243 183, mq_notify 244 184,
        mq_getsetattr 245 185
        """,
    ),
    Kind(
        REFUSED,
        "who uses a file, and when",
        """
        fanotify_init 300 262, fanotify_mark 301 263
        """,
    ),
    Kind(
        ABSENT,
        "who uses a file, and which of its parts are in memory",
        """
        inotify_init 253 -, inotify_init1 294 26, inotify_add_watch 254 27,
        inotify_rm_watch 255 28, mincore 27 232, cachestat 451 451, preadv2 327 286
        """,
    ),
    Kind(
        ABSENT,
        "pipes that keep pages of memory which no process has any more",
        """
        splice 275 76, tee 276 77, vmsplice 278 75
        """,
    ),
    Kind(
        ABSENT,
        "asynchronous input and output, of which the whole machine has a limited number",
        """
        io_setup 206 0, io_destroy 207 1, io_submit 209 2, io_cancel 210 3,
        io_getevents 208 4, io_pgetevents 333 292
        """,
    ),
    Kind(
        ABSENT,
        "clone3, whose flags are behind a pointer: libc then uses clone",
        """
        clone3 435 435
        """,
    ),
    Kind(
        ABSENT,
        "what the kernel has given up",
        """
        uselib 134 -, _sysctl 156 -, create_module 174 -, get_kernel_syms 177 -,
        query_module 178 -, getpmsg 181 -, putpmsg 182 -, afs_syscall 183 -, tuxcall 184 -,
        security 185 -, epoll_ctl_old 214 -, epoll_wait_old 215 -, vserver 236 -
        """,
    ),
)

# What depends on an argument. Arguments of 32 bits, as all of these are, have nothing above them.

# Only for the calling process itself; the pid is the first argument, and 0 is also the caller.
OWN_PID_ONLY: dict[str, tuple[int, int]] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "getpgid": (121, 155),  # of another worker's processes, which can choose it
    "getsid": (124, 156),
}


@dataclass(frozen=True)
class Commands:
    """A system call whose second (or, for `madvise`, third) argument is a command."""

    numbers: tuple[int, int]
    argument: int
    actions: dict[int, int]  # by command
    others: int


COMMANDS = {
    # Not: leases and notices, with which the owner of a file delays or observes who opens it;
    # signals to the owner of a pipe; F_GETLK and hints on a file's use, by which one worker could
    # tell another something. So could locks: see IGNORED.
    "fcntl": Commands(
        (72, 25),
        1,
        dict.fromkeys(
            (
                *(0, 1, 2, 3, 4),  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL
                *(1027, 1028, 1030),  # F_DUPFD_QUERY, F_CREATED_QUERY, F_DUPFD_CLOEXEC
                *(1031, 1032),  # F_SETPIPE_SZ, F_GETPIPE_SZ
            ),
            ALLOWED,
        )
        | dict.fromkeys((6, 7, 37, 38), IGNORED),  # F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW
        ERRNO | errno.EINVAL,
    ),
    # Not: what types into a terminal or sends signals; what changes a file's flags, makes parts of
    # file systems and the like, none of which Landlock watches.
    "ioctl": Commands(
        (16, 29),
        1,
        dict.fromkeys(
            (
                *(0x5401, 0x802C542A, 0x5413),  # TCGETS, TCGETS2, TIOCGWINSZ: is it a terminal?
                *(0x541B, 0x5421),  # FIONREAD, FIONBIO
                *(0x5450, 0x5451),  # FIONCLEX, FIOCLEX
                *(0x40049409, 0x4020940D),  # FICLONE, FICLONERANGE: copies into a writable file
            ),
            ALLOWED,
        ),
        ERRNO | errno.ENOTTY,
    ),
    # MADV_MERGEABLE shares equal pages between processes; MADV_COLD and MADV_PAGEOUT move pages to
    # the swap space, where the guardian doesn't count them.
    "madvise": Commands((28, 233), 2, dict.fromkeys((12, 20, 21), IGNORED), ALLOWED),
}
# Shared memory without a file: what a process drops of it still exists, and is nobody's. Huge pages
# are not counted as resident.
MMAP = (9, 222)
MAP_SHARED, MAP_ANONYMOUS, MAP_HUGETLB = 0x01, 0x20, 0x40000
# clone may start threads, and processes where these are allowed, in no new namespace.
CLONE, FORK, VFORK = (56, 220), (57, None), (58, None)  # on arm64, libc takes clone for all three
CLONE_THREAD = 0x00010000
NEW_NAMESPACES = 0x7E020080  # CLONE_NEW*: mount, cgroup, uts, ipc, user, pid, net, time
