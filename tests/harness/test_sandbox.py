"""The parts of a worker's confinement, one by one."""

import contextlib
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import grading
from autograder.isolation import guardian, kernel, leftovers, sandbox, system_calls, users, zygote
from grading.worker import Limits

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")
ROOT_ONLY = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="needs another user: root"
)
NOBODY = 65_090  # if we are root, a user without other processes on this machine
IMPORTS = f"""import os, sys, threading, time
from pathlib import Path
sys.path[:0] = [{str(grading.SRC)!r}, {str(grading.ROOT)!r}]
from autograder.isolation import sandbox, users
before = users.tasks_of(os.getuid())
"""
MANY_FORKS = """
sandbox.take(sandbox.Confinement(most_tasks=before + 5))
started = []
try:
    for _ in range(20):
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
        started.append(pid)
except BlockingIOError:
    pass
for pid in started:
    os.kill(pid, 9)
print(len(started))
"""
MANY_THREADS = """
go_on = threading.Event()
for _ in range(200):
    threading.Thread(target=go_on.wait).start()
bare = sandbox.Layers(root=False, landlock_abi=0, seccomp=False)
worker = sandbox.for_worker(bare, None, Path("/"), Path("/"))
print(before, users.tasks_of(os.getuid()), worker.most_tasks)
go_on.set()
"""
LOCKED = """
import tempfile
from autograder.isolation import leftovers
root = Path(tempfile.mkdtemp())
inner = root / "locked" / "inner"
inner.mkdir(parents=True)
(inner / "file").touch()
for folder in (inner, inner.parent):
    folder.chmod(0)
leftovers.remove_tree(root)
print(int(root.exists()))
"""


def counts_as(uid: int, code: str) -> list[int]:
    """Run Python code as a user who has nothing else running; return the numbers it prints."""
    ran = subprocess.run(
        [sys.executable, "-B", "-c", IMPORTS + code],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},  # as workers have it, which numpy heeds
        user=uid,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd="/",
    )
    return [int(word) for word in ran.stdout.split()]


@ROOT_ONLY
def test_the_limit_on_processes_is_relative_where_only_it_holds(tmp_path):
    # As a user who has nothing else, so that the counts are exact whatever runs beside this test.
    before, with_threads, most_tasks = counts_as(NOBODY + 2, MANY_THREADS)
    assert (before, with_threads) == (1, 201)
    assert most_tasks == 201 + Limits.processes
    assert counts_as(NOBODY, MANY_FORKS) == [5]  # the kernel holds the user to that limit
    filtered = sandbox.Layers(root=False, landlock_abi=0, seccomp=True)
    assert sandbox.for_worker(filtered, None, tmp_path, tmp_path).most_tasks is None


@ROOT_ONLY
def test_an_ordinary_user_removes_what_is_locked():
    assert counts_as(NOBODY, LOCKED) == [0]


@ROOT_ONLY
def test_a_process_whose_first_thread_has_ended_still_lives():
    ends = "import ctypes, os, threading, time; "
    ends += "threading.Thread(target=time.sleep, args=(600,)).start(); "
    ends += "number = 60 if os.uname().machine == 'x86_64' else 93; "
    ends += "ctypes.CDLL(None).syscall(number, 0)"
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", ends], user=NOBODY + 1, group=NOBODY, extra_groups=[], cwd="/"
    )
    status = Path(f"/proc/{process.pid}/status")
    while "State:\tZ" not in status.read_text(encoding="utf-8"):
        time.sleep(0.01)
    assert users.processes_of(NOBODY + 1) == [process.pid]
    assert users.tasks_of(NOBODY + 1) == 2
    assert users.kill_all(NOBODY + 1)
    assert process.wait() == -9


