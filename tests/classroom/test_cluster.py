"""Classes graded on real clusters, and who may connect to these."""

import http.client
import signal
import socket
import ssl
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
def test_our_own_cluster_listens_on_loopback_alone_with_tls_and_no_dashboard(
    start_grading, eight, tmp_path
):
    into = tmp_path / "class"
    process = start_grading(eight, into, "--slots", "1")
    wait_for_records(into, 1, process)
    family = {process.pid, *descendants(process.pid)}
    ports = set()
    for pid in family:
        ports |= listening(pid)
    served = [page for _, port in ports for page in PAGES if answers(port, page)]
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert served == []
    assert ports and {host for host, _ in ports} == {"127.0.0.1"}


@pytest.mark.long
def test_an_existing_cluster_serves_no_pages_either(dask, certificates):
    from distributed import Client

    started = [dask.scheduler(), dask.worker()]
    with Client(dask.address, security=security(certificates)) as client:
        client.wait_for_workers(1)
        family = [pid for one in started for pid in (one.pid, *descendants(one.pid))]
        ports = {port for pid in family for _, port in listening(pid)}
        assert len(ports) >= 4  # of the scheduler, the nanny and the worker, and their web servers
        assert [page for port in ports for page in PAGES if answers(port, page)] == []


# Pages of dask's web server, which show what is running, and allow anybody to stop it.
PAGES = ("/", "/info/main/workers.html", "/json/counts.json", "/health", "/metrics", "/status")


def answers(port: int, page: str) -> bool:
    """Return whether a port serves a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10) as answer:
            return answer.status == 200
    except (OSError, http.client.HTTPException):  # not found, or no web server at all
        return False


def listening(pid: int) -> set[tuple[str, int]]:
    """Return the addresses at which a process listens for TCP connections."""
    try:
        found = psutil.Process(pid).net_connections("tcp")
    except psutil.Error:
        return set()
    return {(c.laddr.ip, c.laddr.port) for c in found if c.status == psutil.CONN_LISTEN}
