"""No two tests share a uid, whichever graders run, since a test's end kills its whole uid.

Nothing here is random: pools are made to start at the same uid.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autograder.isolation import sandbox
from grading import paths
from grading.verdicts import Outcome
from tools import container

UID, UIDS = 65_100, 200  # a range that no other tests use
FORCED = f"""from grading import sandbox
sandbox.FIRST_UID, sandbox.UIDS = {UID}, {UIDS}
pool = sandbox.UidPool()
pool._next = -1
"""
SLEEPER = """import subprocess; uid = pool.take(); print("took", uid, flush=True)
process = subprocess.Popen(["sleep", "3"], user=uid, group=uid, extra_groups=[])
print("ended with", process.wait())
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root"),
]


@pytest.fixture(autouse=True)
def _own_range(monkeypatch):
    monkeypatch.setattr(sandbox, "FIRST_UID", UID)
    monkeypatch.setattr(sandbox, "UIDS", UIDS)


def pool_at(uid: int) -> sandbox.UidPool:
    pool = sandbox.UidPool()
    pool._next = uid - 1 - sandbox.FIRST_UID
    return pool


def wait_for(words: str, log: Path) -> str:
    """Wait until a log contains `words`; return its text."""
    deadline = time.monotonic() + 30
    while not log.exists() or words not in log.read_text(encoding="utf-8"):
        assert time.monotonic() < deadline, log.exists() and log.read_text(encoding="utf-8")
        time.sleep(0.02)
    return log.read_text(encoding="utf-8")


def test_pools_side_by_side_take_different_uids_until_one_gives_its_own_back():
    first, second = pool_at(UID), pool_at(UID)
    taken = first.take()
    other = second.take()
    assert taken != other
    first.release(taken)
    assert pool_at(taken).take() == taken


def test_a_pool_that_is_gone_holds_nothing():
    taken = pool_at(UID).take()
    assert pool_at(taken).take() == taken


@pytest.mark.skipif(not container.is_possible(), reason="no container can be made here")
def test_a_grader_in_a_container_and_one_outside_do_not_kill_each_others_tests():
    with container.fresh(Path(sys.prefix)) as place:
        shutil.copytree(paths.SRC / "grading", place.autograder / "src" / "grading")
        code = "import sys; sys.path.insert(0, 'src'); " + FORCED + SLEEPER
        (place.autograder / "inside.py").write_text(code, encoding="utf-8")
        log = place.autograder / "log"
        command = [f"{container.HOME}/venv/bin/python", "inside.py"]
        inside = threading.Thread(target=place.run, args=(command, log, container.Limits(cpus=2.0)))
        inside.start()
        first = int(wait_for("took", log).split()[1])
        pool = pool_at(first)
        second = pool.take()
        sandbox.kill_user(second)  # as at the end of its test
        inside.join()
        assert second != first
        assert "ended with 0" in log.read_text(encoding="utf-8")


def test_what_outlives_a_killed_grader_keeps_its_claim(write_query, tmp_path):
    submission = write_query("import time\nprint('asleep', flush=True)\ntime.sleep(600)\n")
    code = f"""import sys; sys.path.insert(0, {str(paths.SRC)!r})
{FORCED}
sandbox.UidPool = lambda: pool
from grading import cli
from questions.course import Course
cli.main(Course(), ["3a-0-basic", "--submission", {str(submission)!r}])
"""
    grader = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, cwd=tmp_path, stderr=None
    )
    deadline = time.monotonic() + 30
    while not (workers := sandbox.processes_of(UID)):
        assert grader.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    guardian = parent_of(workers[0])
    os.kill(guardian, signal.SIGSTOP)  # it would kill the worker at once
    try:
        grader.kill()
        grader.wait()
        other = pool_at(UID).take()
    finally:
        os.kill(guardian, signal.SIGCONT)
    assert other != UID
    while sandbox.processes_of(UID):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)  # the guardian still has to end
    assert pool_at(UID).take() == UID


def parent_of(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    return int(fields[1])


def test_a_run_gives_back_the_uids_of_tests_that_have_ended(write_query, grade, monkeypatch):
    monkeypatch.setattr(sandbox, "UIDS", 1)
    results = grade(write_query("return 1000 * keys[j]\n"), "3a-0-basic", "3a-1-hidden")
    assert [t.outcome for t in results.values() if t.is_selected] == [Outcome.PASSED] * 2


def test_a_uid_that_a_service_has_is_left_alone():
    service = subprocess.Popen(["sleep", "60"], user=UID, group=UID, extra_groups=[])
    try:
        assert pool_at(UID).take() != UID
    finally:
        service.kill()
        service.wait()