NUMBERS = [*range(1024), 0x40000000, 0x40000009, 0xFFFFFFFF]  # also of x32
SPECIAL = {name: rule.numbers for name, rule in system_calls.rules(0, True).items()}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
ALLOWED, REFUSED, IGNORED = system_calls.ALLOWED, system_calls.REFUSED, system_calls.IGNORED
EAGAIN, EINVAL, ENOTTY = (system_calls.ERRNO | number for number in (11, 22, 25))
OWN, OTHER = 1234, 4321
PRIVATE, SHARED, ANONYMOUS, HUGE = 0x02, 0x01, 0x20, 0x40000
ARGUMENTS = [
    # (name, arguments, what a worker's filter does with it)
    *[(name, (pid,), ALLOWED) for name in system_calls.OWN_PID_ONLY for pid in (0, OWN)],
    *[(name, (pid,), REFUSED) for name in system_calls.OWN_PID_ONLY for pid in (OTHER, -1, -OWN)],
    *[("fcntl", (3, command), ALLOWED) for command in (0, 1, 2, 3, 4, 1030, 1031, 1032)],
    # Locks succeed. Their state, leases, notices, owners, signals and hints don't.
    *[("fcntl", (3, command), IGNORED) for command in (6, 7, 37, 38)],
    *[("fcntl", (3, c), EINVAL) for c in (5, 36, 1024, 1025, 1026, 8, 10, 15, 1036, 1038, 9999)],
    ("fcntl", (3, 1 << 32 | 1024), EINVAL),  # the kernel, too, ignores the upper half
    *[("ioctl", (3, command), ALLOWED) for command in (0x5401, 0x5413, 0x5421, 0x5451)],
    # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_ENABLE_VERITY, FIOSETOWN, TIOCSTI, any other
    *[("ioctl", (3, c), ENOTTY) for c in (0x40086602, 0x401C5820, 0x40806685, 0x8901, 0x5412, 9)],
    *[("madvise", (0, 0, advice), ALLOWED) for advice in (0, 4, 8, 14)],
    *[("madvise", (0, 0, advice), IGNORED) for advice in (12, 20, 21)],
    ("mmap", (0, 1, 3, PRIVATE | ANONYMOUS), ALLOWED),
    ("mmap", (0, 1, 3, PRIVATE), ALLOWED),
    ("mmap", (0, 1, 3, SHARED), ALLOWED),  # a file
    ("mmap", (0, 1, 3, SHARED | ANONYMOUS), REFUSED),
    ("mmap", (0, 1, 3, SHARED | PRIVATE | ANONYMOUS), REFUSED),  # MAP_SHARED_VALIDATE
    *[("mmap", (0, 1, 3, kind | ANONYMOUS | HUGE), REFUSED) for kind in (PRIVATE, SHARED)],
    *[("clone", (flag | 0x10000,), REFUSED) for flag in (0x20000, 0x10000000, 0x40000000, 0x80)],
    ("clone", (0x10000,), ALLOWED),
    ("clone", (17,), (EAGAIN, ALLOWED)),  # without and with the right to start processes
    ("fork", (), (EAGAIN, ALLOWED)),
    ("vfork", (), (EAGAIN, ALLOWED)),
]


def verdict(program, machine: str, number: int, arguments: tuple[int, ...] = ()) -> int:
    """Run a filter as the kernel would, and return what it decides about a system call."""
    arch, _ = kernel.ARCHES[machine]
    data = {0: number, 4: arch}
    for place, value in enumerate(arguments):
        data[16 + 8 * place], data[20 + 8 * place] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF
    loaded, at = 0, 0
    while True:
        code, if_true, if_false, constant = program[at]
        at += 1
        if code == kernel.RETURN:
            return constant
        if code == kernel.LOAD:
            loaded = data.get(constant, 0)
            continue
        holds = {
            kernel.JEQ: loaded == constant,
            kernel.JGE: loaded >= constant,
            kernel.JSET: loaded & constant != 0,
        }[code]
        at += if_true if holds else if_false


