"""The cluster that grades: one process for each core of this machine, or an existing cluster.

    with connected(where, Grader("grader-0123", release, counts=True), say=print) as cluster:
        for task, answer in cluster.run(tasks): ...

dask gives a task of a worker that was killed to another one, once (`allowed-failures`), and runs
one again that raised an exception, once (`retries`). Only as many tasks are submitted as there are
slots, so that a worker that is lost harms one submission. Whatever is waited for has a limit.

A scheduler unpickles what it receives, so only people who may run code here anyway can be allowed
to connect to it. Every connection therefore uses TLS, and both sides present a certificate.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future as Waiting
from pathlib import Path
from typing import Any, TypeVar

import cloudpickle
import dask
import yaml
from dask.system import CPU_COUNT  # those that this process may use
from distributed import CancelledError, Client, Future, LocalCluster, Security, get_worker, wait
from distributed.client import FutureCancelledError, FuturesCancelledError
from distributed.scheduler import KilledWorker

from grading.errors import GradingError, UsageError

from . import worker
from .arguments import CONTINUE, MOST_SLOTS, Where

CERTIFICATES = {"ca": "ca.pem", "cert": "certificate.pem", "key": "key.pem"}
SETTINGS = "dask.yaml"  # in the same folder, for dask's own programs
START_S = 120.0  # to start a local cluster on a busy machine
CONNECT_S = 30.0
# Whatever has gone or is silent later, these add up to less than two minutes.
ANSWER_S = 15.0  # for the scheduler to answer
FETCH_S = 15.0  # to fetch a result, which has at most some megabytes
LOOK_S = 2.0  # between two looks at the workers
PATIENCE_S = 90.0  # without a sign of life from a worker that can grade
STALLED_S = 3 * worker.GRADE_S  # without any result
CLOSE_S = 15.0  # for each of four steps; what takes longer goes on by itself
SILENT_S = 30.0  # without a worker's heartbeat; dask looks as often
KILLED = "its worker was killed, or could no longer be reached, twice"
CONFIG: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.scheduler.worker-ttl": f"{SILENT_S:.0f}s",
    "distributed.admin.large-graph-warning-threshold": "4GB",  # a submission is a few megabytes
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,  # tests have limits of their own
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],  # the web server can't be turned off: serve nothing
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{CONNECT_S:.0f}s",
}
CANCELLED = (CancelledError, FutureCancelledError, FuturesCancelledError)
T = TypeVar("T")
Say = Callable[[str], None]
Answer = dict[str, Any]
cloudpickle.register_pickle_by_value(worker)  # workers don't need this repository
# What a task runs; a lambda is always sent by value, also within a task.
GRADE = lambda name, *task: get_worker().plugins[name].grade(*task)  # type: ignore # noqa: E731


class ClusterFailed(GradingError):
    """No cluster is available, or none of its workers can grade; what was graded is kept."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message.strip()}; {CONTINUE}")


