"""A zygote that the kernel kills, as it may in a full container, costs no test and no point."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.isolation import ConfinedPool, pool, users
from grading.verdicts import Outcome
from tests.redteam.arena import slowness

ID = "3a-0-basic"
RIGHT = "return 1000 * keys[j]\n"
SLOW = "import time\nopen('begun', 'w').close()\ntime.sleep({})\n" + RIGHT


@pytest.fixture
def pools():
    """A pool for this module only, which may be broken."""
    made = ConfinedPool(hash_seed=1)
    made.warm(False)
    yield {"zygote": made}
    made.close()


@pytest.fixture
def zygote_of(pools):
    """The process id of the present zygote."""
    return lambda: pools["zygote"]._zygotes[False]._process.pid


@pytest.fixture
def grade_slowly(write_query, grade, zygote_of):
    """Grade code that takes a while, and call `act(guardian, worker)` once it has begun."""

    def run(act: Callable[[int, int], None], takes_s: int = 600) -> Outcome:
        zygote = zygote_of()

        def wait() -> None:
            deadline = time.monotonic() + 60 * slowness()
            while time.monotonic() < deadline:
                for guardian in children(zygote):
                    for worker in children(guardian):
                        if Path(f"/proc/{worker}/cwd/begun").exists():
                            return act(guardian, worker)
                time.sleep(0.01)
            raise AssertionError("no code ran")

        thread = threading.Thread(target=wait)
        thread.start()
        result = grade(write_query(SLOW.format(takes_s)), ID)[ID]
        thread.join()
        return result.outcome

    return run


def kill(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def children(pid: int) -> list[int]:
    listing = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return list(map(int, listing.split()))


def test_before_it_has_begun_what_it_was_sent(write_query, grade, zygote_of, monkeypatch):
    submission = write_query(RIGHT)
    grade(submission, ID)
    stopped = zygote_of()
    kill(*children(stopped))  # otherwise, the idle guardian would be used
    os.kill(stopped, signal.SIGSTOP)
    receive = pool._receive

    def killed_meanwhile(guardian: socket.socket, seconds: float) -> bytes:
        if zygote_of() == stopped:
            kill(stopped)
        return receive(guardian, seconds)

    monkeypatch.setattr(pool, "_receive", killed_meanwhile)
    assert grade(submission, ID)[ID].outcome is Outcome.PASSED
    assert zygote_of() != stopped


def test_while_a_worker_works_its_guardian_tells_the_end(grade_slowly, pools, zygote_of):
    before = zygote_of()
    assert grade_slowly(lambda *_: kill(before), takes_s=1) is Outcome.PASSED
    assert zygote_of() == before  # nothing was repeated
    assert not pools["zygote"]._zygotes[False].is_alive()


def test_with_its_guardian_while_a_students_code_runs_the_test_is_lost_and_no_other(
    write_query, grade, grade_slowly, zygote_of
):
    zygote = zygote_of()
    assert grade_slowly(lambda *pids: kill(zygote, *pids)) is Outcome.KILLED
    assert zygote_of() == zygote  # a student's code may be to blame: it doesn't run again
    assert grade(write_query(RIGHT), ID)[ID].outcome is Outcome.PASSED


def test_a_run_that_is_abandoned_ends_jobs_of_a_zygote_that_was_replaced(
    write_query, grade, grade_slowly, pools, zygote_of
):
    zygote = zygote_of()

    def replace_and_abandon(*_: int) -> None:
        kill(zygote)
        grade(write_query(RIGHT), ID)
        pools["zygote"].abandon()

    assert grade_slowly(replace_and_abandon) is Outcome.KILLED
    assert zygote_of() != zygote


def test_the_kernel_is_offered_workers_first_then_the_zygote(write_query, grade, zygote_of):
    submission = write_query(
        'score = open("/proc/self/oom_score_adj").read().strip()\nraise ValueError(score)\n'
    )
    assert "ValueError: 1000" in grade(submission, ID)[ID].message
    usual = int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))
    score = Path(f"/proc/{zygote_of()}/oom_score_adj").read_text(encoding="ascii")
    assert int(score) == max(500, usual)


@pytest.mark.requires_root
def test_no_other_test_of_the_run_gets_the_uid_of_a_killed_guardian(
    write_query, grade, grade_slowly, monkeypatch
):
    uids = []
    claim = users.claim

    def claim_from_the_same(_: int) -> tuple[int, int]:
        uid, claims = claim(0)
        uids.append(uid)
        return uid, claims

    monkeypatch.setattr(users, "claim", claim_from_the_same)
    monkeypatch.setattr(users, "_used", lambda second: ())  # only claims, not what still ends

    def kill_both(guardian: int, worker: int) -> None:
        os.kill(guardian, signal.SIGSTOP)
        kill(worker, guardian)

    assert grade_slowly(kill_both) is Outcome.KILLED
    grade(write_query(RIGHT), ID)
    assert uids[-1] != uids[-2]
