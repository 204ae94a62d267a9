"""Whatever is killed while a class is graded, the same command completes the same table."""

import contextlib
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from classroom import cluster, grade, worker
from classroom.exports import read_export
from classroom.grade import Release
from tests.classroom.contents import zipped
from tests.classroom.graded import (
    NAMES,
    Dask,
    descendants,
    left_in,
    row,
    rows_of,
    table,
    wait_for,
    wait_for_records,
)
from tests.classroom.scripted import answer
from tests.classroom.tiny import class_of
from tests.redteam.arena import slowness

pytestmark = pytest.mark.requires_root
CONTINUE = "run the same command again to continue"
# What the command lines of processes contain. Below a grader are its zygote, guardian and killer,
# and what runs a student's code.
WORKER, GRADER = "multiprocessing.spawn", "from autograder import single"
KINDS = {"grader": GRADER, "below a grader": "zygote.main(", "worker": WORKER}
# What Python prints in a process that had just begun when the client that began it was killed.
ORPHAN = re.compile(r"Traceback .*\n.*\n.* in spawn_main\n(  .*\n)+EOFError: Ran out of input")


def victims(pid: int, words: str) -> list[int]:
    return sorted(each for each, line in descendants(pid).items() if words in line)


def wait_for_victims(process: subprocess.Popen, words: str) -> list[int]:
    return wait_for(lambda: victims(process.pid, words), process)


