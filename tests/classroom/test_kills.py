"""Whatever is killed while a class is graded, the same command completes the same table."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.classroom.clusters import (
    descendants,
    is_below_a_host,
    is_final,
    is_host,
    is_worker,
    left_in,
    records_in,
    wait_for_hosts,
    wait_for_records,
)
from tests.classroom.tiny import needs_root, table
from tools.classroom import dispatch, slots
from tools.classroom.cluster import Able
from tools.classroom.dispatch import GONE, MOST_IN_A_ROW
from tools.classroom.dispatching import CONTINUE

pytestmark = needs_root


@pytest.mark.parametrize(
    "stop", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.long)]
)
def test_a_client_that_is_stopped_loses_nothing_that_was_done(
    source, expected, grade, begin, temporary, tmp_path, stop
):
    into = tmp_path / "class"
    process = begin(source, into, "--slots", "2")
    wait_for_records(into, 1, process)  # seven are left, which take some seconds
    family = descendants(process.pid)
    assert any(is_host(line) for line in family.values())
    process.send_signal(stop)
    output = process.communicate(timeout=90)[0]
    assert process.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL), output
    assert "distributed" not in output  # dask doesn't report what was interrupted
    wait_for_hosts(family)
    kept = {path: path.read_bytes() for path in into.glob("records/*/*.json")}
    assert kept
    code, output = grade(source, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == expected
    assert all(path.read_bytes() == content for path, content in kept.items() if is_final(content))
    assert left_in(temporary) == []


@pytest.mark.long
@pytest.mark.parametrize("kinds", [(is_host, is_worker, is_host), (is_below_a_host,) * 6])
def test_workers_hosts_and_what_is_below_them_may_be_killed(
    source, expected, grade, begin, temporary, tmp_path, kinds
):
    into = tmp_path / "class"
    process = begin(source, into, "--slots", "2")
    rng = random.Random(1)
    killed = 0
    for count, kind in enumerate(kinds, 1):
        wait_for_records(into, count, process)
        victims = [pid for pid, line in descendants(process.pid).items() if kind(line)]
        if victims and process.poll() is None:
            os.kill(rng.choice(sorted(victims)), signal.SIGKILL)
            killed += 1
    code, output = process.wait(240), process.stdout.read()
    assert killed >= 2, output
    assert code in (0, 1), output
    if code == 1:  # a submission was killed twice: the same command completes the class
        code, output = grade(source, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == expected
    assert left_in(temporary) == []


@pytest.fixture
def disk():
    """Yield a small disk, which other users can access."""
    folder = Path(tempfile.mkdtemp(prefix="disk-"))
    folder.chmod(0o755)
    command = ["mount", "-t", "tmpfs", "-o", "size=32m,mode=755", "tmpfs", folder]
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
def test_where_the_disk_of_the_class_is_full_what_was_written_stays(
    source, expected, grade, begin, temporary, disk
):
    into = disk / "class"
    process = begin(source, into, "--slots", "1")
    wait_for_records(into, 2, process)
    fill(disk)
    output = process.communicate(timeout=90)[0]
    assert process.returncode == 3 and "No space left on device" in output, output
    assert CONTINUE in output and "Traceback" not in output
    kept = {path: path.read_bytes() for path in into.glob("records/*/*.json")}
    assert 2 <= len(kept) < len(expected)
    (disk / "filler").unlink()
    code, output = grade(source, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == expected
    assert all(path.read_bytes() == content for path, content in kept.items() if is_final(content))
    assert left_in(temporary) == []


def fill_until_it_ends(disk: Path, process: subprocess.Popen) -> str:
    """Keep filling a disk until a process ends; return what it printed."""
    deadline = time.monotonic() + 240
    while process.poll() is None:
        assert time.monotonic() < deadline
        fill(disk)
        time.sleep(0.005)
    return process.communicate(timeout=60)[0]


@pytest.mark.long
def test_where_the_disk_of_all_workers_is_full_nobody_gets_a_zero(
    source, expected, grade, begin, disk, tmp_path
):
    into = tmp_path / "class"
    process = begin(source, into, "--slots", "1", env=os.environ | {"TMPDIR": str(disk)})
    wait_for_records(into, 2, process)
    output = fill_until_it_ends(disk, process)
    assert process.returncode == 3, output
    assert f"lost {MOST_IN_A_ROW} submissions in a row" in output and "Traceback" not in output
    assert "No space left on device" in output
    graded = table(into)
    assert 2 <= len(graded) < len(expected)
    assert all(row == expected[key] for key, row in graded.items())
    code, output = grade(source, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == expected


@pytest.mark.long
def test_a_worker_whose_disk_is_full_leaves_the_class_to_others(
    source, expected, grade, begin, dask, disk, tmp_path
):
    dask.scheduler()
    dask.worker()
    dask.worker(tmpdir=disk)
    into = tmp_path / "class"
    process = begin(source, into, *dask.words)
    wait_for_records(into, 1, process)
    output = fill_until_it_ends(disk, process)
    assert process.returncode in (0, 1), output
    if process.returncode == 1:  # a submission was lost there twice: make room
        (disk / "filler").unlink()
        code, output = grade(source, into, *dask.words)
        assert code == 0, output
    assert table(into) == expected


@pytest.mark.long
def test_a_scheduler_that_is_killed_ends_the_command_and_another_goes_on(
    source, expected, grade, begin, dask, temporary, tmp_path
):
    into = tmp_path / "class"
    scheduler, worker = dask.scheduler(), dask.worker()
    process = begin(source, into, *dask.words)
    wait_for_records(into, 1, process)
    family = descendants(worker.pid)
    scheduler.kill()
    output = process.communicate(timeout=300)[0]
    assert process.returncode == 3, output
    assert CONTINUE in output and "Traceback" not in output
    worker.terminate()
    worker.wait(60)
    wait_for_hosts(family)  # hosts end with their worker, and the worker with its nanny
    kept = records_in(into)
    assert 1 <= kept < len(expected)
    dask.scheduler()
    dask.worker()
    code, output = grade(source, into, *dask.words)
    assert code == 0, output
    assert table(into) == expected


@pytest.mark.long
def test_a_scheduler_with_workers_of_its_own_and_kills_gives_the_same_table(
    source, expected, grade, begin, dask, temporary, tmp_path
):
    dask.scheduler()
    workers = [dask.worker() for _ in range(2)]
    into = tmp_path / "class"
    process = begin(source, into, *dask.words)
    wait_for_records(into, 2, process)
    assert process.poll() is None, process.stdout.read()
    workers[0].kill()  # the nanny, and with it the worker
    code, output = process.wait(240), process.stdout.read()
    if code == 1:
        code, output = grade(source, into, *dask.words)
    assert code == 0, output
    assert table(into) == expected
    assert left_in(temporary) == []  # the release was removed, although workers are running


# The command, whose worker is killed when it has finished a submission, before that is fetched.
KILL_BEFORE_FETCHING = """
import os, signal, sys, time
from tools.classroom import dispatch
from tools.classroom.__main__ import main
fetch, dispatch.FETCH_S, killed = dispatch._answer, 5.0, []
def kill_and_fetch(future):
    if not killed:
        killed.extend(future.client.run(os.getpid).values())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while future.status == "finished" and time.monotonic() < deadline:
            time.sleep(0.01)
        print("killed before its answer was fetched", flush=True)
    return fetch(future)
