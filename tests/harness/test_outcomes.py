"""However a test ends, its outcome says so, in time, and other tests' results stay correct.

What each ending says is in tests/snapshots/test_endings.py; loops are in test_importing.py.
"""

import contextlib
import os
import time

import pytest

from autograder.isolation import leftovers, sandbox
from grading.pool import InProcessPool
from grading.verdicts import Outcome

ID = "3a-0-basic"
UNCONFINED = sandbox.Layers(root=False, landlock_abi=0, seccomp=False)
FILTERED = sandbox.Layers(root=False, landlock_abi=0, seccomp=True)

# name: (body of copying_query, outcome, the beginning of the cause's id).
ENDINGS = {
    "os._exit": ("import os; os._exit(0)\n", Outcome.EXITED, "exited"),
    "segfault": ("import ctypes; ctypes.string_at(0)\n", Outcome.KILLED, "killed.signal-11"),
    "recursion": ("return copying_query(keys, j)\n", Outcome.ERROR, "error.RecursionError"),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_each_ending_has_its_outcome(name, write_query, grade_hastily):
    """On a student's computer."""
    body, outcome, cause = ENDINGS[name]
    results = grade_hastily(write_query(body), ID, "3b-0-basic", way="local")
    assert results[ID].outcome is outcome, results[ID]
    assert results[ID].cause.startswith(cause), results[ID]
    # The file lacks average_query, so the other test fails for that reason, whatever the first did.
    assert results["3b-0-basic"].outcome is Outcome.ERROR
    assert "average_query" in results["3b-0-basic"].message


def test_a_debugger_says_what_to_do(write_query, grade):
    """For breakpoint(), tests/snapshots/ has what it says."""
    result = grade(write_query("import pdb; pdb.set_trace()\nreturn keys[j]\n"), ID)[ID]
    assert result.outcome is Outcome.ERROR and f"--in-process {ID}" in result.message


DOUBLED = """
forward = SynthesizerAttention.forward
SynthesizerAttention.forward = lambda *given: 2 * forward(*given)
"""


def test_in_process_a_submission_is_not_compared_with_itself(submission, run, pools, monkeypatch):
    """A judge calls the reference in between: one's modules are removed before the other runs."""
    monkeypatch.setitem(pools, "in process", InProcessPool())
    with open(submission / "submission" / "attention.py", "a", encoding="utf-8") as writer:
        writer.write(DOUBLED)
    results = run(submission, "1g-5-hidden", way="in process", in_process=True)
    assert results.outcomes == [Outcome.FAILED]


def test_resident_memory_is_watched(write_query, grade, monkeypatch):
    """On a student's computer; tests/redteam/attacks/hoards_in_daemons.py tries staff's workers."""
    monkeypatch.setattr("grading.worker.MEMORY_BYTES", 300 << 20)
    body = "kept = [bytearray(b'x') * (50 << 20) for _ in range(12)]\nimport time; time.sleep(9)\n"
    result = grade(write_query(body), ID, way="local")[ID]
    assert result.outcome is Outcome.OUT_OF_MEMORY


def test_what_starts_threads_or_asks_the_system_is_no_process(write_query, grade):
    body = """
        import ctypes.util, platform, threading, uuid
        from concurrent.futures import ThreadPoolExecutor
        from tqdm import tqdm  # whose lock wants a semaphore
        thread = threading.Thread(target=list)
        thread.start()
        thread.join()
        ThreadPoolExecutor(4).submit(list, tqdm(range(3))).result()
        platform.processor(), platform.platform(), uuid.getnode(), ctypes.util.find_library("m")
        return 100.0 * keys[j]
    """
    result = grade(write_query(body), ID, layers=FILTERED)[ID]
    assert result.outcome is Outcome.PASSED, result


BOMBS = {
    "processes": """
        import os, time
        for _ in range(100):
            if os.fork() == 0: time.sleep(600)
        time.sleep(600)
    """,
    "files": """
        import itertools, os
        for n in itertools.count():
            os.makedirs(f'{n}/a/b/c')
    """,
}


@pytest.mark.parametrize("kind", BOMBS)
def test_processes_and_files_are_counted(kind, write_query, grade):
    """Files, before removing them takes long."""
    result = grade(write_query(BOMBS[kind]), ID, layers=UNCONFINED)[ID]
    if os.getuid() == 0:  # the system's own limits don't apply to root
        assert result.cause == f"killed.{kind}"
    else:
        assert result.outcome in (Outcome.KILLED, Outcome.ERROR)


def test_orphans_are_reaped_while_a_test_runs_and_still_count(write_query, grade):
    zombies = """
        import os, time
        for _ in range({count}):
            if os.fork() == 0:
                if os.fork() == 0: os._exit(0)
                os._exit(0)
            os.wait()
        children = f"/proc/{{os.getppid()}}/task/{{os.getppid()}}/children"
        while open(children).read().split() != [str(os.getpid())]:
            time.sleep(0.01)  # or else its time runs out
        return 100.0 * keys[j]
    """
    few = grade(write_query(zombies.format(count=8)), ID, layers=UNCONFINED)[ID]
    assert few.outcome is Outcome.PASSED, few
    many = grade(write_query(zombies.format(count=80)), ID, layers=UNCONFINED)[ID]
    assert many.cause == "killed.processes", many


def test_folders_too_deep_for_a_path_are_removed(tmp_path):
    with contextlib.chdir(tmp_path):
        for _ in range(60):
            os.mkdir("x" * 200)
            os.chdir("x" * 200)
    leftovers.remove_tree(tmp_path / ("x" * 200))
    assert list(tmp_path.iterdir()) == []


def test_removing_stops_in_time(tmp_path):
    for number in range(50):
        (tmp_path / "flood" / str(number)).mkdir(parents=True)
    leftovers.remove_tree(tmp_path / "flood", until=time.monotonic() - 1)
    assert len(list((tmp_path / "flood").iterdir())) == 50
    leftovers.remove_tree(tmp_path / "flood", until=time.monotonic() + 60)
    assert not (tmp_path / "flood").exists()


def test_a_worker_has_no_descriptors_but_its_own(write_query, grade):
    """With its guardian's, it could tell the grader how it ended."""
    body = """
        import contextlib, os
        opened = []
        for number in range(256):
            with contextlib.suppress(OSError):
                os.fstat(number)
                opened.append(number)
        raise ValueError(opened)
    """
    assert "[0, 1, 2, 3, 4]" in grade(write_query(body), ID)[ID].message


def test_nothing_outlives_a_test(write_query, grade, tmp_path):
    body = f"""
        import os, time
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.write(writer, str(os.getpid()).encode())
                time.sleep(600)
            os._exit(0)
        with open({str(tmp_path / "daemon")!r}, "wb") as file:
            file.write(os.read(reader, 20))
        return 100.0 * keys[j]
    """
    assert grade(write_query(body), ID, layers=UNCONFINED)[ID].outcome is Outcome.PASSED
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "daemon").read_bytes()), 0)


