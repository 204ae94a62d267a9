"""Real clusters: dask's programs, and the processes below them."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from classroom.cluster import SETTINGS, write_certificates


def left_in(temporary: Path) -> list[str]:
    """Return what is left for good, except for dask's own folder, which contains nothing of ours.

    What a worker that was killed leaves is removed by its keeper, perhaps after the client ended.
    """
    deadline = time.monotonic() + 300
    while True:
        left = [path.name for path in temporary.iterdir() if not path.name.startswith("dask-")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


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


@pytest.fixture
def start(certificates, temporary, tmp_path) -> Iterator[Callable[..., subprocess.Popen]]:
    """Yield a function that starts one of dask's programs, with the settings of the cluster.

    There, a worker can't import our modules, only the release.
    """
    processes = []
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"TMPDIR": str(temporary), "DASK_CONFIG": SETTINGS}

    def run(program: str, *words) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *map(str, words)]
        with open(tmp_path / f"{program}-{len(processes)}.log", "wb") as log:
            made = subprocess.Popen(
                command, cwd=certificates, stdout=log, stderr=log, env=environment
            )
        processes.append(made)
        return made

    yield run
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


class Dask:
    """A scheduler at a free port of this machine, and workers for it, over TLS."""

    def __init__(self, start, certificates: Path) -> None:
        self._start = start
        self.address = f"tls://127.0.0.1:{free_port()}"
        self.words = ("--scheduler", self.address, "--certificates", certificates)

    def scheduler(self) -> subprocess.Popen:
        return self._start("scheduler", "--host", self.address, "--no-dashboard")

    def worker(self) -> subprocess.Popen:
        words = ("--nthreads", "1", "--no-dashboard", "--host", "tls://127.0.0.1")
        return self._start("worker", self.address, *words)


@pytest.fixture
def dask(start, certificates) -> Dask:
    return Dask(start, certificates)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
