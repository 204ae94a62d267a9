"""A grader host grades many submissions in one process as if each had its own."""

import contextlib
import gc
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from autograder import paths
from autograder.authoritative import open_pool
from autograder.isolation.guardian import resident_bytes
from grading.pool import FLAGS
from grading.runner import Observer, Options
from questions.course import Course
from tests.classroom.tiny import BODIES, hand_in
from tools.classroom import host
from tools.classroom.host import Host

QUESTION = ("3a",)  # in the default edition: quick tests that don't need torch
SEED = 7
ROOT = sys.platform == "linux" and os.geteuid() == 0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="hosts fork zygotes")


@pytest.fixture
def own_host(tmp_path, data):
    made = Host(Course(), tmp_path)
    yield made
    made.close()


def ask(own: Host, submission: Path, **changed) -> dict:
    request = {
        "do": "grade",
        "submission": str(submission),
        "name": "one",
        "seed": str(SEED),
        "edition": "xcs224n",
        "wanted": list(QUESTION),
        "counts": False,
    }
    return own.serve(request | changed)


def ends(tests: list[dict]) -> list[tuple]:
    return [(t["test_id"], t["outcome"], t["score"], t["message"], t["output"]) for t in tests]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident_of(pid: str) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def children() -> list[str]:
    return Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text("ascii").split()


@pytest.mark.long
@pytest.mark.parametrize("count", [20, 500])
def test_many_submissions_end_as_in_runs_of_their_own_and_leave_nothing(
    own_host, tmp_path, monkeypatch, count
):
    folders = {name: hand_in(tmp_path / name, body) for name, body in BODIES.items()}
    names = [name for name in folders if name != "slow" and (name != "daemon" or ROOT)]
    fresh = {}
    for name in names:
        options = Options(
            submission=folders[name],
            wanted=QUESTION,
            counts=True,
            data=paths.DATA,
        )
        with contextlib.closing(open_pool(SEED)) as pool:
            results = own_host._runner.run(options, SEED, Observer(), pool)
        fresh[name] = ends([t.as_dict(staff=True) for t in results.tests])
    ask(own_host, folders["right"])  # starts zygotes
    gc.collect()
    before = (open_files(), len(children()))
    monkeypatch.setattr(host, "MOST_SUBMISSIONS", 10 * count)  # it shouldn't be replaced
    for turn in range(count):
        if turn == count // 5:  # by then everything is imported, and caches are full
            grown_from = [resident_bytes(), *map(resident_of, children())]
        name = names[turn % len(names)]
        answer = ask(own_host, folders[name])
        assert ends(answer["results"]["tests"]) == fresh[name], name
        assert not answer["last"]
        assert (open_files(), len(children())) == before, name
    grown = [
        now - then
        for now, then in zip(
            [resident_bytes(), *map(resident_of, children())], grown_from, strict=True
        )
    ]
    # Allows for pages: leaking a run's results (at least 100 KB) would be 40 MB in 400 runs.
    assert max(grown) < 16 << 20, grown
    assert {outcome for end in fresh.values() for _, outcome, *_ in end} >= {"passed", "failed"}


def test_each_result_has_a_digest_of_what_decides_the_test(own_host, tmp_path):
    answers = [
        ask(own_host, hand_in(tmp_path / "right", BODIES["right"])),
        ask(own_host, tmp_path / "nothing"),
    ]
    digests = [[test["digest"] for test in answer["results"]["tests"]] for answer in answers]
    assert digests[0] == digests[1]
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests[0])


def test_it_asks_to_be_replaced_after_its_share(own_host, tmp_path, monkeypatch):
    monkeypatch.setattr(host, "MOST_SUBMISSIONS", 2)
    submission = hand_in(tmp_path / "right", BODIES["right"])
    assert [ask(own_host, submission)["last"] for _ in range(2)] == [False, True]


def test_it_asks_to_be_replaced_when_it_has_grown(own_host, tmp_path, monkeypatch):
    sizes = iter([10 << 20, 209 << 20, 211 << 20])
    monkeypatch.setattr(host, "resident_bytes", lambda: next(sizes))
    submission = hand_in(tmp_path / "right", BODIES["right"])
    assert [ask(own_host, submission)["last"] for _ in range(3)] == [False, False, True]


def test_a_fault_of_ours_is_an_answer_and_its_last(own_host, tmp_path):
    submission = hand_in(tmp_path / "right", BODIES["right"])
    answer = ask(own_host, submission, edition="no such edition")
    assert "no such edition" in answer["fault"] and answer["last"]