def test_a_deadline_in_the_middle_of_a_test_is_nobodys_fault(submission, grade):
    # Whichever worker is cut short, even the reference's, it isn't a grader error.
    results = grade(submission, "1g-5-hidden", "1g-8-hidden", "1e-9-hidden", deadline_s=1.0)
    ended = {t.outcome for t in results.values() if t.is_selected}
    assert ended <= {Outcome.PASSED, Outcome.NOT_RUN}


# ---------------------------------------------------------------- memory in a container

V2 = ("memory.max", "memory.stat", "anon", "shmem")
V1 = ("memory/memory.limit_in_bytes", "memory/memory.stat", "total_rss", "total_shmem")
MIB = 1 << 20


@pytest.mark.parametrize("names", [V2, V1], ids=["v2", "v1"])
@pytest.mark.parametrize(
    ("limit", "anonymous", "shared", "expected"),
    [
        (732 * MIB, 200 * MIB, 100 * MIB, 336 * MIB),  # what is free, less what the grader may need
        (732 * MIB, 700 * MIB, 0, 256 * MIB),
        (64 << 30, 1 << 30, 0, 2 << 30),
        ("max", 1 << 30, 0, 2 << 30),  # version 2 without a limit
    ],
)
def test_a_small_container_leaves_a_test_what_is_free(
    tmp_path, names, limit, anonymous, shared, expected
):
    first, stat, *words = names
    (tmp_path / "memory").mkdir()
    (tmp_path / first).write_text(f"{limit}\n", encoding="ascii")
    # The page cache may fill the container, since the kernel reclaims it.
    text = f"active_file 700000000\n{words[0]} {anonymous}\n{words[1]} {shared}\nslab 9\n"
    (tmp_path / stat).write_text(text, encoding="ascii")
    assert sandbox.memory_of_a_test(tmp_path) == expected
    assert sandbox.memory_of_a_test(tmp_path / "no cgroups") == 2 << 30
