"""The workers' side: a grader host for each slot, started from the release that the client sends.

A dask worker doesn't grade anything itself. Submissions run below a host (`host.py`), so
none of them can make dask lose another task. This module is sent to workers by value
(`cluster.py`), and may only import what every worker has: Python and distributed.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import io
import json
import os
import queue
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from distributed import Worker, WorkerPlugin, get_worker

PREFIX = "classroom-"  # of folders in the system's folder for temporary files
HOST_S = 660.0  # longer than the grader's own deadline and the clean-up after it
START_S = 180.0  # enough to import libraries from a cold disk
LEAVE_S = 30.0
WAITING = "it is still being examined"
MAX_LOG = 4_000  # characters of a lost host's last output
FLAGS = ("-P", "-s", "-B", "-X", "utf8")
BOOT = (
    "import sys; from pathlib import Path; sys.path[:0] = [{source!r} + '/src', {source!r}]; "
    "from tools.classroom import host; from questions.course import Course; "
    "host.main(Course(), Path({place!r}), Path({own!r}))"
)
SWEEP = (
    "import sys; from pathlib import Path; sys.path[:0] = [{source!r} + '/src', {source!r}]; "
    "from autograder.isolation import leftovers; leftovers.remove_tree(Path({own!r}))"
)


class HostLost(Exception):
    """A host ended, or didn't answer in time; `str()` says how, and what it printed last."""


class Host:
    """The worker's side of a host process."""

    def __init__(self, place: Path, core: int | None = None) -> None:
        """
        Args:
            core: the only core on which the host and all that it starts may run; None: any.
        """
        self._source = str(place / "release")
        self._own = Path(tempfile.mkdtemp(prefix="slot-", dir=place))
        self._own.chmod(0o711)  # so that a test's own user can reach its scratch folder
        self._log = open(self._own / "log", "w+b")  # noqa: SIM115
        code = BOOT.format(source=self._source, place=str(place), own=str(self._own))
        self._process = subprocess.Popen(
            [sys.executable, *FLAGS, "-c", code],
            cwd=self._own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # only the client reacts to Ctrl-C
        )
        if core is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended; `ask` says how
                os.sched_setaffinity(self._process.pid, {core})
        assert self._process.stdin and self._process.stdout
        self._requests: IO[bytes] = self._process.stdin
        self._answers: IO[bytes] = self._process.stdout

    def grade(self, upload: bytes, request: dict[str, Any]) -> dict[str, Any]:
        """Have a submission graded, and return the answer.

        Raises:
            HostLost: if there is no answer.
        """
        path = self._own / "upload.zip"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as writer:
            writer.write(upload)
        try:
            return self.ask(request | {"do": "grade", "submission": str(path)}, HOST_S)
        finally:
            path.unlink(missing_ok=True)

    def ask(self, request: dict[str, Any], within_s: float) -> dict[str, Any]:
        """Send a request, and return the answer.

        Raises:
            HostLost: if there is no answer.
        """
        try:
            self._requests.write(json.dumps(request).encode("ascii") + b"\n")
            self._requests.flush()
        except OSError:
            raise HostLost(self._last_words()) from None
        return json.loads(self._read_line(time.monotonic() + within_s))

    def _read_line(self, deadline: float) -> bytes:
        line = bytearray()
        while not line.endswith(b"\n"):
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self._answers], [], [], left_s)[0]:
                raise HostLost(f"no answer in time; {self._last_words()}")
            chunk = os.read(self._answers.fileno(), 1 << 20)
            if not chunk:
                raise HostLost(self._last_words())
            line += chunk
        return bytes(line)

    def _last_words(self) -> str:
        """Return how the host ended, and what it printed last."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._log.seek(0)
        said = self._log.read().decode("utf-8", errors="replace")[-MAX_LOG:].strip()
        return f"the host ended with {self._process.returncode}: {said or '(no output)'}"

    def leave(self, at_once: bool = False) -> None:
        """End the process, which removes what it wrote; kill it if `at_once` is true."""
        if at_once:
            self._process.kill()
        with contextlib.suppress(OSError):  # data that wasn't sent yet can no longer be sent
            self._requests.close()
        try:
            self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        self._log.close()
        if self._own.exists():
            remove(self._own, self._source)


class GraderHosts(WorkerPlugin):
    """Unpacks the release on a worker, and finds out whether the worker can grade.

    The client asks for `report`, and only sends submissions to workers that can grade.
    """

    idempotent = True

    def __init__(
        self, name: str, release: bytes, seed: str, counts: bool, cores: Sequence[int] = ()
    ) -> None:
        """
        Args:
            release: a zip with src/ and solutions/.
            seed: the class's seed, which is also the hash seed of the hosts' zygotes.
            counts: whether to accept only workers whose results can count.
            cores: the core of each worker, if workers are numbered and each has its own.
        """
        self.name = name
        self._cores = cores
        self._release, self._seed, self._counts = release, seed, counts
        self.report: dict[str, Any] = {"obstacles": [WAITING], "facts": {}}

    async def setup(self, worker: Worker) -> None:
        """Get ready; anything that goes wrong is reported to the client as an obstacle."""
        try:
            self._core = self._cores[worker.name] if self._cores else None
            self.report = await asyncio.to_thread(self._get_ready, worker.state.nthreads)
        except Exception as error:
            self.report = {"obstacles": [f"{type(error).__name__}: {error}"], "facts": {}}

    async def teardown(self, worker: Worker) -> None:
        """End the hosts; the last one removes the copy of the release."""
        await asyncio.to_thread(self._leave)

    def grade(self, upload: bytes, request: dict[str, Any]) -> dict[str, Any]:
        """Grade in a free slot; return the host's answer, or {"lost": why}."""
        host = None
        slot = self._slots.get()
        try:
            host = slot or Host(self._place, self._core)
            answer = host.grade(upload, request)
            if answer.get("last"):
                host.leave()
                host = None
            return answer
        except Exception as error:
            if host is not None:
                host.leave(at_once=True)
                host = None
            return {"lost": f"{type(error).__name__}: {error}"}
        finally:
            self._slots.put(host)

    def _get_ready(self, slots: int) -> dict[str, Any]:
        sweep()
        self._place = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._place.chmod(0o711)
        self._lock = open(self._place / "draft", "ab")  # noqa: SIM115
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        os.replace(self._place / "draft", self._place / "lock")  # `sweep` skips what has no lock
        unpack(self._release, self._place / "release")
        self._slots: queue.SimpleQueue[Host | None] = queue.SimpleQueue()
        host = Host(self._place, self._core)
        try:
            report = host.ask(
                {"do": "examine", "seed": self._seed, "counts": self._counts}, START_S
            )
        except HostLost:
            host.leave(at_once=True)
            raise
        if "fault" in report:
            host.leave()
            return {"obstacles": [report["fault"]], "facts": {}}
        self._slots.put(host)
        for _ in range(slots - 1):
            self._slots.put(None)
        return report

    def _leave(self) -> None:
        while True:
            try:
                host = self._slots.get_nowait()
            except (queue.Empty, AttributeError):
                break
            if host is not None:
                host.leave()
        with contextlib.suppress(OSError, AttributeError):
            remove_if_left(self._place, self._lock)