dispatch._answer = kill_and_fetch
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.long
def test_an_answer_that_died_with_its_worker_is_waited_for_in_vain_only_for_a_while(
    source, expected, course, temporary, tmp_path
):
    into = tmp_path / "class"
    words = ("grade", source, "--into", into, "--edition", "tiny", "--slots", "1")
    ran = subprocess.run(
        [sys.executable, "-c", KILL_BEFORE_FETCHING, *words],
        cwd=course,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "killed before its answer was fetched" in ran.stdout
    assert f"no result: {GONE}" in ran.stdout + ran.stderr
    assert table(into) == expected  # the second pass has graded it
    assert left_in(temporary) == []


def test_a_worker_that_is_never_ready_does_not_keep_the_others_waiting(monkeypatch):
    monkeypatch.setattr(dispatch, "PATIENCE_S", 0.5)
    ready = Able("tls://a", "a", 2, {})
    client = SimpleNamespace(
        scheduler_info=lambda n_workers: {"workers": {"tls://a": {}, "tls://b": {}}}
    )
    workers = SimpleNamespace(able=lambda: {"tls://a": ready}, refused={})
    before = time.monotonic()
    assert dispatch.Dispatcher(client, "grader", workers).wait(print) == 2
    assert time.monotonic() - before >= 0.5  # it had its chance


def test_a_slot_may_tidy_up_while_its_worker_removes_the_grader(tmp_path, capfd):
    own, half_removed = tmp_path / "slot-1", tmp_path / "release" / "src" / "grading"
    (own / "scratch").mkdir(parents=True)
    half_removed.mkdir(parents=True)
    slots.remove(own, str(half_removed.parent))
    assert not own.exists()
    assert capfd.readouterr() == ("", "")
