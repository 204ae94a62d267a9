"""Classes graded on real clusters, who may connect to these, and docs/kubernetes."""

import contextlib
import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
import yaml
from distributed import Client, Security

from classroom import cluster, worker
from classroom.cluster import security
from classroom.worker import Grader
from tests.classroom.graded import NAMES, descendants, left_in, wait_for_records
from tests.classroom.tiny import class_of
from tests.project import ROOT

FOLDER = ROOT / "docs" / "kubernetes"
CORES = 16  # the manifest's example


def test_a_worker_that_leaves_while_it_unpacks_the_release_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    grader, unpacks = Grader("grader", b"", counts=False), threading.Event()

    def unpack(release: bytes, target: Path) -> None:
        unpacks.set()
        with contextlib.suppress(subprocess.TimeoutExpired):
            grader._keeper.wait(3)
        target.mkdir(parents=True)

    monkeypatch.setattr(worker, "unpack", unpack)
    with ThreadPoolExecutor() as pool:
        examined = pool.submit(grader._examine)
        unpacks.wait()
        grader._leave()
    assert examined.exception() and not [*tmp_path.iterdir()]


# A worker that is killed while its grader works, which then makes folders before it ends.
KILLED = """
import os, signal, sys, threading, time
from classroom import worker
worker.unpack = lambda release, target: target.mkdir()
worker.BOOT = (
    "import os, sys, time; place = os.environ['TMPDIR']; open('begun', 'w').close(); "
    "sys.stdin.read(); time.sleep(1); os.makedirs(place + '/late', exist_ok=True); "
    f"open({sys.argv[1]!r}, 'w').close()"
)
grader = worker.Grader("grader", b"", counts=False)
threading.Thread(target=grader._examine, daemon=True).start()
while not [*worker.Path(worker.tempfile.gettempdir()).glob("*/*/begun")]:
    time.sleep(0.05)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_worker_that_is_killed_leaves_nothing_whatever_its_grader_still_does(tmp_path):
    place, ended = tmp_path / "temporary", tmp_path / "ended"
    place.mkdir()
    environment = os.environ | {"TMPDIR": str(place)}
    words = [sys.executable, "-c", KILLED, ended]
    assert subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode == -9
    while not ended.exists():
        time.sleep(0.1)
    assert left_in(place) == []


@pytest.mark.long
@pytest.mark.requires_root
def test_our_own_cluster_serves_no_pages_and_listens_on_loopback_alone(
    start_grading, six, tmp_path
):
    process = start_grading(six, tmp_path / "class", "--slots", "1")
    wait_for_records(tmp_path / "class", 1, process)
    ports = listening(process)
    pages = served(ports)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert pages == []
    assert ports and {host for host, _ in ports} == {"127.0.0.1"}


def test_whatever_is_silent_is_given_up_within_two_minutes():
    """The sums of what is waited for, one after the other, at most; dask has 30 s of its own."""
    closing = 4 * cluster.CLOSE_S  # the tasks, the release, the connection, a local cluster
    scheduler = cluster.LOOK_S + cluster.FETCH_S + cluster.ANSWER_S + closing
    workers = cluster.PATIENCE_S + cluster.LOOK_S + cluster.ANSWER_S
    worker = 2 * cluster.SILENT_S + 30
    assert max(scheduler, workers, worker) < 110


def heard(time_s: float) -> dict:
    """Return what a scheduler says that heard its only worker, with three slots, at this time."""
    return {"workers": {"worker": {"resources": {"grader": 3}, "last_seen": time_s}}}


def client_of(looks: Iterable[dict | Exception], status: str) -> Mock:
    """Return a client that sees this of its scheduler; results have a status, but never come."""
    client = Mock(status="running")
    client.scheduler_info.side_effect = looks
    client.get_events.return_value = ()
    client.submit.side_effect = lambda *_, **__: Mock(status=status, result=client.fetch)
    client.fetch.side_effect = TimeoutError
    return client


def grade_nine(client: Mock, monkeypatch) -> None:
    monkeypatch.setattr(cluster, "wait", lambda *_, **__: None)
    tasks = ((n, b"", {}) for n in range(9))
    [*cluster.Cluster(client, Grader("grader", b"", counts=True), print).run(tasks)]


def test_only_one_of_many_results_is_waited_for_before_the_scheduler_is_asked(monkeypatch):
    client = client_of([heard(1.0), TimeoutError("silent")], "finished")
    monkeypatch.setattr(cluster, "LOOK_S", 0)
    with pytest.raises(cluster.ClusterFailed, match="the scheduler doesn't answer: silent"):
        grade_nine(client, monkeypatch)
    assert client.fetch.call_count == 1


def test_a_worker_that_the_scheduler_no_longer_hears_is_soon_given_up(monkeypatch):
    """The scheduler itself names it for up to 90 s more; here each look is 40 s after the last."""
    client = client_of([heard(min(n, 7.0)) for n in range(1, 99)], "pending")
    looks = client.scheduler_info
    monkeypatch.setattr(cluster.time, "monotonic", lambda: 40.0 * looks.call_count)
    with pytest.raises(cluster.ClusterFailed, match="no worker could grade for 90 s"):
        grade_nine(client, monkeypatch)
    assert looks.call_count == 7 + 3  # three of 40 s are more than 90 s


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


@pytest.fixture(scope="module")
def pods() -> dict[str, dict]:
    """Return the specs of pods by the names of their deployments."""
    text = (FOLDER / "cluster.yaml").read_text(encoding="utf-8")
    service, *deployments = (one["spec"] | one["metadata"] for one in yaml.safe_load_all(text))
    assert service["type"] == "ClusterIP" and service["selector"] == {"app": service["name"]}
    templates = {one["name"]: one["template"] for one in deployments}
    assert templates[service["name"]]["metadata"]["labels"] == service["selector"]
    return {name: template["spec"] for name, template in templates.items()}


def test_only_root_can_read_the_certificates_and_no_pod_has_a_token_for_the_api(pods):
    for pod in pods.values():
        assert pod["automountServiceAccountToken"] is False
        (volume,), (container,) = pod["volumes"], pod["containers"]
        assert volume["secret"] == {"secretName": "grader-certificates", "defaultMode": 0o400}
        (mount,) = container["volumeMounts"]
        assert mount["name"] == volume["name"] and mount["readOnly"]
        assert container["workingDir"] == mount["mountPath"]
        assert container["env"] == [{"name": "DASK_CONFIG", "value": "dask.yaml"}]
        assert container["securityContext"] == {"runAsUser": 0}  # the runtime's own capabilities


@pytest.mark.requires_root
def test_the_containers_commands_grade_a_class_serve_no_pages_and_let_no_stranger_in(
    pods, complete, dask, certificates, tmp_path
):
    mounted = sorted(certificates.iterdir())
    # The service's name and port are those of this cluster.
    here = {"grader-scheduler": "127.0.0.1", "8786": str(dask.port)}
    for name, pod in pods.items():
        (container,) = pod["containers"]
        program, *words = container["command"] + container["args"]
        assert program == "dask"
        if name == "grader-worker":
            assert str(CORES) == container["resources"]["requests"]["cpu"]
            words[words.index("--nworkers") + 1] = "2"
        words = [re.sub("|".join(here), lambda match: here[match[0]], word) for word in words]
        dask.start(*words)
    source = class_of(tmp_path / "source", *NAMES[:2])
    complete(source, tmp_path / "class", *dask.words)  # the release is removed from the workers
    with Client(dask.address, security=security(certificates), timeout=600) as client:
        assert client.scheduler_info()["type"] == "Scheduler"  # it is up
    for address, stranger in (
        (dask.address.replace("tls", "tcp"), None),
        (dask.address, Security.temporary()),
    ):
        with pytest.raises((OSError, TimeoutError)):
            Client(address, security=stranger, timeout=5)
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
    ports = listening(*dask.processes)
    assert len(ports) >= 4  # of the scheduler, the nannies and the workers, and their web servers
    assert served(ports) == []
    assert sorted(certificates.iterdir()) == mounted  # which is read-only there
