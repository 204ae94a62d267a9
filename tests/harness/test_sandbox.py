"""The parts of a worker's confinement, one by one."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from grading import doctor, guardian, paths, sandbox, seccomp
from grading.limits import Limits

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")
NOBODY = 65_090  # if we are root, a user without other processes on this machine
BARE = sandbox.Layers(root=False, landlock_abi=0, seccomp=False)
MANY_FORKS = f"""import os, sys, time
sys.path.insert(0, {str(paths.SRC)!r})
from grading import sandbox
before = sandbox.tasks_of(os.getuid())
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


@LINUX
def test_the_limit_on_processes_is_relative_where_only_it_holds(tmp_path):
    now = sandbox.tasks_of(os.getuid())
    go_on = threading.Event()
    threads = [threading.Thread(target=go_on.wait) for _ in range(200)]
    try:
        for thread in threads:
            thread.start()
        # 200 more; others of this user's may come and go meanwhile, not a hundred of them.
        assert now + 100 < sandbox.tasks_of(os.getuid()) < now + 300
        worker = sandbox.for_worker(BARE, None, tmp_path, tmp_path)
        assert now + 100 < worker.most_tasks - Limits.processes < now + 300
    finally:
        go_on.set()
    filtered = sandbox.Layers(root=False, landlock_abi=0, seccomp=True)
    assert sandbox.for_worker(filtered, None, tmp_path, tmp_path).most_tasks is None


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="needs another user: root")
def test_the_kernel_holds_an_ordinary_user_to_that_limit():
    ran = subprocess.run(
        [sys.executable, "-B", "-c", MANY_FORKS],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd="/",
    )
    assert int(ran.stdout) == 5  # exact: this user has nothing else


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="needs another user: root")
def test_a_process_whose_first_thread_has_ended_still_lives():
    ends = "import ctypes, os, threading, time; "
    ends += "threading.Thread(target=time.sleep, args=(600,)).start(); "
    ends += "number = 60 if os.uname().machine == 'x86_64' else 93; "
    ends += "ctypes.CDLL(None).syscall(number, 0)"
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", ends], user=NOBODY + 1, group=NOBODY, extra_groups=[], cwd="/"
    )
    status = Path(f"/proc/{process.pid}/status")
    deadline = time.monotonic() + 30
    while "State:\tZ" not in status.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert sandbox.processes_of(NOBODY + 1) == [process.pid]
    assert sandbox.tasks_of(NOBODY + 1) == 2
    assert sandbox.kill_user(NOBODY + 1)
    assert process.wait(10) == -9


@LINUX
def test_the_doctors_canary_comes_back(capsys):
    doctor._canary(sandbox.detect())
    said = capsys.readouterr().out
    assert "Authority" in said and "did not return" not in said


@pytest.mark.parametrize("machine", seccomp.ARCHES)
def test_the_filters_jumps_stay_inside_it(machine):
    for processes in (False, True):
        program = seccomp.build(machine, 1234, processes)
        for at, (code, if_true, if_false, _) in enumerate(program):
            assert code in (seccomp.LOAD, seccomp.RETURN) or at + 1 + max(if_true, if_false) < len(
                program
            )
        assert program[-1] == (seccomp.RETURN, 0, 0, seccomp.ALLOW)


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
    assert guardian._Scratch(str(tmp_path), most).is_flooded()
    assert not guardian._Scratch(str(tmp_path), replace(most, scratch_files=4)).is_flooded()
