"""Whatever is killed while a class is graded, the same command completes the same table."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.classroom.graded import (
    NAMES,
    descendants,
    left_in,
    records_in,
    rows_of,
    seed,
    table,
    wait_for,
    wait_for_records,
)
from tests.classroom.tiny import class_of, needs_root

pytestmark = needs_root
CONTINUE = "run the same command again to continue"
# What the command lines of processes contain. Below a grader are its zygote, guardian and killer,
# and what runs a student's code.
WORKER, GRADER = "multiprocessing.spawn", "from autograder import single"
KINDS = {"grader": GRADER, "below a grader": "zygote.main(", "worker": WORKER}


def victims(pid: int, words: str) -> list[int]:
    return sorted(each for each, line in descendants(pid).items() if words in line)


def wait_for_victims(process: subprocess.Popen, words: str) -> list[int]:
    return wait_for(lambda: victims(process.pid, words), process)


def test_whatever_is_killed_or_interrupted_nothing_that_was_done_is_lost(
    six, undisturbed, start_grading, complete, course, temporary, tmp_path
):
    """Kill a grader, something below it, a worker and the client; then interrupt the client."""
    into, kept = tmp_path / "class", {}
    kinds = ((1, "below a grader"), (2, "grader"), (2, "worker"))
    for stop, victims_at, last in ((signal.SIGKILL, kinds, 3), (signal.SIGINT, (), 4)):
        process = start_grading(six, into, "--slots", "2")
        for count, kind in victims_at:
            wait_for_records(into, count, process)
            os.kill(wait_for_victims(process, KINDS[kind])[0], signal.SIGKILL)
        wait_for_records(into, last, process)
        assert wait_for_victims(process, GRADER)  # it is in the middle of something
        below = descendants(process.pid)
        process.send_signal(stop)
        output = process.communicate()[0]
        assert process.returncode == (-9 if stop == signal.SIGKILL else 130), output
        assert "Traceback" not in output and "distributed" not in output, output
        assert left_in(temporary) == []
        while any(map(runs, below)):
            time.sleep(0.1)
        now = dict(rows_of(into, RESULTS))
        assert kept.items() <= now.items()
        kept = now
    output = complete(six, into, "--slots", "2")
    assert "6 of 6 submissions have a result" in output
    assert not any(f"-{name}" in output for name in NAMES)  # nothing says whose one is
    assert kept.items() <= dict(rows_of(into, RESULTS)).items()
    secret = (course / "solutions/data/grading_secret").read_bytes()
    seeds = dict(rows_of(into, "SELECT submission, seed FROM records"))
    assert seeds == {key: str(seed(secret, key)) for key in undisturbed}  # each its own inputs


RESULTS = "SELECT submission, results FROM records WHERE outcome != 'staff fault'"


def runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


# The command, whose workers are killed when one has finished a submission, before it is fetched.
KILL_BEFORE_FETCHING = """
import os, signal, sys, time
from classroom import cluster
from classroom.__main__ import main
fetch, cluster.FETCH_S, killed = cluster._fetch, 5.0, []
def kill_and_fetch(future):
    if not killed:
        assert future.status == "finished"
        killed.extend(future.client.run(os.getpid).values())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        print("killed before its answer was fetched", flush=True)
    return fetch(future)
cluster._fetch = kill_and_fetch
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.long
def test_an_answer_that_died_with_its_worker_is_found_again(complete, course, temporary, tmp_path):
    source, into = class_of(tmp_path / "source", *NAMES[:2]), tmp_path / "class"
    words = ["grade", source, "--into", into, "--edition", "tiny", "--slots", "1"]
    ran = subprocess.run(
        [sys.executable, "-c", KILL_BEFORE_FETCHING, *words],
        cwd=course,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "killed before its answer was fetched" in ran.stdout
    complete(source, into)


@pytest.mark.long
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGSTOP])
def test_a_nanny_and_a_scheduler_may_be_killed_and_a_scheduler_may_fall_silent(
    undisturbed, start_grading, complete, dask, tmp_path, stop
):
    source, into = class_of(tmp_path / "source", *NAMES[:5]), tmp_path / "class"
    scheduler, workers = dask.scheduler(), [dask.worker() for _ in range(2)]
    process = start_grading(source, into, *dask.words)
    wait_for_records(into, 1, process)
    workers[0].kill()  # the nanny, and with it the worker
    wait_for_records(into, 2, process)
    scheduler.send_signal(stop)  # stopped, it answers nobody, like a network that is lost
    output = process.communicate()[0]
    assert process.returncode == 3, output
    assert CONTINUE in output and "Traceback" not in output
    assert 2 <= records_in(into) < 5
    assert table(into).items() <= undisturbed.items()
    if stop == signal.SIGSTOP:  # that it can be completed is not shown twice
        scheduler.kill()
        workers[1].terminate()
        workers[1].wait(60)
        dask.scheduler()
        dask.worker()
        complete(source, into, *dask.words)  # the release was removed, although workers run