@contextlib.contextmanager
def connected(where: Where, release: worker.Grader, say: Say) -> Iterator[Cluster]:
    """Yield a connection to workers that have the release; they are released at the end.

    Args:
        say: called with a line about each worker that can't grade.
    """
    # We report losses ourselves, and those of dask's tasks concern nobody who is interrupted. dask
    # configures its loggers when it is imported, so CONFIG is too late for them.
    for name in ("asyncio", "distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    stack = contextlib.ExitStack()
    try:
        stack.enter_context(dask.config.set(CONFIG))
        if where.scheduler is None:
            certificates: Security = Security.temporary()
            address: Any = _local(certificates, where.slots or CPU_COUNT)
            stack.callback(_quietly, address.close)
        else:
            address = where.scheduler
            assert where.certificates is not None  # `arguments.where_of` requires them
            certificates = security(where.certificates)
        client: Client = within(
            CONNECT_S + ANSWER_S,
            f"can't connect to {where.scheduler or 'the local cluster'} (is the scheduler running, "
            "and with these certificates?)",
            lambda: Client(address, security=certificates, timeout=CONNECT_S),
        )
        stack.callback(_quietly, client.close)
        stack.callback(_quietly, lambda: client.unregister_worker_plugin(release.name))
        within(
            CONNECT_S,
            "the release can't be sent to the workers",
            lambda: client.register_plugin(release, name=release.name),
        )
        yield Cluster(client, release, say)
    finally:
        with _deaf(signal.SIGINT, signal.SIGTERM):  # a second Ctrl-C would leave something behind
            stack.close()


class Cluster:
    """Workers that have a release, and grade tasks; see `connected`."""

    def __init__(self, client: Client, release: worker.Grader, say: Say) -> None:
        self._client, self._release, self._say = client, release, say
        self._slots = 0
        self._obstacles: dict[str, str] = {}  # by the address of a worker
        self._looked_at = self._able_at = self._seen_at = 0.0  # the last by the scheduler's clock

    def run(
        self, tasks: Iterator[tuple[T, bytes, dict[str, Any]]], most: int = MOST_SLOTS
    ) -> Iterator[tuple[T, Answer]]:
        """Yield each task with its answer when it ends; {"lost": why} if there is no answer.

        Args:
            tasks: an identification, the upload, and the request (`autograder/single.py`); each
                is only asked for when a slot is free, so that memory doesn't grow with the class.
            most: how many are graded at once.

        Raises:
            ClusterFailed: no worker is left, and none has come for some time.
        """
        window: dict[Future, T] = {}
        waiting, ended_at, self._able_at = True, time.monotonic(), time.monotonic()
        try:
            while waiting or window:
                self._look()
                while waiting and len(window) < min(self._slots, most):
                    task = next(tasks, None)
                    waiting = task is not None
                    if task is not None:
                        window[self._submit(*task[1:])] = task[0]
                if window:
                    with contextlib.suppress(TimeoutError, *CANCELLED):
                        wait([*window], timeout=LOOK_S, return_when="FIRST_COMPLETED")
                else:
                    time.sleep(LOOK_S / 10)
                for future in [future for future in window if future.status != "pending"]:
                    answer = _fetch(future)
                    if answer is None:  # the scheduler may have gone: look before the next one
                        window[future] = window.pop(future)
                        break
                    ended_at = time.monotonic()
                    yield window.pop(future), answer
                    future.release()
                if window and time.monotonic() > ended_at + STALLED_S:
                    raise ClusterFailed(f"no submission has ended in {STALLED_S:.0f} s")
        finally:
            _quietly(lambda: self._client.cancel([*window]))

    def _submit(self, upload: bytes, request: dict[str, Any]) -> Future:
        return within(
            ANSWER_S,
            "the scheduler has gone",
            lambda: self._client.submit(
                GRADE,
                self._release.name,
                upload,
                request,
                key=f"grade-{secrets.token_hex(8)}",  # doesn't reveal whose submission it is
                resources={self._release.name: 1},
                retries=1,
                pure=False,
            ),
        )

    def _look(self) -> None:
        """Count the slots from time to time, and fail if there have been none for too long."""
        now = time.monotonic()
        if self._client.status != "running":
            raise ClusterFailed("the connection to the scheduler was lost")
        if self._slots and now < self._looked_at + LOOK_S:
            return
        present, events = within(
            ANSWER_S,
            "the scheduler doesn't answer",
            lambda: (
                self._client.scheduler_info(n_workers=-1)["workers"],
                self._client.get_events(self._release.name),
            ),
        )
        self._looked_at = now
        able = [w for w in present.values() if w["resources"].get(self._release.name)]
        self._slots = sum(int(worker["resources"][self._release.name]) for worker in able)
        for _, event in events:
            address, obstacle = event["worker"], event["obstacle"]
            if self._obstacles.get(address) != obstacle:
                self._obstacles[address] = obstacle
                self._say(f"worker {address} can't grade: {obstacle.splitlines()[0]:.300}")
        # The scheduler takes a worker that it no longer hears for alive, for more than a minute.
        seen_at = max((worker["last_seen"] for worker in able), default=self._seen_at)
        if seen_at != self._seen_at:
            self._seen_at, self._able_at = seen_at, now
            return
        why = "; ".join(sorted({f": {text.splitlines()[0]}" for text in self._obstacles.values()}))
        if not able and present and present.keys() <= self._obstacles.keys():
            advice = "; results count only if workers are root's on Linux, --preview needs no root"
            raise ClusterFailed(f"no worker can grade{why}{advice * self._release.counts}")
        if now > self._able_at + PATIENCE_S:
            raise ClusterFailed(f"no worker could grade for {PATIENCE_S:.0f} s{why}")


def _fetch(future: Future) -> Answer | None:
    """Return what a task returned; None if its worker was lost since, so that it runs again."""
    try:
        return dict(future.result(timeout=FETCH_S))
    except TimeoutError:
        return None
    except KilledWorker:
        return {"lost": KILLED}
    except CANCELLED:
        raise ClusterFailed("the connection to the scheduler was lost") from None
    except Exception as error:
        return {"lost": str(error) or type(error).__name__}


def within(limit_s: float, failure: str, call: Callable[[], T]) -> T:
    """Call a function of dask's, which may wait for ever, and return what it returns.

    Raises:
        ClusterFailed: it failed, or took too long.
    """
    answer: Waiting[T] = Waiting()

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        return answer.result(limit_s)
    except (Exception, CancelledError) as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ClusterFailed(f"{failure}: {reason}") from None


def _quietly(call: Callable[[], object]) -> None:
    """Tidy up as far as possible; the other side may have gone."""
    with contextlib.suppress(ClusterFailed):
        within(CLOSE_S, "", call)


@contextlib.contextmanager
def _deaf(*numbers: signal.Signals) -> Iterator[None]:
    """Ignore signals during a block; processes that it starts ignore them for good."""
    usual = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _local(certificates: Security, slots: int) -> LocalCluster:
    """Start a cluster that only this user of this machine can reach, without a dashboard."""
    with _deaf(signal.SIGINT):  # Ctrl-C reaches all processes of a terminal
        return within(
            START_S,
            "the local cluster can't be started",
            lambda: LocalCluster(
                n_workers=slots,
                threads_per_worker=1,
                host="127.0.0.1",
                protocol="tls://",
                security=certificates,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # 8787 may be taken
                memory_limit=0,
                silence_logs=logging.CRITICAL,  # what we interrupt would be a warning
            ),
        )


def security(certificates: Path) -> Security:
    """Return what `write_certificates` wrote, for connections to a scheduler.

    Raises:
        UsageError: one is missing.
    """
    files = {key: certificates / name for key, name in CERTIFICATES.items()}
    for path in files.values():
        if not path.is_file():
            raise UsageError(f"--certificates {certificates}: {path.name} is missing")
    return Security(
        require_encryption=True,
        tls_ca_file=str(files["ca"]),
        tls_client_cert=str(files["cert"]),
        tls_client_key=str(files["key"]),
    )


def write_certificates(folder: Path) -> None:
    """Write a cluster's key, certificate and settings to a new folder that only its owner can read.

    Raises:
        UsageError: the folder exists, or can't be made.
    """
    made = Security.temporary()
    content = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise UsageError(
            f"{folder} can't be made: {error.strerror}; expected a new folder"
        ) from None
    files = {name: content[key] for key, name in CERTIFICATES.items()}
    files[SETTINGS] = yaml.safe_dump(_settings(), sort_keys=False)
    for name, text in files.items():
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(folder / name, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)


def _settings() -> dict[str, Any]:
    """Return what dask's programs read when they are started in the folder with certificates.

    Without it, they would serve pages about the cluster to everybody who asks.
    """
    tls = {"ca-file": CERTIFICATES["ca"]}
    for role in ("scheduler", "worker", "client"):
        tls |= {f"{role}.{key}": CERTIFICATES[key] for key in ("cert", "key")}
    flat = CONFIG | {"distributed.comm.require-encryption": True}
    flat |= {f"distributed.comm.tls.{key}": name for key, name in tls.items()}
    nested: dict[str, Any] = {}
    dask.config.set(flat, config=nested)
    return nested
