"""Real clusters: dask's programs, and the processes below them."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from classroom.cluster import SETTINGS, write_certificates


def left_in(temporary: Path) -> list[str]:
    """Return what is left for good, except for dask's own folder, which contains nothing of ours.

    What a worker that was killed leaves is removed by its keeper, perhaps after the client ended.
    """
    deadline = time.monotonic() + 300
    while left := [path.name for path in temporary.iterdir() if path.name[:5] != "dask-"]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return left


def descendants(pid: int) -> dict[int, str]:
    """Return the command lines of a process's descendants, by process id."""
    lines: dict[int, str] = {}
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                lines[child.pid] = " ".join(child.cmdline())
    return lines


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
        self.processes: list[subprocess.Popen] = []
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.address = f"tls://127.0.0.1:{self.port}"
        self.words = ("--scheduler", self.address, "--certificates", certificates)

    def start(self, program: str, *words: str) -> subprocess.Popen:
        """Start one of dask's programs, with the settings of the cluster."""
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *words]
        with open(self._logs / f"{program}-{len(self.processes)}.log", "wb") as log:
            place = {"cwd": self._certificates, "env": self._environment}
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, **place))
        return self.processes[-1]

    def scheduler(self) -> subprocess.Popen:
        return self.start("scheduler", "--host", self.address, "--no-dashboard")

    def worker(self) -> subprocess.Popen:
        words = ("--nthreads", "1", "--no-dashboard", "--host", "tls://127.0.0.1")
        return self.start("worker", self.address, *words)


@pytest.fixture
def dask(certificates, temporary, tmp_path) -> Iterator[Dask]:
    made = Dask(certificates, temporary, tmp_path)
    yield made
    for process in made.processes:
        process.terminate()
    for process in made.processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
