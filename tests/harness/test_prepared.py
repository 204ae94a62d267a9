"""What a guardian prepares for its workers confines each of them as if it had done so itself."""

import os
import signal
import sys
import time

import pytest

from autograder.isolation import guardian, kernel, sandbox, zygote

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")
needs_landlock = pytest.mark.skipif(
    sys.platform != "linux" or not kernel.landlock_abi(), reason="this kernel has no Landlock"
)
needs_filters = pytest.mark.skipif(
    sys.platform != "linux" or not kernel.has_seccomp(), reason="this kernel has no filters"
)


def confined(confinement: sandbox.Confinement, ask) -> str:
    """Return what `ask` answers in a child that takes what this process has prepared."""
    ruleset = sandbox.prepare(confinement)
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            sandbox.take(confinement, ruleset)
            os.write(write_end, str(ask()).encode())
        finally:
            os._exit(0)
    os.close(write_end)
    if ruleset is not None:
        os.close(ruleset)
    os.waitpid(pid, 0)
    with open(read_end, encoding="utf-8") as reader:
        return reader.read()


def refused(act) -> str:
    """Return "done", or the name of the error that an act raises."""
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "done"


@needs_landlock
def test_a_ruleset_made_by_another_process_allows_the_same(tmp_path):
    for name in ("open", "closed", "scratch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text", encoding="utf-8")
    confinement = sandbox.Confinement(
        landlock=True,
        readable=(str(tmp_path / "open"), "/nowhere", kernel.OWN_PROC),
        writable=(str(tmp_path / "scratch"),),
    )
    parent = os.getpid()

    def ask():
        return [
            refused(lambda: open(tmp_path / "open" / "file", "rb").close()),
            refused(lambda: open(tmp_path / "open" / "file", "ab").close()),
            refused(lambda: open(tmp_path / "closed" / "file", "rb").close()),
            refused(lambda: open(tmp_path / "scratch" / "file", "ab").close()),
            refused(lambda: open("/proc/self/status", "rb").close()),
            refused(lambda: open(f"/proc/{parent}/status", "rb").close()),
        ]

    no = "PermissionError"
    assert confined(confinement, ask) == str(["done", no, no, "done", "done", no])
    closed = sandbox.Confinement(landlock=True, readable=(str(tmp_path / "open"),))
    assert confined(closed, lambda: refused(lambda: open("/proc/self/status", "rb").close())) == no


@needs_landlock
def test_a_worker_keeps_no_descriptor_of_the_ruleset():
    confinement = sandbox.Confinement(landlock=True, readable=("/proc", kernel.OWN_PROC))
    before = len(os.listdir("/proc/self/fd"))
    # The pipe's other end is open, too; what lists the folder is not counted by either.
    assert int(confined(confinement, lambda: len(os.listdir("/proc/self/fd")))) == before + 2


@needs_filters
@pytest.mark.parametrize("processes", [False, True])
def test_each_worker_gets_a_filter_for_its_own_pid(processes):
    confinement = sandbox.Confinement(seccomp=True, uid=None)
    parent = os.getpid()
    template, places = kernel.prepare_filter(processes)
    assert len(places) == len(kernel.OWN_PID_ONLY)

    def ask():
        return [refused(lambda: os.kill(os.getpid(), 0)), refused(lambda: os.kill(parent, 0))]

    for _ in range(2):  # the second time, the filter is remembered
        assert confined(confinement, ask) == str(["done", "PermissionError"])
    assert kernel.prepare_filter(processes) == (template, places)


def test_an_orphan_is_found_although_its_parent_has_ended():
    """In a child, which can become a subreaper, and whose children are its own."""
    pid = os.fork()
    if pid == 0:
        try:
            guardian.become_subreaper()
            if not guardian.is_childless():
                os._exit(1)
            worker = os.fork()
            if worker == 0:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(600)
                os._exit(0)
            os.waitpid(worker, 0)
            if guardian.is_childless():
                os._exit(2)
            if not zygote._clean_up(sandbox.Confinement(landlock=True, seccomp=True), None):
                os._exit(3)
            os._exit(0 if guardian.is_childless() else 4)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_where_nothing_is_left_nobody_looks_for_it(monkeypatch):
    pid = os.fork()
    if pid == 0:
        try:
            monkeypatch.setattr(sandbox, "kill_user", lambda *_: os._exit(5))
            worker = os.fork()
            if worker == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            os.waitpid(worker, 0)
            alone = sandbox.Confinement(uid=sandbox.FIRST_UID, landlock=True, seccomp=True)
            os._exit(0 if zygote._clean_up(alone, None) else 6)
        finally:
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
