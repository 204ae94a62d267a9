"""Classes graded on real clusters, and who may connect to these."""

import http.client
import os
import signal
import socket
import ssl
import urllib.request

import pytest

from tests.classroom.clusters import NAMES, descendants, is_host, left_in, wait_for_records
from tests.classroom.tiny import needs_root, table
from tools.classroom.cluster import _security

pytestmark = needs_root


def test_a_class_is_graded_and_then_skipped(source, expected, grade, temporary, tmp_path):
    code, output = grade(source, tmp_path / "class", "--slots", "2")
    assert code == 0, output
    assert table(tmp_path / "class") == expected
    assert f"{len(NAMES)} of {len(NAMES)} submissions have a result" in output
    for name in NAMES:
        assert f"-{name}" not in output  # nothing reveals whose a submission is
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("class/records/*/*")}
    code, output = grade(source, tmp_path / "class", "--slots", "2")
    assert code == 0 and "at once" not in output  # no cluster was started
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("class/records/*/*")}
    assert left_in(temporary) == []


# ---------------------------------------------------------------- TLS


def test_nobody_without_the_certificate_is_let_in(dask, certificates):
    from distributed import Client, Security

    dask.scheduler()
    host, port = dask.address.removeprefix("tls://").split(":")
    with Client(dask.address, security=_security(dask.address, certificates), timeout=30) as client:
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
        socket.create_connection((host, int(port)), 10) as plain,
        pytest.raises(OSError, match="certificate required|reset|alert"),
        context.wrap_socket(plain) as opened,
    ):
        opened.settimeout(10)
        if not opened.recv(1):
            raise ConnectionResetError("reset: closed without a word")


@pytest.mark.long
def test_our_own_cluster_listens_on_loopback_alone_with_tls_and_no_dashboard(
    begin, source, tmp_path
):
    into = tmp_path / "class"
    process = begin(source, into, "--slots", "1")
    wait_for_records(into, 1, process)
    family = {process.pid, *descendants(process.pid)}
    ports = set()
    for pid in family:
        ports |= listening(pid)
    served = [page for _, port in ports for page in PAGES if answers(port, page)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=90)
    assert served == []
    assert ports and {host for host, _ in ports} == {"127.0.0.1"}


CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@pytest.mark.long
@pytest.mark.skipif(len(CORES) < 2, reason="needs two cores")
@pytest.mark.parametrize("each_its_own", [True, False])
def test_with_a_slot_per_core_each_has_a_core_of_its_own(begin, source, tmp_path, each_its_own):
    into = tmp_path / "class"
    process = begin(source, into, *(() if each_its_own else ("--slots", "1")))
    wait_for_records(into, 1, process)
    hosts = [pid for pid, line in descendants(process.pid).items() if is_host(line)]
    allowed = [sorted(os.sched_getaffinity(pid)) for pid in hosts]
    below = [os.sched_getaffinity(pid) for host in hosts for pid in descendants(host)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=90)
    assert sorted(allowed) == ([[core] for core in CORES] if each_its_own else [CORES])
    assert below and all(sorted(cores) in allowed for cores in below)


@pytest.mark.long
def test_an_existing_cluster_serves_no_pages_either(dask, certificates):
    from distributed import Client

    started = [dask.scheduler(), dask.worker()]
    with Client(dask.address, security=_security(dask.address, certificates)) as client:
        client.wait_for_workers(1, timeout=60)
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
    import psutil

    try:
        found = psutil.Process(pid).net_connections("tcp")
    except psutil.Error:
        return set()
    return {(c.laddr.ip, c.laddr.port) for c in found if c.status == psutil.CONN_LISTEN}


# ---------------------------------------------------------------- what the command refuses


@pytest.mark.parametrize(
    "words, message",
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "expected tls://HOST:PORT"),
        (("--scheduler", "tls://127.0.0.1:1"), "needs --certificates"),
        (("--scheduler", "tls://h:1", "--slots", "2"), "leave it out"),
        (("--slots", "0"), "from 1 to 512"),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(grade, source, tmp_path, words, message):
    code, output = grade(source, tmp_path / "class", *words)
    assert code == 2 and message in output, output
    assert "Traceback" not in output
