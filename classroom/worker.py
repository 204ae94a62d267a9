"""What runs on dask's workers: the packed autograder, unpacked once, and a process for each task.

A worker grades nothing itself. Each submission has a process of its own (`autograder/single.py`),
because the hash seed of student code differs between submissions, and because whatever happens to
that process concerns no other submission. It ends when its input closes, so with its worker.

This module is sent to workers by value (`cluster.py`), and may only import what every worker has:
Python and distributed.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import IO, Any

from distributed import Status, Worker, WorkerPlugin

PREFIX = "classroom-"  # of folders in the system's folder for temporary files
GRADE_S = 660.0  # longer than the grader's own deadline and the clean-up after it
EXAMINE_S = 180.0  # enough to import libraries from a cold disk
CLOSE_S = 5.0
LEAVE_S = 40.0  # longer than a grader needs to tidy up
MOST_IN_A_ROW = 5  # failures after which a worker leaves the cluster
MAX_LOG = 4_000  # characters of what a grader printed last
FLAGS = ("-P", "-s", "-B", "-X", "utf8")
PATH = "import sys; sys.path[:0] = [{place!r} + '/release/src', {place!r} + '/release']; "
BOOT = PATH + (
    "from autograder import single; from questions.course import Course; "
    "sys.exit(single.main(Course()))"
)
# Removes a worker's folder when the worker and its graders have ended, however that happened: its
# input then closes. A grader that has lost its worker goes on for a moment, and may make folders
# anew. Students' folders may be deep and locked, which is too much for shutil; if the release isn't
# unpacked, there are none.
KEEPER = f"""\
import sys
sys.stdin.read()
{PATH}
from pathlib import Path
try:
    from autograder.isolation.leftovers import remove_tree
except Exception:
    from shutil import rmtree as remove_tree
if Path({{place!r}}).exists():
    remove_tree(Path({{place!r}}))
