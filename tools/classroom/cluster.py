"""The cluster that grades: a local one, or an existing one.

A scheduler unpickles what it receives, so only people who may run code here anyway can be allowed
to connect to it. Every connection therefore uses TLS, and both sides present a certificate.

    with connected(None, None, slots=2) as client: ...
    with connected("tls://10.0.0.7:8786", Path("certificates")) as client: ...
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import yaml
from distributed import Client, LocalCluster, Security
from distributed.client import ClosedClientError

from grading.errors import UsageError

from . import slots
from .dispatching import ClusterFailed
from .shipping import Release

CERTIFICATES = {"ca": "ca.pem", "cert": "certificate.pem", "key": "key.pem"}
SETTINGS = "dask.yaml"  # in the same folder, for dask's own programs
CONNECT_S = 30.0
CONFIG = {
    "distributed.scheduler.allowed-failures": 0,  # we retry a dead worker's submissions ourselves
    "distributed.scheduler.work-stealing": False,
    "distributed.admin.large-graph-warning-threshold": "4GB",  # a submission is a few megabytes
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,  # hosts limit their own memory
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],  # the web server can't be turned off: serve nothing
    "distributed.worker.http.routes": [],
    "distributed.comm.timeouts.connect": f"{CONNECT_S:.0f}s",
}
# What dask raises if the scheduler has gone, or doesn't answer.
LEFT = (OSError, TimeoutError, RuntimeError, ValueError, ClosedClientError)
cloudpickle.register_pickle_by_value(slots)  # workers don't need this repository


class ByValue:
    """A function of `slots` that is sent by value, since workers can't import our modules."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._content = cloudpickle.dumps(function)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return cloudpickle.loads, (self._content,)

    def __call__(self) -> None:
        """Do nothing: dask only checks that the object is callable."""


GRADE, REPORTS = ByValue(slots.grade), ByValue(slots.reports)


@dataclass(frozen=True)
class Able:
    """A worker that can grade: its address, and how many submissions it grades at once."""

    address: str
    machine: str
    slots: int
    facts: dict[str, Any]


@contextlib.contextmanager
def connected(
    scheduler: str | None, certificates: Path | None, slots: int | None = None
) -> Iterator[Client]:
    """Connect to a scheduler, or start a local cluster; close the connection at the end.

    Args:
        scheduler: `tls://HOST:PORT`, or None for a local cluster.
        certificates: a folder that `write_certificates` filled; for an existing scheduler.
        slots: how many submissions a local cluster grades at once; None: one per core.

    Raises:
        UsageError: if the address or the certificates can't be used.
        ClusterFailed: if no connection can be made.
    """
    # We report losses ourselves. dask configures its loggers when it is imported, so CONFIG is too
    # late for them.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with dask.config.set(CONFIG), contextlib.ExitStack() as stack:
        if scheduler is None:
            security: Security = Security.temporary()
            address: Any = stack.enter_context(_local(security, slots or len(cores())))
        else:
            address, security = scheduler, _security(scheduler, certificates)
        try:
            client = stack.enter_context(
                Client(address, security=security, timeout=CONNECT_S, set_as_default=False)
            )
        except (OSError, TimeoutError) as error:
            reason = str(error).partition("\n")[0]
            raise ClusterFailed(
                f"can't connect to {scheduler}: {reason}; is the scheduler running, and with these "
                "certificates?"
            ) from None
        yield client


@contextlib.contextmanager
def _local(security: Security, slots: int) -> Iterator[LocalCluster]:
    """Start a cluster that only this user of this machine can reach, without a dashboard."""
    # Ctrl-C reaches all processes of a terminal, but only this one should react to it.
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
            silence_logs=logging.CRITICAL,  # what we interrupt, workers would report as a warning
        )
    finally:
        signal.signal(signal.SIGINT, usual)
    with cluster:
        yield cluster


def _security(scheduler: str, certificates: Path | None) -> Security:
    """Return the certificates for connections to a scheduler.

    Raises:
        UsageError: if the address isn't one for TLS, or a certificate is missing.
    """
    if not scheduler.startswith("tls://"):
        raise UsageError(
            f"--scheduler {scheduler}: expected tls://HOST:PORT; a scheduler runs what it is "
            "sent, so without TLS anybody could run code on it"
        )
    if certificates is None:
        raise UsageError(
            "--scheduler needs --certificates DIR; make them with `python -m tools.classroom "
            "certificates DIR`"
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
    """Write a cluster's key, certificate and settings to a new folder that only its owner can read.

    Raises:
        UsageError: if the folder exists.
    """
    made = Security.temporary()
    content = {"ca": made.tls_ca_file, "cert": made.tls_client_cert, "key": made.tls_client_key}
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise UsageError(f"{folder} already exists; expected a new folder") from None
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
    wanted: dict[str, Any] = CONFIG | {"distributed.comm.require-encryption": True}
    wanted["distributed.comm.tls.ca-file"] = CERTIFICATES["ca"]
    for role in ("scheduler", "worker", "client"):
        for key in ("cert", "key"):
            wanted[f"distributed.comm.tls.{role}.{key}"] = CERTIFICATES[key]
    nested: dict[str, Any] = {}
    dask.config.set(wanted, config=nested)
    return nested


def cores() -> list[int]:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def own_cores(client: Client) -> list[int]:
    """Return a core for each worker, if they are a local cluster's and as many as the cores.

    A slot always has one process that runs or waits for a core, but it is another one every few
    milliseconds. If the kernel chooses the core, it often places two slots' processes on the same
    one, while another core has nothing to do.
    """
    cluster: Any = client.cluster
    local = isinstance(cluster, LocalCluster) and hasattr(os, "sched_setaffinity")
    return cores() if local and len(cluster.workers) == len(cores()) else []


@contextlib.contextmanager
def installed(client: Client, release: Release, counts: bool) -> Iterator[str]:
    """Send the release to all present and future workers, and remove it at the end.

    Yields the name by which workers know it.
    """
    name = f"grader-{release.digest[:16]}" + ("" if counts else "-preview")
    plugin = slots.GraderHosts(name, release.content, str(release.seed), counts, own_cores(client))
    try:
        client.register_plugin(plugin, name=name)
    except LEFT as error:
        raise ClusterFailed(f"can't send the release to the workers: {error}") from None
    try:
        yield name
    finally:
        with contextlib.suppress(Exception):  # the scheduler may have gone
            client.unregister_worker_plugin(name)


class Workers:
    """The cluster's workers, which may come and go, and which of them can grade."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self._name = client, name
        self._able: dict[str, Able] = {}
        self.refused: dict[str, str] = {}  # why a worker can't grade, by address

    def able(self) -> dict[str, Able]:
        """Return the workers that can grade now, by address.

        Raises:
            ClusterFailed: if the scheduler has gone, or doesn't answer.
        """
        if self._client.status == "connecting":  # the connection may come back
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
            raise ClusterFailed(f"the scheduler doesn't answer: {error}") from None
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
        """Stop a worker from grading."""
        self.refused[address] = why
        self._able.pop(address, None)

    def why_none(self) -> str:
        """Return why no worker can grade."""
        return "no worker can grade: " + "; ".join(sorted(set(self.refused.values())))
