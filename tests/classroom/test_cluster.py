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
from tests.classroom.graded import NAMES, wait_for_records
from tests.classroom.tiny import class_of, needs_root

pytestmark = needs_root


def test_a_cluster_grades_a_class_and_lets_nobody_in_without_the_certificate(
    dask, complete, certificates, tmp_path
):
    from distributed import Client, Security

    dask.scheduler()
    dask.worker()
    source = class_of(tmp_path / "source", *NAMES[:2])
    complete(source, tmp_path / "class", *dask.words)  # the release is removed from the worker
    with Client(dask.address, security=security(certificates), timeout=600) as client:
        assert client.scheduler_info()["type"] == "Scheduler"  # it is up
    with pytest.raises((OSError, TimeoutError)):
        Client(dask.address.replace("tls", "tcp"), timeout=5)
    stranger = Security.temporary()
    with pytest.raises((OSError, TimeoutError)):
        Client(dask.address, security=stranger, timeout=5)
    # Without a certificate, the handshake ends when the server asks for one.
    context = ssl.create_default_context(cafile=certificates / "ca.pem")
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", dask.port)) as plain,
        pytest.raises(OSError, match="certificate required|reset|alert"),
        context.wrap_socket(plain) as opened,
    ):
        if not opened.recv(1):
            raise ConnectionResetError("reset: closed without a word")


@pytest.mark.long
def test_no_cluster_serves_pages_and_our_own_listens_on_loopback_alone(
    dask, certificates, start_grading, six, tmp_path
):
    from distributed import Client

    started = [dask.scheduler(), dask.worker()]
    with Client(dask.address, security=security(certificates)) as client:
        client.wait_for_workers(1)
        ports = listening(*started)
        assert len(ports) >= 4  # of the scheduler, the nanny and the worker, and their web servers
        assert served(ports) == []
    process = start_grading(six, tmp_path / "class", "--slots", "1")
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
        with contextlib.suppress(OSError, http.client.HTTPException):  # none, or no web server
            with urllib.request.urlopen(url, timeout=10) as answer:
                pages += [url] * (answer.status == 200)
    return pages


def listening(*programs: subprocess.Popen) -> set[tuple[str, int]]:
    """Return the addresses at which processes and those below them listen for TCP connections."""
    addresses = set()
    for pid in (pid for one in programs for pid in (one.pid, *descendants(one.pid))):
        with contextlib.suppress(psutil.Error):
            opened = psutil.Process(pid).net_connections("tcp")
            opened = [each.laddr for each in opened if each.status == psutil.CONN_LISTEN]
            addresses |= {(address.ip, address.port) for address in opened}
    return addresses
