"""Sends submissions to workers, and receives the results.

The first pass keeps every slot busy. Submissions that were lost there, and tests that ended in a
limit, get a second pass, in which a machine grades only one submission at a time. Memory doesn't
grow with the class, because a submission is read only when a worker is free to take it.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from distributed import Client, Future

from .cluster import GRADE, LEFT, Able, Workers
from .dispatching import ClusterFailed, Say
from .shipping import Job

AHEAD = 1  # submissions that wait at a worker, in addition to those in its slots
MOST_BYTES = 512 << 20  # of submissions in flight, which the scheduler holds in memory as well
LOOK_S = 2.0  # interval at which the list of workers is updated
PATIENCE_S = 120.0  # how long to wait without any worker that can grade
FETCH_S = 60.0  # enough to fetch an answer, which is at most some megabytes
MOST_IN_A_ROW = 5  # losses in a row after which a worker gets no more submissions
GONE = "its worker was killed, or could no longer be reached"
Answer = dict[str, Any]


@dataclass
class _Sent:
    job: Job
    future: Future
    address: str
    size: int


class Dispatcher:
    """Has the workers of a cluster do jobs."""

    def __init__(self, client: Client, name: str, workers: Workers) -> None:
        """
        Args:
            name: by which workers know the release.
        """
        self._client, self._name, self._workers = client, name, workers
        self._sent: dict[str, _Sent] = {}  # by key
        self._ended: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._looked_at = self._able_at = time.monotonic()
        self._able: dict[str, Able] = {}
        self._told: set[str] = set()
        self._lost: Counter[str] = Counter()  # losses in a row, by worker

    def wait(self, say: Say) -> int:
        """Wait until all workers have been examined and one can grade; return how many slots.

        Others are not waited for any longer than PATIENCE_S; they get work when they are ready.

        Raises:
            ClusterFailed: if no worker can grade, or none has come for some time.
        """
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self._look(say)
            present = self._client.scheduler_info(n_workers=-1)["workers"].keys()
            unknown = present - self._able.keys() - self._workers.refused.keys()
            if self._able and (not unknown or time.monotonic() > deadline):
                return sum(worker.slots for worker in self._able.values())
            if present and not unknown:
                raise ClusterFailed(self._workers.why_none())
            time.sleep(0.2)

    def run(
        self, jobs: Iterator[Job], say: Say, alone: bool = False
    ) -> Iterator[tuple[Job, Answer]]:
        """Yield each job with its answer when it ends; {"lost": why} if there is no answer.

        Args:
            say: called with a line about each worker that can't grade.
            alone: whether a machine does only one job at a time.

        Raises:
            ClusterFailed: if no worker is left, and none has come for some time.
        """
        waiting = True
        self._able_at = time.monotonic()
        try:
            while waiting or self._sent:
                if time.monotonic() > self._looked_at + LOOK_S:
                    self._look(say)
                    yield from self._without_worker()
                while waiting and (worker := self._free(alone)) is not None:
                    job = next(jobs, None)
                    waiting = job is not None
                    if job is not None:
                        self._send(job, worker.address)
                if self._sent or waiting:
                    yield from self._next(LOOK_S if self._sent else 0.2)
        finally:
            with contextlib.suppress(*LEFT):
                self._client.cancel([sent.future for sent in self._sent.values()])
            self._sent.clear()

    def _look(self, say: Say) -> None:
        self._able = self._workers.able()
        self._looked_at = time.monotonic()
        if self._able:
            self._able_at = self._looked_at
        elif self._looked_at > self._able_at + PATIENCE_S:
            raise ClusterFailed(f"no worker could grade for {PATIENCE_S:.0f} s")
        self._tell(say)

    def _tell(self, say: Say) -> None:
        """Report each worker that can't grade, once."""
        for address in self._workers.refused.keys() - self._told:
            self._told.add(address)
            say(f"worker {address} can't grade: {self._workers.refused[address]}")

    def _free(self, alone: bool) -> Able | None:
        """Return the worker with the least work, if one may get more."""
        if sum(sent.size for sent in self._sent.values()) >= MOST_BYTES:
            return None
        busy = [self._able[s.address] for s in self._sent.values() if s.address in self._able]
        machines = {worker.machine for worker in busy}
        free = [
            (busy.count(worker) / worker.slots, address)
            for address, worker in self._able.items()
            if (worker.machine not in machines if alone else _may_get_more(worker, busy))
        ]
        return self._able[min(free)[1]] if free else None

    def _send(self, job: Job, address: str) -> None:
        key = f"grade-{secrets.token_hex(8)}"  # doesn't reveal whose submission it is
        try:
            future = self._client.submit(
                GRADE,
                self._name,
                job.upload,
                job.request,
                key=key,
                workers=[address],
                allow_other_workers=False,
                retries=0,
                pure=False,
            )
        except LEFT as error:
            raise ClusterFailed(f"the scheduler has gone: {error}") from None
        self._sent[key] = _Sent(job, future, address, len(job.upload))
        future.add_done_callback(lambda ended: self._ended.put(ended.key))

    def _next(self, timeout_s: float) -> Iterator[tuple[Job, Answer]]:
        """Yield the jobs that have ended; wait for one if none has."""
        with contextlib.suppress(queue.Empty):
            while True:
                sent = self._sent.pop(self._ended.get(timeout=timeout_s), None)
                timeout_s = 0.0
                if sent is not None:
                    answer = _answer(sent.future)
                    self._count(sent.address, answer)
                    yield sent.job, answer

    def _count(self, address: str, answer: Answer) -> None:
        """Count losses in a row; send nothing more to a worker that loses whatever it gets.

        Its disk may be full, for instance. Since it is done with each submission at once, it would
        otherwise get most of the class.
        """
        why = answer.get("lost") or answer.get("fault")
        if not why or why == GONE:
            self._lost[address] = 0
            return
        self._lost[address] += 1
        if self._lost[address] == MOST_IN_A_ROW:
            last = why.strip().splitlines()[-1]
            self._workers.refuse(
                address, f"it lost {MOST_IN_A_ROW} submissions in a row: {last:.300}"
            )
            self._able = self._workers.able()
            if not self._able:
                raise ClusterFailed(self._workers.why_none())

    def _without_worker(self) -> Iterator[tuple[Job, Answer]]:
        """Yield the jobs whose worker has gone; dask must not give them to another worker."""
        for key, sent in list(self._sent.items()):
            if sent.address not in self._able and sent.future.status == "pending":
                del self._sent[key]
                self._client.cancel([sent.future])
                yield sent.job, {"lost": GONE}


def _may_get_more(worker: Able, busy: list[Able]) -> bool:
    return busy.count(worker) < worker.slots + AHEAD


def _answer(future: Future) -> Answer:
    """Return what a task returned; if dask reports anything else, the job was lost."""
    try:
        return future.result(timeout=FETCH_S)
    except Exception as error:
        kind = type(error).__name__
        # TimeoutError: the worker has gone with its answer, and dask waits for it to come back.
        gone = kind in ("KilledWorker", "CancelledError", "TimeoutError")
        return {"lost": GONE if gone else f"{kind}: {error}"}
    finally:
        future.release()
