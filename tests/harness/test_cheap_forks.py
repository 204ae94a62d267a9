"""Forks of a large process are cheap because of huge pages and a small process that kills."""

import ctypes
import mmap
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder.isolation import huge_pages, killer, sandbox
from grading import paths

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
needs_root = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="needs other users"
)
UID = sandbox.FIRST_UID - 7  # which no test gets


@pytest.fixture
def small():
    """The small process, and its id."""
    ours, theirs = socket.socketpair()
    before = set(children())
    made = killer.start(theirs)
    (pid,) = set(children()) - before
    yield made, pid
    made.close()
    os.waitpid(pid, 0)
    ours.close()
    theirs.close()


def children() -> list[int]:
    listing = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii")
    return list(map(int, listing.split()))


def sleeper(uid: int) -> subprocess.Popen:
    return subprocess.Popen(["sleep", "60"], user=uid, group=uid, extra_groups=[])


@needs_root
@pytest.mark.parametrize("is_there", [True, False])
def test_all_of_a_user_is_killed_and_nobody_else(small, is_there):
    made, pid = small
    if not is_there:
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
    victims, other = [sleeper(UID), sleeper(UID)], sleeper(UID - 1)
    try:
        made.kill(UID)
        assert [victim.wait(10) for victim in victims] == [-signal.SIGKILL] * 2
        assert other.poll() is None and sandbox.processes_of(UID) == []
        made.kill(UID)  # no such process
    finally:
        for process in (*victims, other):
            process.kill()
            process.wait()


@needs_root
def test_the_small_process_ends_with_those_who_ask_it(small):
    made, pid = small
    made.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] != b"Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def can_collapse() -> bool:
    """Whether this kernel makes huge pages on demand."""
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    with mmap.mmap(-1, 3 * huge_pages.HUGE_BYTES, flags=private) as memory:
        memory[:] = b"x" * len(memory)
        view = ctypes.c_char.from_buffer(memory)
        start = -(-ctypes.addressof(view) // huge_pages.HUGE_BYTES) * huge_pages.HUGE_BYTES
        size = ctypes.c_size_t(huge_pages.HUGE_BYTES)
        libc = ctypes.CDLL(None)
        done = libc.madvise(ctypes.c_void_p(start), size, huge_pages.MADV_COLLAPSE) == 0
        del view
        return done


@linux_only
def test_memory_is_put_into_huge_pages_and_holds_the_same():
    if not can_collapse():
        pytest.skip("this kernel makes no huge pages on demand")
    code = f"""
import sys; sys.path.insert(0, {str(paths.SRC)!r})
from autograder.isolation import huge_pages
def held():
    lines = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("AnonHugePages"))
numbers = [str(n) for n in range(1_000_000)]  # 60 MB of small objects
before = held()
huge_pages.collapse()
assert numbers == [str(n) for n in range(1_000_000)]
print(before, held())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    before, after = map(int, ran.stdout.split())
    assert after > before + 30_000  # KiB


def test_where_there_is_no_such_kernel_nothing_happens(monkeypatch, tmp_path):
    monkeypatch.setattr(huge_pages, "MAPS", tmp_path / "none")
    huge_pages.collapse()