def grade(name: str, upload: bytes, request: dict[str, Any]) -> dict[str, Any]:
    """Grade a submission in a slot of the worker that runs this task; see `GraderHosts.grade`."""
    plugin: Any = get_worker().plugins[name]
    return plugin.grade(upload, request)


def reports(dask_worker: Worker, name: str) -> dict[str, Any]:
    """Return what a worker's examination found."""
    plugin: Any = dask_worker.plugins.get(name)
    if plugin is None:
        return {"obstacles": [WAITING], "facts": {}}
    return plugin.report | {"host": dask_worker.ip, "slots": dask_worker.state.nthreads}


def unpack(release: bytes, target: Path) -> None:
    """Unpack a release so that other users can read its code, but only we its solutions."""
    with zipfile.ZipFile(io.BytesIO(release)) as archive:
        for name in archive.namelist():
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(name))
            path.chmod(0o644)
    for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    (target / "solutions").chmod(0o700)


def sweep() -> None:
    """Remove what was left by workers that were killed together with all of their hosts."""
    for place in _places():
        with contextlib.suppress(OSError), open(place / "lock", "ab") as lock:
            remove_if_left(place, lock)


def _places() -> Iterator[Path]:
    for place in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if place.stat().st_uid == os.getuid() and (place / "lock").is_file():
                yield place


def remove_if_left(place: Path, lock: IO[bytes]) -> None:
    """Remove a folder that no worker and no host uses any more; close the lock."""
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        remove(place, str(place / "release"))


def remove(folder: Path, source: str) -> None:
    """Remove a folder with the grader's own code, because shutil can't remove hostile trees.

    That code may itself be removed in the meantime, when a worker leaves while one of its slots
    still tidies up. What remains is removed by whoever removes the code, so this is no error.
    """
    code = SWEEP.format(source=source, own=str(folder))
    subprocess.run([sys.executable, *FLAGS, "-c", code], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)
