"""The cluster that grades: one of this machine's own, or an existing one.

A scheduler unpickles what it is sent, so that nobody may talk to it who could not run code here
anyway: every connection is TLS, and both ends show a certificate.

    with connected(None, None, slots=2) as client: ...
    with connected("tls://10.0.0.7:8786", Path("certificates")) as client: ...
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import dask
from distributed import Client, LocalCluster, Security
from distributed.client import ClosedClientError

from grading.errors import UsageError

from . import slots
from .dispatching import ClusterFailed
from .shipping import Release

CERTIFICATES = {"ca": "ca.pem", "cert": "certificate.pem", "key": "key.pem"}
CONNECT_S = 30.0
CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # what a dead worker had is retried by us, alone
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.large-graph-warning-threshold": "4GB",  # a submission is a few megabytes
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,  # hosts watch over themselves
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],  # its web server can't be left out; it serves nothing
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{CONNECT_S:.0f}s",
    "distributed.logging.distributed": "critical",  # what is lost, we say
}
# What dask raises where the scheduler has left, or does not answer.
LEFT = (OSError, TimeoutError, RuntimeError, ValueError, ClosedClientError)
cloudpickle.register_pickle_by_value(slots)  # workers need nothing of this repository


class ByValue:
    """A function of `slots` that arrives as itself where nothing of ours can be imported."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._content = cloudpickle.dumps(function)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return cloudpickle.loads, (self._content,)

    def __call__(self) -> None:
        """Do nothing: dask only wants to see that it could be called."""


GRADE, REPORTS = ByValue(slots.grade), ByValue(slots.reports)


@dataclass(frozen=True)
class Able:
    """A worker that can grade: where it is, and how many submissions at once."""

    address: str
    machine: str
    slots: int
    facts: dict[str, Any]


@contextlib.contextmanager
def connected(
    scheduler: str | None, certificates: Path | None, slots: int | None = None
) -> Iterator[Client]:
    """Connect to a scheduler, or start a cluster of this machine's own; close it at the end.

    Args:
        scheduler: `tls://HOST:PORT`, or None for a cluster of our own.
        certificates: a folder that `write_certificates` filled; for an existing scheduler.
        slots: of a cluster of our own: how many submissions at once; None is one for each core.

    Raises:
        UsageError: the address or the certificates can't be used.
        ClusterFailed: there is no connection.
    """
    with dask.config.set(CONFIG), contextlib.ExitStack() as stack:
        if scheduler is None:
            security: Security = Security.temporary()
            address: Any = stack.enter_context(_local(security, slots or cores()))
        else:
            address, security = scheduler, _security(scheduler, certificates)
        try:
            client = stack.enter_context(
                Client(address, security=security, timeout=CONNECT_S, set_as_default=False)
            )
        except (OSError, TimeoutError) as error:
            reason = str(error).partition("\n")[0]
            raise ClusterFailed(
                f"{scheduler}: no connection: {reason}; is the scheduler running, with these "
                "certificates?"
            ) from None
        yield client


@contextlib.contextmanager
def _local(security: Security, slots: int) -> Iterator[LocalCluster]:
    """Start a cluster that only this user of this machine can reach, without a dashboard."""
    # Ctrl-C reaches all processes of a terminal; only this one is to act upon it.
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        cluster = LocalCluster(
            n_workers=slots,
            threads_per_worker=1,
            host="127.0.0.1",
            protocol="tls://",
            security=security,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # any port: 8787 may be taken
            memory_limit=0,
        )
    finally:
        signal.signal(signal.SIGINT, usual)
    with cluster:
        yield cluster


def _security(scheduler: str, certificates: Path | None) -> Security:
    """Return what proves who we are, and who they are.

    Raises:
        UsageError: it isn't TLS, or a certificate is missing.
    """
    if not scheduler.startswith("tls://"):
        raise UsageError(
            f"--scheduler {scheduler}: expected tls://HOST:PORT; a scheduler runs what it is "
            "sent, so that one without TLS is open to everybody"
        )
    if certificates is None:
        raise UsageError(
            "--scheduler needs --certificates DIR; `python -m tools.classroom certificates DIR` "
            "makes them"
        )
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
    """Write a key and a certificate for a cluster into a new folder that only we can read.

    Raises:
        UsageError: there is such a folder.
    """
    made = Security.temporary()
    content = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise UsageError(f"{folder} is there; expected a new folder") from None
    for key, name in CERTIFICATES.items():
        with open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(content[key])


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def installed(client: Client, release: Release, counts: bool) -> Iterator[str]:
    """Send the release to all workers, present and future; take it away at the end.

    Yields the name under which workers have it.
    """
    name = f"grader-{release.digest[:16]}" + ("" if counts else "-preview")
    plugin = slots.GraderHosts(name, release.content, str(release.seed), counts)
    try:
        client.register_plugin(plugin, name=name)
    except LEFT as error:
        raise ClusterFailed(f"the release can't be sent to the workers: {error}") from None
    try:
        yield name
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            client.unregister_worker_plugin(name)


class Workers:
    """The cluster's workers, as they come and go, and what their examinations found."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._able: dict[str, Able] = {}
        self.refused: dict[str, str] = {}  # why a worker can't grade, by address

    def able(self) -> dict[str, Able]:
        """Return the workers that can grade now, by address.

        Raises:
            ClusterFailed: the scheduler has left, or does not answer.
        """
        if self._client.status == "connecting":  # it may come back
            return self._able
        try:
            if self._client.status != "running":
                raise OSError("the connection is closed")
            present = set(self._client.scheduler_info(n_workers=-1)["workers"])
            new = present - self._able.keys() - self.refused.keys()
            found = (
                self._client.run(REPORTS, name=self._name, workers=sorted(new), on_error="ignore")
                if new
                else {}
            )
        except LEFT as error:
            raise ClusterFailed(f"the scheduler does not answer: {error}") from None
        for address, report in found.items():
            obstacles = report["obstacles"]
            if not obstacles:
                facts = report["facts"]
                self._able[address] = Able(address, report["host"], report["slots"], facts)
            elif obstacles != [slots.WAITING]:
                self.refused[address] = "; ".join(obstacles)
        self._able = {a: worker for a, worker in self._able.items() if a in present}
        return self._able

    def refuse(self, address: str, why: str) -> None:
        """Let a worker grade no more."""
        self.refused[address] = why
        self._able.pop(address, None)

    def why_none(self) -> str:
        """Say why no worker can grade."""
        return "no worker can grade: " + "; ".join(sorted(set(self.refused.values())))
