"""Whatever is killed while a class is graded, the same command completes the same table."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.classroom.clusters import descendants, is_below_a_grader, is_grader, is_worker, left_in
from tests.classroom.graded import (
    NAMES,
    records_in,
    rows_of,
    table,
    wait_for,
    wait_for_records,
)
from tests.classroom.tiny import class_of, needs_root

pytestmark = needs_root
CONTINUE = "run the same command again to continue"


def victims(pid: int, kind) -> list[int]:
    return sorted(each for each, line in descendants(pid).items() if kind(line))


def test_a_client_that_is_killed_terminated_or_interrupted_loses_nothing_that_was_done(
    eight, undisturbed, start_grading, graded, temporary, tmp_path
):
    into, kept = tmp_path / "class", {}
    for count, stop in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGINT), 1):
        process = start_grading(eight, into, "--slots", "2")
        wait_for_records(into, 2 * count, process)
        # Enough may have been there from the start: it has to be in the middle of something.
        wait_until(lambda pid=process.pid: any(map(is_grader, descendants(pid).values())))
        below = descendants(process.pid)
        process.send_signal(stop)
        output = process.communicate()[0]
        assert process.returncode == (-9 if stop == signal.SIGKILL else 130), output
        assert "Traceback" not in output and "distributed" not in output, output
        assert left_in(temporary) == []
        wait_until(lambda below=below: not any(map(runs, below)))
        now = dict(rows_of(into, "SELECT submission, results FROM records"))
        assert kept.items() <= now.items()
        kept = now
    code, output = graded(eight, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == undisturbed
    assert kept.items() <= dict(rows_of(into, "SELECT submission, results FROM records")).items()


def wait_until(condition) -> None:
    while not condition():
        time.sleep(0.1)


def runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "Z" not in Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2][:3]
    return False


def test_workers_graders_and_what_is_below_them_may_be_killed(
    eight, undisturbed, start_grading, graded, temporary, tmp_path
):
    into, killed = tmp_path / "class", []
    process = start_grading(eight, into, "--slots", "2")
    for count, kind in enumerate((is_grader, is_below_a_grader, is_worker), 1):
        wait_for_records(into, count, process)
        found = wait_for(lambda kind=kind: victims(process.pid, kind), process)
        os.kill(found[0], signal.SIGKILL)
        killed.append(kind)
    output = process.communicate()[0]
    assert process.returncode in (0, 1), output
    if process.returncode == 1:  # one of them was killed twice
        assert "staff fault" in output
        code, output = graded(eight, into, "--slots", "2")
        assert code == 0, output
    assert table(into) == undisturbed
    assert left_in(temporary) == []


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


def test_an_answer_that_died_with_its_worker_is_found_again(
    undisturbed, course, release, temporary, tmp_path, tmp_path_factory
):
    source, into = class_of(tmp_path / "source", *NAMES[:2]), tmp_path / "class"
    ran = subprocess.run(
        [sys.executable, "-c", KILL_BEFORE_FETCHING, "grade", source, "--into", into]
        + ["--edition", "tiny", "--slots", "1"],
        cwd=course,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "killed before its answer was fetched" in ran.stdout
    assert table(into) == {key: undisturbed[key] for key in table(into)}
    assert len(table(into)) == 2
    assert left_in(temporary) == []


@pytest.mark.parametrize(
    "stop", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)]
)
def test_a_nanny_and_a_scheduler_may_be_killed_and_a_scheduler_may_fall_silent(
    eight, undisturbed, start_grading, graded, dask, temporary, tmp_path, stop
):
    into = tmp_path / "class"
    scheduler, workers = dask.scheduler(), [dask.worker() for _ in range(2)]
    process = start_grading(eight, into, *dask.words)
    wait_for_records(into, 1, process)
    workers[0].kill()  # the nanny, and with it the worker
    wait_for_records(into, 3, process)
    scheduler.send_signal(stop)  # stopped, it answers nobody, like a network that is lost
    output = process.communicate()[0]
    assert process.returncode == 3, output
    assert CONTINUE in output and "Traceback" not in output
    assert 3 <= records_in(into) < len(undisturbed)
    scheduler.kill()
    workers[1].terminate()
    workers[1].wait(60)
    dask.scheduler()
    dask.worker()
    code, output = graded(eight, into, *dask.words)
    if code == 1:  # one submission was on the nanny's worker and on the scheduler's
        code, output = graded(eight, into, *dask.words)
    assert code == 0, output
    assert table(into) == undisturbed
    assert left_in(temporary) == []  # the release was removed, although workers are running


@pytest.mark.long
def test_a_worker_that_falls_silent_is_given_up(
    eight, undisturbed, start_grading, graded, dask, tmp_path
):
    into = tmp_path / "class"
    dask.scheduler()
    nannies = [dask.worker() for _ in range(2)]
    process = start_grading(eight, into, *dask.words)
    wait_for_records(into, 1, process)
    for pid in (nannies[0].pid, *victims(nannies[0].pid, is_worker)):
        os.kill(pid, signal.SIGSTOP)
    output = process.communicate()[0]
    assert process.returncode == 0, output
    assert table(into) == undisturbed
    nannies[0].send_signal(signal.SIGKILL)


# Full disks -------------------------------------------------------------------------------------


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


def fill_until_it_ends(disk: Path, process: subprocess.Popen) -> str:
    """Keep a disk full until a process ends; return what it printed."""
    while process.poll() is None:
        fill(disk)
        time.sleep(0.005)
    return process.communicate()[0]


def test_where_the_disk_of_the_class_is_full_what_was_written_stays(
    eight, undisturbed, start_grading, graded, temporary, disk
):
    into = disk / "class"
    process = start_grading(eight, into, "--slots", "1")
    wait_for_records(into, 2, process)
    fill(disk)
    output = process.communicate()[0]
    assert process.returncode == 3 and "can't be written" in output, output
    assert "Traceback" not in output
    kept = table(into)
    assert 2 <= len(kept) < len(undisturbed)
    assert kept.items() <= undisturbed.items()
    (disk / "filler").unlink()
    code, output = graded(eight, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == undisturbed
    assert left_in(temporary) == []


@pytest.mark.long
def test_where_the_disk_of_all_workers_is_full_nobody_gets_a_zero(
    eight, undisturbed, start_grading, graded, disk, tmp_path
):
    into = tmp_path / "class"
    process = start_grading(eight, into, "--slots", "1", env=os.environ | {"TMPDIR": str(disk)})
    wait_for_records(into, 2, process)
    output = fill_until_it_ends(disk, process)
    assert process.returncode in (1, 3) and "Traceback" not in output, output
    assert "No space left on device" in output
    assert table(into).items() <= undisturbed.items()
    code, output = graded(eight, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == undisturbed


# Random kills under load ------------------------------------------------------------------------

LOAD = "while True: pass"
STATES = ("grader", "below a grader", "worker", "client")
KINDS = {"grader": is_grader, "below a grader": is_below_a_grader, "worker": is_worker}
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
    load = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(os.cpu_count() or 1)]
    try:
        codes = Counter()
        while min(killed[state] for state in STATES) < AT_LEAST or codes[0] == 0:
            if codes[0]:  # the class is complete, but too little was killed: begin again
                check_and_remove(into, tmp_path / "quiet")
                codes.clear()
            process = start_grading(source, into)
            kill_at_random(process, rng, killed)
            output = process.communicate()[0]
            codes[process.returncode] += 1
            assert process.returncode in (0, 1, 3, -signal.SIGKILL), output
            assert "Traceback" not in output, output
    finally:
        for each in load:
            each.kill()
    print(json.dumps({"killed": killed, "codes": codes}))
    check_and_remove(into, tmp_path / "quiet")
    assert left_in(temporary) == []


def check_and_remove(into: Path, quiet: Path) -> None:
    assert table(into) == table(quiet)
    (into / "class.db").unlink()


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
