"""Classes graded on clusters that are really there, while their processes are killed."""

import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.classroom.tiny import class_of, needs_root, table

pytestmark = needs_root
NAMES = ("right", "wrong", "exits", "slow", "daemon", "raises", "slow", "floods")


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return class_of(tmp_path_factory.mktemp("class") / "source", *NAMES)


@pytest.fixture(scope="module")
def expected(source, course) -> dict[str, list]:
    """The table of a serial run without a cluster or a host: each with a run of its own."""
    code = """
import json, sys
from pathlib import Path
from grading import paths
from grading.assignment import load_assignment
from grading.observer import Observer
from grading.runner import CourseTestRunner, Options
from questions.course import Course
from tools.classroom import shipping
from tools.classroom.roster import read_class
runner = CourseTestRunner(load_assignment(paths.ASSIGNMENT), Course())
seed = shipping.make_release(paths.ROOT, "tiny").seed
found = {}
for number, one in enumerate(read_class(Path(sys.argv[1])).submissions):
    into = Path(sys.argv[2], str(number))
    into.mkdir(parents=True)
    options = Options(submission=one.unpack(into), edition="tiny", authoritative=True)
    results = runner.run(options, seed, Observer()).as_dict(staff=True)
    ends = [[t["test_id"], t["outcome"], t["score"], t["message"]] for t in results["tests"]]
    found[one.submission_id] = [True, [], "", ends]
print(json.dumps(found))
"""
    place = source.parent / "unpacked"
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; sys.path[:0] = ['src', '.']" + code, source, place],
        cwd=course,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert len({json.dumps(row[3]) for row in found.values()}) >= 4  # they end differently
    return found


def test_a_class_is_graded_and_then_skipped(source, expected, grade, temporary, tmp_path):
    code, output = grade(source, tmp_path / "class", "--slots", "2")
    assert code == 0, output
    assert table(tmp_path / "class") == expected
    assert f"{len(NAMES)} of {len(NAMES)} submissions have a result" in output
    for name in NAMES:
        assert f"-{name}" not in output  # nothing tells whose a submission is
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("class/records/*/*")}
    code, output = grade(source, tmp_path / "class", "--slots", "2")
    assert code == 0 and "submissions at once" not in output  # no cluster was started
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("class/records/*/*")}
    assert left_in(temporary) == []


def left_in(temporary: Path) -> list[str]:
    """What is still there, besides dask's own folder, which holds nothing of ours."""
    return [path.name for path in temporary.iterdir() if not path.name.startswith("dask-")]


def descendants(pid: int) -> dict[int, str]:
    """Processes below one, with their command lines."""
    found: dict[int, str] = {}
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [c for t in threads for c in (t / "children").read_text("ascii").split()]
    except OSError:
        return found
    for child in map(int, children):
        try:
            line = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        found[child] = line.replace(b"\0", b" ").decode("utf-8", "replace")
        found |= descendants(child)
    return found


def is_worker(line: str) -> bool:
    return "multiprocessing.spawn" in line


def is_host(line: str) -> bool:
    return "host.main(" in line


def records_in(folder: Path) -> int:
    return len(list(folder.glob("records/*/*.json")))


def wait_for_records(folder: Path, count: int, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 120
    while records_in(folder) < count and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT])
