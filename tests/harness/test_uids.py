"""No two tests share a uid, whichever graders run, since a test's end kills its whole uid.

Nothing here is random: all look for a uid from the same one on.
"""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import grading
from tools import container

UID, UIDS = 65_100, 200  # a range that no other tests use
IMPORTS = f"import sys; sys.path[:0] = [{str(grading.SRC)!r}, {str(grading.ROOT)!r}]\n"
FORCED = f"""from autograder.isolation import users
users.FIRST_UID, users.UIDS = {UID}, {UIDS}
"""
pytestmark = pytest.mark.requires_root


@pytest.fixture
def claim() -> Iterator[Callable[[int], tuple[int, subprocess.Popen]]]:
    """A function that claims a uid in a process, which is also returned."""
    made = []

    def start(first: int = UID) -> tuple[int, subprocess.Popen]:
        code = f"uid, _ = users.claim({first - UID}); print(uid, flush=True); sys.stdin.read()"
        command = [sys.executable, "-c", IMPORTS + FORCED + code]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        made.append(process)
        return int(process.stdout.readline()), process

    yield start
    for process in made:
        end(process)


def end(process: subprocess.Popen) -> None:
    process.kill()
    process.communicate()


def test_processes_take_different_uids_until_one_ends(claim):
    first, process = claim()
    assert claim()[0] != first
    end(process)
    assert claim(first)[0] == first


@pytest.mark.skipif(not container.is_possible(), reason="no container can be made here")
def test_a_grader_in_a_container_sees_the_claims_of_one_outside(claim):
    """Graders outside reach the processes inside."""
    first, _ = claim()
    with container.fresh(Path(sys.prefix)) as place:
        shutil.copytree(grading.SRC / "grading", place.autograder / "src" / "grading")
        shutil.copy(grading.SRC / "host.py", place.autograder / "src")
        shutil.copytree(grading.ROOT / "autograder", place.autograder / "autograder")
        code = "import sys; sys.path[:0] = ['src', '.']; " + FORCED + "print(users.claim(0)[0])"
        (place.autograder / "inside.py").write_text(code, encoding="utf-8")
        command, log = [f"{container.HOME}/venv/bin/python", "inside.py"], place.autograder / "log"
        place.run(command, log, container.Limits(cpus=2.0))
        assert int(log.read_text(encoding="utf-8")) != first


def test_a_uid_that_a_service_has_is_left_alone(claim):
    service = subprocess.Popen(["sleep", "3600"], user=UID, group=UID, extra_groups=[])
    try:
        assert claim()[0] != UID
    finally:
        end(service)


# The killer is stopped once it has killed all of its uid, of whom one is not below this process.
STOPPED = f"""import os, signal
from autograder.isolation import guardian, leftovers
kill = os.kill
def stop_the_killer(pid, number):
    kill(pid, number)
    if pid == -1:
        kill(os.getpid(), signal.SIGSTOP)
os.kill = stop_the_killer
if os.fork() == 0:
    signal.pause()
guardian.kill_descendants({UID + UIDS})
sys.exit(not leftovers.reap())
"""


def test_whoever_stops_its_killer_is_killed():
    """A test's processes may signal it, since it has their uid, unless a filter forbids it."""
    other = subprocess.Popen(["sleep", "3600"], user=UID + UIDS, group=UID, extra_groups=[])
    try:
        subprocess.run([sys.executable, "-c", IMPORTS + STOPPED], check=True)
        assert other.wait() == -signal.SIGKILL
    finally:
        end(other)
