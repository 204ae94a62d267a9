"""Real clusters: a class for them, the expected table, dask's programs, and their processes."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.classroom.tiny import class_of
from tools.classroom.cluster import SETTINGS

NAMES = ("right", "wrong", "exits", "slow", "daemon", "raises", "slow", "floods")


@pytest.fixture(scope="session")
def source(tmp_path_factory) -> Path:
    return class_of(tmp_path_factory.mktemp("class") / "source", *NAMES)


@pytest.fixture(scope="session")
def expected(source, course) -> dict[str, list]:
    """Return the table of a serial run without a cluster or hosts, with a run per submission."""
    code = """
import json, sys
from pathlib import Path
from autograder.authoritative import open_pool
from autograder.judging import course_runner
from grading import paths
from grading.edition import load_assignment
from grading.runner import Observer, Options
from questions.course import Course
from tools.classroom import shipping
from tools.classroom.roster import read_class
runner = course_runner(load_assignment(paths.ROOT), Course())
seed = shipping.make_release(paths.ROOT, "tiny").seed
found = {}
for number, one in enumerate(read_class(Path(sys.argv[1])).submissions):
    into = Path(sys.argv[2], str(number))
    into.mkdir(parents=True)
    upload = into / "upload.zip"
    upload.write_bytes(shipping.pack(one.upload, into, Course.provided).content)
    options = Options(submission=upload, edition="tiny", counts=True)
    pool = open_pool(seed, counts=True)
    results = runner.run(options, seed, Observer(), pool).as_dict(staff=True)
    pool.close()
    ends = [[t["test_id"], t["outcome"], t["score"], t["message"]] for t in results["tests"]]
    found[one.submission_id] = [True, [], "", ends]
print(json.dumps(found))
"""
    place = source.parent / "unpacked"
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path[:0] = ['src', '.']" + code, source, place],
        cwd=course,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert len({json.dumps(row[3]) for row in found.values()}) >= 4  # they end differently
    return found


def left_in(temporary: Path) -> list[str]:
    """Return what is left for good, except for dask's own folder, which contains nothing of ours.

    A host whose worker was killed removes its files by itself, perhaps after the client has ended.
    """
    deadline = time.monotonic() + 60
    while True:
        left = [path.name for path in temporary.iterdir() if not path.name.startswith("dask-")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of a process's descendants, by process id."""
    found: dict[int, str] = {}
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [c for t in threads for c in (t / "children").read_text("ascii").split()]
    except OSError:
        return found
    for child in map(int, children):
        try:
            line = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        found[child] = line.replace(b"\0", b" ").decode("utf-8", "replace")
        found |= descendants(child)
    return found


def is_worker(line: str) -> bool:
    return "multiprocessing.spawn" in line


def is_host(line: str) -> bool:
    return "host.main(" in line


def is_below_a_host(line: str) -> bool:
    """Return whether it is a zygote, a guardian, a killer, or runs a student's code."""
    return "autograder.isolation.zygote import" in line


def records_in(folder: Path) -> int:
    return len(list(folder.glob("records/*/*.json")))


def wait_for_records(folder: Path, count: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 300  # a worker that was killed is missed late on a busy machine
    while records_in(folder) < count and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_final(content: bytes) -> bool:
    return not json.loads(content)["again"]


def wait_for_hosts(pids: Iterable[int]) -> None:
    """Wait until no process in `pids` is a host any more."""
    deadline = time.monotonic() + 60
    for pid in pids:
        while is_host(_line(pid)):
            assert time.monotonic() < deadline, _line(pid)
            time.sleep(0.1)


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


@pytest.fixture(scope="session")
def certificates(classroom, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "certificates"
    made = classroom("certificates", folder)
    assert made.wait(60) == 0, made.stdout.read()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    return folder


@pytest.fixture
def start(certificates, temporary, tmp_path):
    """Return a function that starts one of dask's programs, with the settings of the cluster."""
    with programs(certificates, temporary, tmp_path) as run:
        yield run


@contextlib.contextmanager
def programs(
    certificates: Path, temporary: Path, place: Path
) -> Iterator[Callable[..., subprocess.Popen]]:
    """Yield a function that starts one of dask's programs; end them all afterwards.

    Args:
        place: for their logs.
    """
    processes = []

    def run(program: str, *words, tmpdir: Path = temporary) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *map(str, words)]
        environment = _environment(tmpdir) | {"DASK_CONFIG": SETTINGS}
        with open(place / f"{program}-{len(processes)}.log", "wb") as log:
            made = subprocess.Popen(
                command, cwd=certificates, stdout=log, stderr=log, env=environment
            )
        processes.append(made)
        return made

    try:
        yield run
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def kill_one_below(nanny: subprocess.Popen, rng: random.Random) -> str:
    """Kill a worker or one of its hosts; return which, or "" if there was none."""
    kind = rng.choice(["host", "worker"])
    wanted = is_host if kind == "host" else is_worker
    victims = [pid for pid, line in descendants(nanny.pid).items() if wanted(line)]
    if not victims:
        return ""
    with contextlib.suppress(ProcessLookupError):
        os.kill(rng.choice(sorted(victims)), signal.SIGKILL)
    return kind


class Dask:
    """A scheduler at a free port of this machine, and workers for it, over TLS."""

    def __init__(self, start, certificates: Path) -> None:
        self._start = start
        self.address = f"tls://127.0.0.1:{free_port()}"
        self.words = ("--scheduler", self.address, "--certificates", certificates)

    def scheduler(self) -> subprocess.Popen:
        return self._start("scheduler", "--host", self.address, "--no-dashboard")

    def worker(self, **keywords) -> subprocess.Popen:
        words = ("--nthreads", "1", "--no-dashboard", "--host", "tls://127.0.0.1")
        return self._start("worker", self.address, *words, **keywords)


@pytest.fixture
def dask(start, certificates) -> Dask:
    return Dask(start, certificates)


def _environment(temporary: Path) -> dict[str, str]:
    """Return an environment in which a worker can't import our modules, only the release."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return kept | {"TMPDIR": str(temporary)}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
