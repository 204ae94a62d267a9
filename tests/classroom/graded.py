"""The tiny course packed as a release, commands and clusters that grade with it, their tables."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from classroom.cluster import SETTINGS, write_certificates
from classroom.exports import read_export
from classroom.grade import Release
from tests.classroom.tiny import class_of
from tools import archive, autograder

NAMES = ("right", "wrong", "exits", "daemon", "raises", "slow")


@pytest.fixture(scope="session")
def release(course) -> Path:
    """Return the tiny edition's packed autograder, where `grade` finds it."""
    autograder.keep_secret(course)
    path = course / "dist" / "autograder-tiny.zip"
    archive.write(path, autograder.contents(course, "tiny"), autograder.SCRIPTS)
    return path


@pytest.fixture(scope="session")
def start_grading(course, release, temporary):
    """Return a function that starts to grade a class with the tiny edition."""

    def start(source: Path, into: Path, *words: str | Path) -> subprocess.Popen:
        words = ("-m", "classroom", "grade", source, "--into", into, "--edition", "tiny", *words)
        process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            cwd=course,
            env=os.environ | {"TMPDIR": str(temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            # If tests run in the background, as by `nohup make test &`, SIGINT is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        return process

    with contextlib.ExitStack() as stack:
        yield start


@pytest.fixture(scope="session")
def graded(start_grading):
    """Return a function that grades a class with the tiny edition: (exit code, output)."""

    def run(source: Path, into: Path, *words: str | Path):
        process = start_grading(source, into, *words)
        output = process.communicate()[0]
        return process.returncode, output

    return run


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "certificates"
    write_certificates(folder)
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    return folder


class Dask:
    """A scheduler at a free port of this machine, and workers for it, over TLS.

    There, a worker can't import our modules, only the release.
    """

    def __init__(self, certificates: Path, temporary: Path, logs: Path) -> None:
        self._certificates, self._logs = certificates, logs
        self._environment = {key: os.environ[key] for key in os.environ if key != "PYTHONPATH"}
        self._environment |= {"TMPDIR": str(temporary), "DASK_CONFIG": SETTINGS}
        self.processes: list[psutil.Popen] = []
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.address = f"tls://127.0.0.1:{self.port}"
        self.words = ("--scheduler", self.address, "--certificates", certificates)

    def start(self, program: str, *words: str) -> psutil.Popen:
        """Start one of dask's programs, with the settings of the cluster."""
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *words]
        with open(self._logs / f"{program}-{len(self.processes)}.log", "wb") as log:
            place = {"cwd": self._certificates, "env": self._environment}
            self.processes.append(psutil.Popen(command, stdout=log, stderr=log, **place))
        return self.processes[-1]

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        for process in psutil.wait_procs(self.processes, 20)[1]:
            process.kill()


@pytest.fixture
def dask(certificates, temporary, tmp_path) -> Iterator[Dask]:
    with contextlib.closing(Dask(certificates, temporary, tmp_path)) as made:
        yield made


@pytest.fixture(scope="session")
def six(tmp_path_factory) -> Path:
    return class_of(tmp_path_factory.mktemp("class") / "source", *NAMES)


@pytest.fixture(scope="session")
def undisturbed(six, course, release, tmp_path_factory) -> dict[str, list]:
    """Return what the grader's own command finds in each submission, without a cluster."""
    packed, rows = Release.read(release), {}
    for one in read_export(six).submissions:
        path = tmp_path_factory.mktemp("alone") / "results.json"
        words = ["--authoritative", "--edition", "tiny", "--seed", packed.seed(one.id)]
        words += ["--submission", str(six / one.upload.location), "--json", str(path)]
        command = [sys.executable, "src/grader.py", *words]
        ran = subprocess.run(command, cwd=course, check=False, stdout=subprocess.DEVNULL)
        assert ran.returncode in (0, 1)
        rows[one.id] = row("graded", "", json.loads(path.read_text(encoding="utf-8")))
    assert len({json.dumps(each[3]) for each in rows.values()}) >= 4  # they end differently
    return rows


@pytest.fixture
def complete(graded, undisturbed, temporary):
    """Return a function that completes a class: each gets what an undisturbed run gives it."""

    def run(source: Path, into: Path, *words) -> str:
        code, output = graded(source, into, *words)
        if code == 1:  # a submission was lost twice
            code, output = graded(source, into, *words)
        assert code == 0, output
        ids = [one.id for one in read_export(source).submissions]
        assert table(into) == {key: undisturbed[key] for key in ids}
        assert left_in(temporary) == []
        return output

    return run


def row(outcome: str, reason: str, results: dict) -> list:
    """Return everything that decides a grade."""
    ends = [[t["test_id"], t["outcome"], t["score"], t["message"]] for t in results["tests"]]
    return [outcome, reason, f"{results['score']:.2f}", ends]


def rows_of(folder: Path, sql: str) -> list[tuple]:
    """Ask a class's database, as `sqlite3` would."""
    place = f"file:{folder / 'class.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(place, uri=True, timeout=60)) as connection:
        return connection.execute(sql).fetchall()


def table(folder: Path) -> dict[str, list]:
    """Return what counts, by submission."""
    found = rows_of(
        folder,
        "SELECT c.submission, outcome, reason, score, results FROM counted c "
        "JOIN records ON records.id = record ORDER BY c.submission",
    )
    rows = {key: row(outcome, why, json.loads(text)) for key, outcome, why, _, text in found}
    assert all(rows[key][2] == score for key, _, _, score, _ in found)
    return rows


def records_in(folder: Path) -> int:
    try:
        return rows_of(folder, "SELECT count(*) FROM records")[0][0]
    except sqlite3.OperationalError:  # it isn't there, or has no tables yet
        return 0


def wait_for(condition: Callable[[], object], process: subprocess.Popen):
    """Wait until a condition holds, or a process ends; return the condition's value."""
    while not (value := condition()) and process.poll() is None:
        time.sleep(0.02)
    return value


def wait_for_records(folder: Path, count: int, process: subprocess.Popen) -> None:
    wait_for(lambda: records_in(folder) >= count, process)


def left_in(temporary: Path) -> list[str]:
    """Return what is left for good, except for dask's own folders, which contain nothing of ours.

    What a worker that was killed leaves is removed by its keeper, perhaps after the client ended.
    """
    deadline = time.monotonic() + 300
    while left := [path.name for path in temporary.iterdir() if not _is_dasks(path)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return left


def _is_dasks(folder: Path) -> bool:
    """Return whether it is a worker's folder, or has a local cluster's key for OpenSSL to read."""
    with contextlib.suppress(FileNotFoundError):  # it has just been removed
        is_key = {path.name for path in folder.iterdir()} <= {"dask.crt", "dask.pem"}
        return folder.name.startswith("dask-") or (folder.name.startswith("tmp") and is_key)
    return True


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of a process's descendants, by process id."""
    lines: dict[int, str] = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                lines[child.pid] = " ".join(child.cmdline())
    return lines