@pytest.mark.long
def test_a_worker_that_falls_silent_is_given_up(six, start_grading, complete, dask, tmp_path):
    into = tmp_path / "class"
    dask.scheduler()
    nannies = [dask.worker() for _ in range(2)]
    process = start_grading(six, into, *dask.words)
    wait_for_records(into, 1, process)
    silent = (nannies[0].pid, *victims(nannies[0].pid, WORKER))
    for pid in silent:
        os.kill(pid, signal.SIGSTOP)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    for pid in silent:
        os.kill(pid, signal.SIGKILL)
    complete(six, into, *dask.words)


@pytest.fixture
def disk():
    """Yield a small disk, which other users can access."""
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=755", "tmpfs", folder]
    if subprocess.run(command, check=False).returncode:
        folder.rmdir()
        pytest.skip("file systems can't be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


def fill(disk: Path) -> None:
    filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with pytest.raises(OSError, match="No space left"):
        while os.write(filler, bytes(4096)):
            pass
    os.close(filler)


@pytest.mark.long
@pytest.mark.parametrize("is_the_class", [True, False])
def test_where_a_disk_is_full_what_was_written_stays_and_nobody_gets_a_zero(
    six, undisturbed, start_grading, complete, disk, tmp_path, is_the_class
):
    """Fill the disk of the class, or that of all workers, which are nowhere else."""
    into = (disk if is_the_class else tmp_path) / "class"
    workers = {} if is_the_class else {"env": os.environ | {"TMPDIR": str(disk)}}
    process = start_grading(six, into, "--slots", "1", **workers)
    wait_for_records(into, 2, process)
    while process.poll() is None:  # keep it full
        fill(disk)
        time.sleep(0.005)
    output = process.communicate()[0]
    assert process.returncode in ((3,) if is_the_class else (1, 3)), output
    assert ("can't be written" if is_the_class else "No space left on device") in output
    assert "Traceback" not in output
    assert 2 <= len(table(into)) < len(undisturbed)
    assert table(into).items() <= undisturbed.items()
    (disk / "filler").unlink()
    complete(six, into, "--slots", "2")


STATES = (*KINDS, "client")
AT_LEAST = 20


@pytest.mark.long
@pytest.mark.timeout(3900)
def test_random_kills_under_load_give_the_table_of_an_undisturbed_run(
    start_grading, graded, temporary, tmp_path
):
    source = class_of(tmp_path / "source", *(["right", "wrong", "slow", "raises", "exits"] * 40))
    code, output = graded(source, tmp_path / "quiet")
    assert code == 0, output
    into, rng, killed = tmp_path / "class", random.Random(1), Counter()
    busy = [sys.executable, "-c", "while True: pass"]
    load = [subprocess.Popen(busy) for _ in range(os.cpu_count() or 1)]
    try:
        while min(killed[state] for state in STATES) < AT_LEAST:
            code = 1
            while code:  # the same command, until the class is complete
                process = start_grading(source, into)
                kill_at_random(process, rng, killed)
                output, code = process.communicate()[0], process.returncode
                assert code in (0, 1, 3, -signal.SIGKILL) and "Traceback" not in output, output
            assert table(into) == table(tmp_path / "quiet")
            (into / "class.db").unlink()
    finally:
        for each in load:
            each.kill()
    assert left_in(temporary) == []


def kill_at_random(process: subprocess.Popen, rng: random.Random, killed: Counter) -> None:
    """Kill something every few seconds until the command ends, or is killed itself."""
    while process.poll() is None:
        time.sleep(rng.uniform(1, 4))
        rarest = min(killed[state] for state in STATES)
        state = rng.choice([s for s in STATES if killed[s] <= rarest + 3])
        if state == "client":
            if rng.random() < 0.3:
                process.kill()
                killed[state] += 1
        elif found := victims(process.pid, KINDS[state]):
            with contextlib.suppress(ProcessLookupError):
                os.kill(rng.choice(found), signal.SIGKILL)
                killed[state] += 1
