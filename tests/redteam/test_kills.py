"""Whenever the grader or its worker is killed, results are complete and nothing keeps running."""

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .arena import slowness
from .conftest import ASKED, FILE, RIGHT, command, whole

LOOP = b"def copying_query(keys, j):\n    while True:\n        pass\n"


def processes_in(folder: str) -> list[int]:
    """Return the processes whose current folder has a path that begins like this."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended
            if os.readlink(f"/proc/{entry}/cwd").startswith(folder):
                found.append(int(entry))
    return found


def start(tree: Path, upload: Path, open_folder: Path, *more) -> subprocess.Popen:
    """Start the grader, in a folder of its own so that its processes can be found."""
    return subprocess.Popen(
        command(tree, upload, *more),
        env={"PATH": os.defpath, "TMPDIR": str(open_folder)},
        cwd=open_folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        # A suite that a shell runs in the background ignores Ctrl-C, and its children would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_until_gone(open_folder: Path) -> None:
    """Wait for the end of a run's processes, which by themselves would go on for longer than this.

    They sleep for 600 s, or loop until the kernel's limit, 22 CPU seconds.
    """
    deadline = time.monotonic() + 20 * slowness()
    while processes_in(str(open_folder)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("moment", range(50))
@pytest.mark.sampled(12)
def test_a_killed_grader_leaves_whole_results_and_no_process(moment, tree, upload, open_folder):
    # Random moments of a run of about 1 s; the claim holds at any moment, so no false failures.
    (upload / FILE).write_bytes(LOOP if moment % 2 else RIGHT)
    results = open_folder / "results.json"
    run = start(tree, upload, open_folder, "3a", "3b", "--json", results)
    time.sleep(random.Random(moment).uniform(0.0, 1.2))
    run.kill()
    run.wait()
    wait_until_gone(open_folder)
    if results.exists():
        whole(results, tree)


@pytest.mark.parametrize(("number", "after_s"), [(signal.SIGINT, 0.1), (signal.SIGTERM, 0.5)])
def test_an_interrupted_grader_tidies_up(number, after_s, tree, upload, open_folder):
    (upload / FILE).write_bytes(b"import time\ntime.sleep(600)\n")
    results = open_folder / "results.json"
    run = start(tree, upload, open_folder, "3a", "--json", results)
    while not results.exists():
        time.sleep(0.01)
    time.sleep(after_s)
    run.send_signal(number)
    assert run.wait() == 130
    wait_until_gone(open_folder)
    left = [str(p) for p in open_folder.rglob("*")]
    assert left == [str(results)]
    ends = [test["outcome"] for test in whole(results, tree)["tests"]]
    assert ends.count("timed out") < 2  # it waits for no test's time limit


def test_a_worker_killed_from_outside_costs_its_test_only(tree, upload, open_folder):
    """The kernel does this when memory runs out."""
    loop = b"open('begun', 'w').close()\n    while True: pass"
    (upload / FILE).write_bytes(RIGHT.replace(b"return 100.0 * keys[j]", loop, 1))
    results = open_folder / "results.json"
    run = start(tree, upload, open_folder, ASKED, "3b-0-basic", "--json", results)
    while run.poll() is None:
        for pid in processes_in(str(open_folder / "grading-")):
            if os.path.exists(f"/proc/{pid}/cwd/begun"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    assert run.wait() == 1
    ends = {t["test_id"]: t["outcome"] for t in whole(results, tree)["tests"]}
    assert ends[ASKED] in ("killed", "timed out")
    assert ends["3b-0-basic"] == "passed"
