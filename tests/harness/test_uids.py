"""No two tests share a uid, whichever graders run, since a test's end kills its whole uid.

Nothing here is random: all look for a uid from the same one on.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import grading
from autograder.isolation import guardian, users
from tools import container

UID, UIDS = 65_100, 200  # a range that no other tests use
FORCED = f"""from autograder.isolation import users
users.FIRST_UID, users.UIDS = {UID}, {UIDS}
"""
SLEEPER = """import subprocess; uid, _ = users.claim(0); print("took", uid, flush=True)
until_stopped = ["sh", "-c", "while [ ! -e stop ]; do sleep 0.1; done"]
process = subprocess.Popen(until_stopped, user=uid, group=uid, extra_groups=[])
print("ended with", process.wait())
"""

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root"),
]


@pytest.fixture
def claim() -> Iterator[Callable[[int], tuple[int, subprocess.Popen]]]:
    """A function that claims a uid in a process, which is also returned."""
    made = []

    def start(first: int = UID) -> tuple[int, subprocess.Popen]:
        code = f"import sys; sys.path[:0] = [{str(grading.SRC)!r}, {str(grading.ROOT)!r}]\n{FORCED}"
        code += f"uid, _ = users.claim({first - UID}); print(uid, flush=True); sys.stdin.read()"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
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
def test_a_grader_in_a_container_and_one_outside_do_not_kill_each_others_tests(claim):
    with container.fresh(Path(sys.prefix)) as place:
        shutil.copytree(grading.SRC / "grading", place.autograder / "src" / "grading")
        shutil.copytree(grading.ROOT / "autograder", place.autograder / "autograder")
        code = "import sys; sys.path[:0] = ['src', '.']; " + FORCED + SLEEPER
        (place.autograder / "inside.py").write_text(code, encoding="utf-8")
        log = place.autograder / "log"
        command = [f"{container.HOME}/venv/bin/python", "inside.py"]
        inside = threading.Thread(target=place.run, args=(command, log, container.Limits(cpus=2.0)))
        inside.start()
        while not (words := log.read_text(encoding="utf-8").split() if log.exists() else []):
            time.sleep(0.02)
        first = int(words[1])
        second, _ = claim(first)
        users.kill_all(second)  # as at the end of its test
        (place.autograder / "stop").touch()
        inside.join()
        assert second != first
        assert "ended with 0" in log.read_text(encoding="utf-8")


def test_what_outlives_a_killed_grader_keeps_its_claim(write_query, tmp_path):
    submission = write_query("import time\nprint('asleep', flush=True)\ntime.sleep(600)\n")
    code = f"""import sys; sys.path.insert(0, {str(grading.SRC)!r})
from grading import cli
from questions.course import Course
cli.main(Course(), ["3a-0-basic", "--submission", {str(submission)!r}])
"""
    grader = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, cwd=tmp_path, stderr=None
    )
    while not (workers := users_below(grader.pid)):
        assert grader.poll() is None
        time.sleep(0.02)
    ((worker, uid),) = workers.items()
    watcher = int(guardian._stat(f"/proc/{worker}")[1])  # its parent
    os.kill(watcher, signal.SIGSTOP)  # it would kill the worker at once
    try:
        grader.kill()
        grader.wait()
        os.kill(worker, signal.SIGKILL)
        assert is_claimed(uid)
    finally:
        os.kill(watcher, signal.SIGCONT)
    while is_claimed(uid):
        time.sleep(0.02)


def users_below(pid: int) -> dict[int, int]:
    """Return the processes below one that run as a test's user, with their uids."""
    found = {}
    for each in guardian._descendants(pid):
        with contextlib.suppress(OSError):  # it has ended
            status = Path(f"/proc/{each}/status").read_text(encoding="utf-8")
            found[each] = int(re.search(r"^Uid:\t(\d+)", status, re.MULTILINE)[1])
    return {each: uid for each, uid in found.items() if uid}


def is_claimed(uid: int) -> bool:
    claims = os.open(users.CLAIMS, os.O_RDWR)
    try:
        return not users._lock_byte(claims, uid)
    finally:
        os.close(claims)


def test_a_uid_that_a_service_has_is_left_alone(claim):
    service = subprocess.Popen(["sleep", "60"], user=UID, group=UID, extra_groups=[])
    try:
        assert claim()[0] != UID
    finally:
        end(service)