@pytest.mark.parametrize("machine", kernel.ARCHES)
@pytest.mark.parametrize("processes", [False, True])
def test_the_filter_does_with_each_system_call_what_the_table_says(machine, processes):
    column = list(kernel.ARCHES).index(machine)
    table = {
        numbers[column]: action
        for action, calls in system_calls.CALLS.items()
        for numbers in calls.values()
    }
    special = {numbers[column] for numbers in SPECIAL.values()}
    program = kernel.build_filter(machine, OWN, processes)
    for number in set(NUMBERS) - special:
        others = REFUSED if number <= system_calls.NEWEST else system_calls.ABSENT
        expected = table.get(number, others)
        assert verdict(program, machine, number) == expected, number
    for name, arguments, expected in ARGUMENTS:
        number = SPECIAL[name][column]
        if isinstance(expected, tuple):
            expected = expected[processes]
        if number is not None:
            assert verdict(program, machine, number, arguments) == expected, (name, arguments)
    other = "aarch64" if machine == "x86_64" else "x86_64"
    assert verdict(program, other, 0) == kernel.KILL
    assert len(program) <= 4096  # the kernel's limit


def listed_calls() -> dict[str, tuple[int | None, int | None]]:
    """Return the numbers of all calls that the filter treats in a way of their own, by name."""
    tables = [*system_calls.CALLS.values(), SPECIAL]
    listed = {name: numbers for table in tables for name, numbers in table.items()}
    assert len(listed) == sum(map(len, tables))
    return listed


def test_each_system_call_is_listed_once():
    for column in range(2):
        numbers = [n[column] for n in listed_calls().values() if n[column] is not None]
        assert len(numbers) == len(set(numbers)) and max(numbers) <= system_calls.NEWEST


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernels_header(machine):
    if not HEADERS[machine].exists():
        pytest.skip(f"needs {HEADERS[machine]}, from the package linux-libc-dev")
    column = list(kernel.ARCHES).index(machine)
    text = HEADERS[machine].read_text(encoding="ascii")
    rows = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.MULTILINE)
    header = {{"fstatat": "newfstatat"}.get(name, name): int(number) for name, number in rows}
    header.pop("syscalls", None)  # how many there are
    listed = {name: n[column] for name, n in listed_calls().items() if n[column] is not None}
    newer = {"uprobe", "uretprobe"}  # than the header, which has room for them
    newer |= {name for name, number in listed.items() if number > max(header.values())}
    known = {name: number for name, number in listed.items() if name not in newer}
    assert len(known) >= 200
    assert known == {name: header.get(name) for name in known}


@pytest.mark.parametrize("machine", kernel.ARCHES)
def test_what_reaches_beyond_a_worker_is_refused(machine):
    """socket, ptrace, unshare, io_uring_setup, memfd_create: none of them is listed."""
    program = kernel.build_filter(machine, OWN, True)
    for numbers in ((41, 198), (101, 117), (272, 97), (425, 425), (319, 279)):
        number = numbers[list(kernel.ARCHES).index(machine)]
        assert verdict(program, machine, number) == REFUSED


def test_files_that_vanish_hide_no_others(tmp_path, monkeypatch):
    """Otherwise, code that keeps creating and removing files could fill the disk with others."""
    for name in ("a0", "a1", "b0", "b1", "b2", "b3"):
        (tmp_path / name).touch()
    scandir = os.scandir

    @contextlib.contextmanager
    def racing(path):
        with scandir(path) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found[:2]:
            Path(entry.path).unlink(missing_ok=True)
        yield iter(found)

    monkeypatch.setattr(guardian.os, "scandir", racing)
    most = replace(Limits.for_test(1.0), scratch_files=3)
    assert guardian.is_flooded(str(tmp_path), most)
    assert not guardian.is_flooded(str(tmp_path), replace(most, scratch_files=4))


@LINUX
def test_an_orphan_is_found_although_its_parent_has_ended():
    """In a child, which can become a subreaper, and whose children are its own."""
    pid = os.fork()
    if pid == 0:
        try:
            guardian.become_subreaper()
            if not leftovers.reap():
                os._exit(1)
            worker = os.fork()
            if worker == 0:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(600)
                os._exit(0)
            os.waitpid(worker, 0)
            if leftovers.reap():
                os._exit(2)
            zygote._clean_up(sandbox.Confinement(landlock=True, seccomp=True))
            os._exit(0 if leftovers.reap() else 4)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