"""


class Grader(WorkerPlugin):
    """Unpacks the autograder on a worker, checks whether the worker can grade, and grades.

    Tasks ask for a resource with the plugin's name. A worker only gets it when everything that is
    forbidden to student code has been tried there in vain; otherwise, the event log says why.
    """

    idempotent = True

    def __init__(self, name: str, release: bytes, counts: bool) -> None:
        """Take the packed autograder; if `counts`, accept only workers whose results can count."""
        self.name, self.counts, self._release = name, counts, release
        self._keeper: subprocess.Popen[bytes] | None = None
        self._graders: dict[int, IO[bytes]] = {}  # their inputs, by process
        self._failed = 0  # submissions in a row

    def setup(self, worker: Worker) -> None:
        """Begin to get ready, in a thread: the worker has to go on sending heartbeats."""
        self._worker = worker
        self._ready = asyncio.create_task(self._get_ready())

    async def teardown(self, worker: Worker) -> None:
        """End the graders, and remove everything."""
        if worker.status == Status.running:
            with contextlib.suppress(OSError, TimeoutError):
                await asyncio.wait_for(worker.set_resources(**{self.name: 0}), CLOSE_S)
        await asyncio.to_thread(self._leave)

    async def _get_ready(self) -> None:
        try:
            obstacles = await asyncio.to_thread(self._examine)
        except Exception as error:
            obstacles = [f"{type(error).__name__}: {error}"]
        if obstacles:
            self._report("; ".join(obstacles))
            return
        await self._worker.set_resources(**{self.name: self._worker.state.nthreads})
        # The scheduler looks for tasks that wait for such a worker when a worker begins to run.
        self._worker.status = Status.paused
        self._worker.status = Status.running

    def _report(self, obstacle: str) -> None:
        self._worker.log_event(self.name, {"worker": self._worker.address, "obstacle": obstacle})

    def _examine(self) -> list[str]:
        """Unpack the autograder, and return the reasons why this worker can't grade."""
        self._place = Path(tempfile.gettempdir(), PREFIX + secrets.token_hex(8))
        self._keeper = self._start(KEEPER, self._place.parent)  # before there is a folder to remove
        assert self._keeper.stdin is not None
        with open(os.dup(self._keeper.stdin.fileno()), "wb"):  # `_leave` may close the other one
            self._place.mkdir(0o711)
            self._place.chmod(0o711)  # whatever the umask: tests' users reach their scratch folders
            unpack(self._release, self._place / "release")
            return list(self._ask({"counts": self.counts}, EXAMINE_S)["obstacles"])

    def grade(self, upload: bytes, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, with the seconds it took, or raise a RuntimeError."""
        started = time.monotonic()
        try:
            answer = self._ask(request | {"counts": self.counts}, GRADE_S, upload)
        except Exception as error:
            self._failed += 1
            if self._failed == MOST_IN_A_ROW:  # its disk may be full, for example
                self._report(f"{MOST_IN_A_ROW} submissions in a row failed: {error}")
                self._worker.loop.add_callback(self._worker.close, executor_wait=False)
            raise RuntimeError(str(error)) from None
        self._failed = 0
        return answer | {"took_s": round(time.monotonic() - started, 3)}

    def _ask(self, request: dict[str, Any], within_s: float, upload: bytes = b"") -> dict[str, Any]:
        """Have a process of its own answer a request, or raise a RuntimeError."""
        own = Path(tempfile.mkdtemp(prefix="grader-", dir=self._place))
        own.chmod(0o711)
        try:
            (own / "upload").touch(0o600)
            (own / "upload").write_bytes(upload)
            process = self._start(BOOT, own, subprocess.PIPE)
            return self._answer(process, request | {"submission": f"{own}/upload"}, within_s)
        finally:
            shutil.rmtree(own, ignore_errors=True)  # the keeper removes what can't be removed

    def _start(self, code: str, folder: Path, to: int | None = None) -> subprocess.Popen[bytes]:
        """Start Python code in a folder; it ends when its input closes, and the keeper later."""
        keepers = self._keeper.stdin if self._keeper else None
        return subprocess.Popen(
            [sys.executable, *FLAGS, "-c", code.format(place=str(self._place))],
            cwd=folder,
            env=os.environ | {"TMPDIR": str(folder)},
            stdin=subprocess.PIPE,  # not arguments, which every process could read
            stdout=to,
            stderr=to,
            start_new_session=True,  # only the client reacts to Ctrl-C
            pass_fds=(keepers.fileno(),) if keepers else (),  # its input stays open as long
        )

    def _answer(
        self, process: subprocess.Popen[bytes], request: dict[str, Any], within_s: float
    ) -> dict[str, Any]:
        assert process.stdin is not None
        with process.stdin as ours:
            self._graders[process.pid] = ours
            process.stdin = None  # or else `communicate` would close it
            try:
                ours.write(json.dumps(request).encode("ascii") + b"\n")
                ours.flush()
                answer, log = process.communicate(timeout=within_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(LEAVE_S)
                raise RuntimeError(f"no answer in {within_s:.0f} s") from None
            finally:
                del self._graders[process.pid]
        if process.returncode == 0:
            return dict(json.loads(answer))
        text = log.decode("utf-8", "replace")[-MAX_LOG:].strip()
        last = text.splitlines()[-1] if text else "(no output)"
        raise RuntimeError(f"the grader ended with {process.returncode}: {last}\n{text}")

    def _leave(self) -> None:
        for ours in [*self._graders.values()]:
            with contextlib.suppress(OSError):
                ours.close()
        deadline = time.monotonic() + LEAVE_S
        while self._graders and time.monotonic() < deadline:
            time.sleep(0.1)
        if self._keeper is not None and self._keeper.stdin is not None:
            self._keeper.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._keeper.wait(LEAVE_S)


def unpack(release: bytes, target: Path) -> None:
    """Unpack a release so that other users can read its code, but only we its solutions."""
    with zipfile.ZipFile(io.BytesIO(release)) as archive:
        (target / "solutions").mkdir(mode=0o700, parents=True)
        archive.extractall(target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    target.chmod(0o755)
    (target / "solutions").chmod(0o700)