def test_a_client_that_is_stopped_loses_nothing_that_was_done(
    source, expected, grade, classroom, temporary, tmp_path, stop
):
    into = tmp_path / "class"
    words = ("grade", source, "--into", into, "--edition", "tiny", "--slots", "2")
    process = classroom(*words)
    wait_for_records(into, 2, process)
    family = descendants(process.pid)
    assert any(is_host(line) for line in family.values())
    process.send_signal(stop)
    output = process.communicate(timeout=90)[0]
    assert process.returncode == (130 if stop == signal.SIGINT else -signal.SIGKILL), output
    deadline = time.monotonic() + 60
    for pid in family:
        while Path(f"/proc/{pid}").exists() and "host.main" in _line(pid):
            assert time.monotonic() < deadline, _line(pid)
            time.sleep(0.1)
    kept = {path: path.read_bytes() for path in into.glob("records/*/*.json")}
    assert len(kept) >= 2
    code, output = grade(source, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == expected
    assert all(path.read_bytes() == content for path, content in kept.items() if is_final(content))
    assert left_in(temporary) == []


def is_final(content: bytes) -> bool:
    return not json.loads(content)["again"]


def _line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def test_workers_and_hosts_that_are_killed_change_nothing(
    source, expected, grade, classroom, temporary, tmp_path
):
    into = tmp_path / "class"
    words = ("grade", source, "--into", into, "--edition", "tiny", "--slots", "2")
    process = classroom(*words)
    rng = random.Random(1)
    killed = 0
    for kind, count in ((is_host, 1), (is_worker, 2), (is_host, 4)):
        wait_for_records(into, count, process)
        victims = [pid for pid, line in descendants(process.pid).items() if kind(line)]
        if victims and process.poll() is None:
            os.kill(rng.choice(sorted(victims)), signal.SIGKILL)
            killed += 1
    code, output = process.wait(240), process.stdout.read()
    assert killed >= 2, output
    assert code in (0, 1), output
    if code == 1:  # what was killed twice: the same command completes the class
        code, output = grade(source, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == expected
    assert left_in(temporary) == []


# ---------------------------------------------------------------- TLS, and machines of their own


@pytest.fixture(scope="module")
def certificates(classroom, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tls") / "certificates"
    made = classroom("certificates", folder)
    assert made.wait(60) == 0, made.stdout.read()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    return folder


@pytest.fixture
def start(certificates, temporary, tmp_path):
    """A function that starts a program of dask's on loopback, elsewhere than in the project."""
    processes = []
    tls = [
        "--tls-ca-file",
        certificates / "ca.pem",
        "--tls-cert",
        certificates / "certificate.pem",
        "--tls-key",
        certificates / "key.pem",
    ]

    def run(program: str, *words) -> subprocess.Popen:
        command = [sys.executable, "-m", f"distributed.cli.dask_{program}", *tls, *words]
        with open(tmp_path / f"{program}-{len(processes)}.log", "wb") as log:
            made = subprocess.Popen(
                list(map(str, command)),
                cwd=tmp_path,
                stdout=log,
                stderr=log,
                env=_environment(temporary),
            )
        processes.append(made)
        return made

    yield run
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def _environment(temporary: Path) -> dict[str, str]:
    """Without what would let a worker find our modules: the release is all it gets."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return kept | {"TMPDIR": str(temporary)}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_scheduler_with_workers_of_its_own_and_kills_gives_the_same_table(
    source, expected, grade, classroom, start, certificates, temporary, tmp_path
):
    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    start("scheduler", "--host", address, "--no-dashboard")
    here = ["--nthreads", "1", "--no-dashboard", "--host", "tls://127.0.0.1"]
    workers = [start("worker", address, *here) for _ in range(2)]
    into = tmp_path / "class"
    words = ("--scheduler", address, "--certificates", certificates)
    process = classroom("grade", source, "--into", into, "--edition", "tiny", *words)
    wait_for_records(into, 2, process)
    assert process.poll() is None, process.stdout.read()
    workers[0].kill()  # the nanny, and with it its worker
    code, output = process.wait(240), process.stdout.read()
    if code == 1:
        code, output = grade(source, into, *words)
    assert code == 0, output
    assert table(into) == expected
    deadline = time.monotonic() + 60
    while left_in(temporary) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left_in(temporary) == []  # the release was taken away, though workers go on


def test_nobody_without_the_certificate_is_let_in(start, certificates, tmp_path):
    from distributed import Client, Security

    port = free_port()
    start("scheduler", "--host", f"tls://127.0.0.1:{port}", "--no-dashboard")
    own = {
        "tls_ca_file": str(certificates / "ca.pem"),
        "tls_client_cert": str(certificates / "certificate.pem"),
        "tls_client_key": str(certificates / "key.pem"),
    }
    with Client(f"tls://127.0.0.1:{port}", security=Security(**own), timeout=30) as client:
        assert client.scheduler_info()["type"] == "Scheduler"  # it is up
    with pytest.raises((OSError, TimeoutError)):
        Client(f"tcp://127.0.0.1:{port}", timeout=5)
    stranger = Security.temporary()
    with pytest.raises((OSError, TimeoutError)):
        Client(f"tls://127.0.0.1:{port}", security=stranger, timeout=5)
    # Without any certificate the handshake ends once the server asks for it.
    context = ssl.create_default_context(cafile=own["tls_ca_file"])
    context.check_hostname = False
    with (
        socket.create_connection(("127.0.0.1", port), 10) as plain,
        pytest.raises(OSError, match="certificate required|reset|alert"),
        context.wrap_socket(plain) as opened,
    ):
        opened.settimeout(10)
        if not opened.recv(1):
            raise ConnectionResetError("reset: closed without a word")


def test_our_own_cluster_listens_on_loopback_alone_with_tls_and_no_dashboard(
    classroom, source, tmp_path
):
    into = tmp_path / "class"
    words = ("grade", source, "--into", into, "--edition", "tiny", "--slots", "1")
    process = classroom(*words)
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


# Of dask's web server, which shows what runs, and lets it be ended.
PAGES = ("/", "/info/main/workers.html", "/json/counts.json", "/health", "/metrics", "/status")


def answers(port: int, page: str) -> bool:
    """Whether there is a page at a port."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10) as answer:
            return answer.status == 200
    except (OSError, http.client.HTTPException):  # not found, or no web server at all
        return False


def listening(pid: int) -> set[tuple[str, int]]:
    """Addresses at which a process listens for TCP connections."""
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