def test_what_can_not_be_graded_has_results_without_points(own_host, tmp_path):
    (tmp_path / "empty").mkdir()
    answer = ask(own_host, tmp_path / "empty")
    assert "no folder `submission`" in answer["refused"] and "the upload" in answer["refused"]
    assert {t["outcome"] for t in answer["results"]["tests"]} == {"missing file"}
    assert answer["results"]["score"] == 0 and not answer["last"]


def test_another_seed_gets_zygotes_of_its_own(own_host, tmp_path):
    submission = hand_in(tmp_path / "right", BODIES["right"])
    ask(own_host, submission)
    first = own_host._pool
    ask(own_host, submission)
    assert own_host._pool is first
    ask(own_host, submission, seed="8")
    assert own_host._pool is not first


# ---------------------------------------------------------------- the process


def start(place: Path, world: Path, change: str = "") -> subprocess.Popen:
    """Start a host, after a statement that may change the module."""
    own = place / "slot"
    own.mkdir()
    own.chmod(0o711)
    code = (
        f"import sys; from pathlib import Path; "
        f"sys.path[:0] = [{str(paths.SRC)!r}, {str(paths.ROOT)!r}]; "
        "from autograder import paths; from tools.classroom import host; "
        "from questions.course import Course; "
        f"paths.DATA, paths.ANSWERS = Path({str(world / 'src/data')!r}), "
        f"Path({str(world / 'solutions/data')!r})\n{change}\n"
        f"host.main(Course(), Path({str(place)!r}), Path({str(own)!r}))"
    )
    command = [sys.executable, *FLAGS, "-c", code]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ends_within(pid_file: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while pid_file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not pid_file.exists()


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def place():
    """Yield a folder for hosts, which workers can enter, unlike pytest's own temporary folders."""
    folder = Path(tempfile.mkdtemp(prefix="place-"))
    folder.chmod(0o711)
    (folder / "place").mkdir()
    yield folder / "place"
    shutil.rmtree(folder)


@pytest.mark.parametrize("busy", [False, True])
def test_a_host_ends_with_its_input_and_leaves_nothing(place, tmp_path, smoke_world, busy):
    process = start(place, smoke_world)
    body = "import time; time.sleep(600)\n" if busy else BODIES["right"]
    request = {
        "do": "grade",
        "submission": str(hand_in(tmp_path / "upload", body)),
        "name": "one",
        "seed": "7",
        "edition": "xcs224n",
        "wanted": ["3a-0-basic"],
        "counts": False,
    }
    process.stdin.write(json.dumps(request).encode("ascii") + b"\n")
    process.stdin.flush()
    if busy:
        deadline = time.monotonic() + 60
        while not list(place.glob("slot/grading-*/scratch-*")):
            answered, _, _ = select.select([process.stdout], [], [], 0.05)
            assert not answered, process.stdout.readline().decode("utf-8")  # a str is shown whole
            assert time.monotonic() < deadline
        answered, _, _ = select.select([process.stdout], [], [], 1)  # a worker that can't start
        assert not answered, process.stdout.readline().decode("utf-8")
    else:
        answer = json.loads(process.stdout.readline())
        assert [t["outcome"] for t in answer["results"]["tests"] if t["wall_s"]] == ["passed"]
    family = descendants(process.pid)
    assert family
    process.stdin.close()
    process.wait(30)
    process.stdout.close()
    assert not place.exists()  # it was the last host there
    for pid in family:
        assert ends_within(Path(f"/proc/{pid}"), 10), pid


# Python ignores an interrupt that arrives in a callback, such as an import's.
IGNORE_ONE = """
begin = host.Host.__init__
def begin_and_ignore_an_interrupt(self, *args):
    begin(self, *args)
    try:
        Path(args[1], "waits").touch()
        host.time.sleep(60)
    except KeyboardInterrupt:
        print("ignored", file=sys.stderr)
host.Host.__init__ = begin_and_ignore_an_interrupt
"""


def test_a_host_ends_although_an_interrupt_was_ignored(place, smoke_world, capfd):
    process = start(place, smoke_world, IGNORE_ONE)
    wait_for(place / "waits")
    process.stdin.close()
    process.wait(30)
    process.stdout.close()
    assert "ignored" in capfd.readouterr().err
    assert not place.exists()


def test_a_host_leaves_what_others_still_use(place, smoke_world):
    process = start(place, smoke_world)
    wait_for(place / host.ANSWERS)  # by then, it holds the lock
    with open(place / host.LOCK, "ab") as lock:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_SH)
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
        assert place.exists() and not (place / "slot").exists()


def descendants(pid: int) -> list[int]:
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split():
        found += [int(child), *descendants(int(child))]
    return found