def test_whatever_is_killed_or_interrupted_nothing_that_was_done_is_lost(
    six, start_grading, complete, temporary, tmp_path
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


RESULTS = "SELECT submission, results FROM records WHERE outcome != 'staff fault'"


def runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


# Kills on a cluster whose workers run this in place of the grader, which takes a moment: it tells
# what it was given.
SINGLE = """
import hashlib, json, sys, time
def main(course):
    request = json.loads(sys.stdin.readline())
    if "name" not in request:
        return print('{"obstacles": []}')
    given = hashlib.sha256(open(request["submission"], "rb").read()).hexdigest()
    time.sleep(0.3)
    ANSWER["results"]["tests"][0]["message"] = " ".join([request["name"], request["seed"], given])
    print(json.dumps(ANSWER))
ANSWER = """


@pytest.fixture(scope="module")
def scripted(tmp_path_factory) -> tuple[Path, Path, dict[str, list]]:
    """Return a class of six, a release that only says what it was given, and the right table."""
    folder = tmp_path_factory.mktemp("scripted")
    source, path = class_of(folder / "source", *["right", "wrong", "raises"] * 2), folder / "a.zip"
    made = answer("failed", "passed", "passed")
    files = {"autograder/__init__.py": "", "autograder/single.py": f"{SINGLE}{made!r}\n"}
    files |= {"questions/__init__.py": "", "questions/course.py": "Course = object\n"}
    files |= {"src/edition.json": '{"editions": {"tiny": {"title": "Tiny"}}}'}
    files |= {"solutions/data/grading_secret": "s" * 32, "run_autograder": "--edition tiny "}
    path.write_bytes(zipped({name: text.encode() for name, text in files.items()}))
    release, rows = Release.read(path), {}
    for one in read_export(source).submissions:
        given = hashlib.sha256(one.upload.pack()).hexdigest()
        made["results"]["tests"][0]["message"] = f"{one.id} {release.seed(one.id)} {given}"
        rows[one.id] = row("graded", "", made["results"])
    return source, path, rows


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of 8 MB at a folder, if that is possible here."""
    words = ["-t", "tmpfs", "-o", "size=8m,mode=755", "tmpfs", folder]
    mounted = subprocess.run(["mount", *words], check=False).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Keep a disk full during a block."""
    if not disk.is_mount():
        pytest.skip("file systems can't be mounted here")
    full, ended = threading.Event(), threading.Event()

    def fill() -> None:
        with open(disk / "filler", "ab", buffering=0) as filler:
            while not ended.is_set():
                with contextlib.suppress(OSError):
                    while filler.write(bytes(4096)):
                        pass
                full.set()
                ended.wait(0.01)

    with ThreadPoolExecutor() as pool:
        pool.submit(fill)
        full.wait()
        try:
            yield
        finally:
            ended.set()
    (disk / "filler").unlink()


class Shared(Dask):
    """A cluster of which something may be killed, and which is then started again.

    The second of the two workers has no nanny, so only its heartbeats tell that it lives. Its
    temporary files are on a small disk.
    """

    def __init__(self, certificates: Path, disk: Path, logs: Path) -> None:
        super().__init__(certificates, disk, logs)
        self._environment["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = f"{5 * slowness():.0f}s"
        self.disk, self.parts = disk, dict[str, psutil.Popen]()

    def start_what_has_ended(self) -> None:
        worker = ["worker", self.address, "--nthreads", "1", "--host", "tls://127.0.0.1"]
        starts = {"scheduler": ["scheduler", "--host", self.address], "nanny": worker}
        starts["worker"] = [*worker, "--no-nanny"]
        for part, words in starts.items():
            if part not in self.parts or self.parts[part].poll() is not None:
                if part == "scheduler":  # nobody works for the former one any longer
                    self.close()
                self.parts[part] = self.start(*words, "--no-dashboard")


@pytest.fixture(scope="module")
def shared(certificates, tmp_path_factory) -> Iterator[Shared]:
    with small_disk(tmp_path_factory.mktemp("disk")) as disk:
        made = Shared(certificates, disk, tmp_path_factory.mktemp("logs"))
        yield made
        made.close()
        assert left_in(disk) == []


@pytest.fixture
def grade_here(shared, scripted, monkeypatch, command):
    """Return a function that grades the class in this process: (exit code, output).

    When the second record has been kept, it calls what it is given.
    """
    source, release, _ = scripted
    for limit in ("FETCH_S", "CLOSE_S"):  # what takes longer is tried again, or goes on by itself
        monkeypatch.setattr(cluster, limit, 2.0)
    for limit in ("CONNECT_S", "PATIENCE_S"):  # on a busy machine, all of it starts slowly
        monkeypatch.setattr(cluster, limit, 600.0)
    monkeypatch.setattr(worker, "MOST_IN_A_ROW", 99)  # so that no worker leaves a full disk

    def run(into: Path, then: Callable[[], object] = lambda: None) -> tuple[int, str]:
        shared.start_what_has_ended()
        kept, keep = [], grade._keep

        def keep_and_then(*words) -> None:
            keep(*words)
            kept.append(words)
            if len(kept) == 2:
                then()

        words = ["grade", source, "--into", into, "--release", release, *shared.words]
        with monkeypatch.context() as patch:
            patch.setattr(grade, "_keep", keep_and_then)
            code, *said = command(*words)
        return code, "".join(said)

    return run


def is_part(into: Path, rows: dict[str, list]) -> bool:
    """Return whether a class is graded in part, and rightly as far as it is."""
    there = table(into)
    return 2 <= len(there) < len(rows) and there.items() <= rows.items()


SILENT = ("scheduler", signal.SIGSTOP)  # stopped, it answers nobody, like a lost network


@pytest.mark.parametrize(
    "part, number, ends",
    [
        ("nanny", signal.SIGKILL, 0),  # and with it its worker
        ("worker", signal.SIGSTOP, 0),
        ("scheduler", signal.SIGKILL, 3),
        (*SILENT, 3),
    ],
)
def test_what_is_killed_or_falls_silent_is_given_up_and_nothing_is_lost(
    shared, grade_here, scripted, tmp_path, monkeypatch, part, number, ends
):
    into, rows, is_silent = tmp_path / "class", scripted[2], (part, number) == SILENT
    with monkeypatch.context() as patch:
        if is_silent:  # nobody waits for as long as in practice
            patch.setattr(cluster, "ANSWER_S", 3 * slowness())
        code, output = grade_here(into, lambda: shared.parts[part].send_signal(number))
    assert code == ends, output
    if code:
        assert CONTINUE in output and "Traceback" not in output
        assert is_part(into, rows)
    if is_silent:  # the same one goes on
        shared.parts[part].send_signal(signal.SIGCONT)
    else:
        shared.parts[part].kill()
        shared.parts[part].wait()
    if code:
        code, output = grade_here(into)
    assert code == 0 and table(into) == rows, output


def test_an_answer_that_died_with_its_worker_is_found_again(
    grade_here, scripted, tmp_path, monkeypatch
):
    """All workers are killed when one has finished a submission, before it is fetched."""
    fetch, killed = cluster._fetch, []

    def kill_and_fetch(future):
        if not killed:
            assert future.status == "finished"
            killed.extend(future.client.run(os.getpid).values())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return fetch(future)

    monkeypatch.setattr(cluster, "_fetch", kill_and_fetch)
    code, output = grade_here(tmp_path / "class")
    if code == 1:  # a task was given to the second worker before that was killed: it is lost twice
        assert "its worker was killed, or could no longer be reached, twice" in output
        code, output = grade_here(tmp_path / "class")
    assert code == 0 and killed and table(tmp_path / "class") == scripted[2], output


@pytest.mark.parametrize("whose", ["the class's", "the workers'"])
def test_where_a_disk_is_full_what_was_written_stays_and_nobody_gets_a_zero(
    shared, grade_here, scripted, tmp_path, whose
):
    rows, own = scripted[2], tmp_path / "disk"
    own.mkdir()
    with small_disk(own), contextlib.ExitStack() as stack:
        into = own / "class" if whose == "the class's" else tmp_path / "class"
        disk = own if whose == "the class's" else shared.disk
        code, output = grade_here(into, lambda: stack.enter_context(filled(disk)))
        assert code == (3 if whose == "the class's" else 1), output
        assert ("can't be written" if code == 3 else "No space left on device") in output
        assert "Traceback" not in output and is_part(into, rows)
        stack.close()
        code, output = grade_here(into)
        assert code == 0 and table(into) == rows, output


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
                if code == -signal.SIGKILL:
                    output = ORPHAN.sub("", output)
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
