"""Classes graded on real clusters, and who may connect to these."""

import contextlib
import http.client
import signal
import socket
import ssl
import subprocess
import urllib.request

import psutil
import pytest

from classroom.cluster import security
from tests.classroom.clusters import descendants
from tests.classroom.graded import wait_for_records
from tests.classroom.tiny import needs_root

pytestmark = needs_root


# ---------------------------------------------------------------- TLS


def test_nobody_without_the_certificate_is_let_in(dask, certificates):
    from distributed import Client, Security

    dask.scheduler()
    host, port = dask.address.removeprefix("tls://").split(":")
    with Client(dask.address, security=security(certificates), timeout=600) as client:
        assert client.scheduler_info()["type"] == "Scheduler"  # it is up
    with pytest.raises((OSError, TimeoutError)):
        Client(f"tcp://{host}:{port}", timeout=5)
    stranger = Security.temporary()
    with pytest.raises((OSError, TimeoutError)):
        Client(dask.address, security=stranger, timeout=5)
    # Without a certificate, the handshake ends when the server asks for one.
    context = ssl.create_default_context(cafile=certificates / "ca.pem")
    context.check_hostname = False
    with (
        socket.create_connection((host, int(port))) as plain,
        pytest.raises(OSError, match="certificate required|reset|alert"),
        context.wrap_socket(plain) as opened,
    ):
        if not opened.recv(1):
            raise ConnectionResetError("reset: closed without a word")


@pytest.mark.long
def test_no_cluster_serves_pages_and_our_own_listens_on_loopback_alone(
    dask, certificates, start_grading, eight, tmp_path
):
    from distributed import Client

    started = [dask.scheduler(), dask.worker()]
    with Client(dask.address, security=security(certificates)) as client:
        client.wait_for_workers(1)
        ports = listening(*started)
        assert len(ports) >= 4  # of the scheduler, the nanny and the worker, and their web servers
        assert served(ports) == []
    process = start_grading(eight, tmp_path / "class", "--slots", "1")
    wait_for_records(tmp_path / "class", 1, process)
    ports = listening(process)
    pages = served(ports)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert pages == []
    assert ports and {host for host, _ in ports} == {"127.0.0.1"}


# Pages of dask's web server, which show what is running, and allow anybody to stop it.
PAGES = ("/", "/info/main/workers.html", "/json/counts.json", "/health", "/metrics", "/status")


def served(ports: set[tuple[str, int]]) -> list[str]:
    """Return the pages that these ports serve."""
    pages = []
    for url in (f"http://127.0.0.1:{port}{page}" for _, port in ports for page in PAGES):
        with (
            contextlib.suppress(
                OSError, http.client.HTTPException
            ),  # none, or no web server at all
            urllib.request.urlopen(url, timeout=10) as answer,
        ):
            pages += [url] * (answer.status == 200)
    return pages


def listening(*programs: subprocess.Popen) -> set[tuple[str, int]]:
    """Return the addresses at which processes and those below them listen for TCP connections."""
    addresses = set()
    for pid in (pid for one in programs for pid in (one.pid, *descendants(one.pid))):
        with contextlib.suppress(psutil.Error):
            for each in psutil.Process(pid).net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN:
                    addresses.add((each.laddr.ip, each.laddr.port))
    return addresses
