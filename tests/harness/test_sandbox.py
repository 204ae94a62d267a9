"""What a worker's filter does with each system call, and which of its limits are exceeded."""

import contextlib
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from autograder.isolation import guardian, kernel, system_calls
from grading.worker import Limits

NUMBERS = [*range(1024), 0x40000000, 0x40000009, 0xFFFFFFFF]  # also of x32
SPECIAL = {name: rule.numbers for name, rule in system_calls.rules(0, True).items()}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
NAN = float("nan")
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


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_kernels_header(machine):
    if not HEADERS[machine].exists():
        pytest.skip(f"needs {HEADERS[machine]}, from the package linux-libc-dev")
    column = list(kernel.ARCHES).index(machine)
    text = HEADERS[machine].read_text(encoding="ascii")
    rows = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", text, re.MULTILINE)
    header = {{"fstatat": "newfstatat"}.get(name, name): int(number) for name, number in rows}
    header.pop("syscalls", None)  # how many there are
    tables = [*system_calls.CALLS.values(), SPECIAL]
    calls = {name: numbers for table in tables for name, numbers in table.items()}
    assert len(calls) == sum(map(len, tables))
    listed = {name: n[column] for name, n in calls.items() if n[column] is not None}
    newer = {"uprobe", "uretprobe"}  # than the header, which has room for them
    newer |= {name for name, number in listed.items() if number > max(header.values())}
    known = {name: number for name, number in listed.items() if name not in newer}
    assert len(known) >= 200
    assert known == {name: header.get(name) for name in known}


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


def test_not_only_files_are_counted_but_also_their_bytes(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "large").write_bytes(os.urandom(1 << 20))
    most = replace(Limits.for_test(1.0), scratch_bytes=1 << 19)
    assert guardian.is_flooded(str(tmp_path), most)
    assert not guardian.is_flooded(str(tmp_path), replace(most, scratch_bytes=1 << 21))


# What the guardian makes of it ----------------------------------------------------------------

LIMITS = Limits.for_test(2.0)
USE = guardian._Usage(cpu_s=0.1, memory_bytes=0, processes=1, threads=1)


def over(use: guardian._Usage, elapsed_s: float, imports: guardian.Imports) -> str:
    return guardian._over(use, elapsed_s, imports, LIMITS, abandoned=False)


@pytest.mark.parametrize("lie", [(False, 1e9, 1e9), (False, -1e9, -1e9), (True, NAN, NAN)])
def test_a_worker_that_lies_about_its_imports_gets_their_limit_and_no_more(lie):
    clock = guardian.Clock()
    guardian.NOTE.pack_into(clock._shared, 1, *lie)
    cpu_s, wall_s = LIMITS.cpu_s + LIMITS.import_s, LIMITS.wall_s + LIMITS.import_wall_s
    used = replace(USE, cpu_s=cpu_s + 0.1)
    assert over(used, 0.1, clock.read(used.cpu_s)) == "cpu"
    assert over(USE, wall_s + 0.1, clock.read(USE.cpu_s)) == "wall"
