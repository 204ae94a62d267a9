"""Nothing broken makes the grader lie: uploads, disks, its own bugs, kills at any moment.

Each case runs the command itself on a copy of the repository. In every case, the exit code says
what happened, the results file is valid and complete or absent, and no process or scratch is left.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import time
import zipfile
from pathlib import Path

import pytest

from autograder.isolation import leftovers

from .arena import slowness
from .conftest import ASKED, FILE, RIGHT, command, whole

# Uploads ------------------------------------------------------------------------------------


def zipped(change=bytes, method=zipfile.ZIP_DEFLATED):
    """A fault: the submission is a zip, whose bytes are changed."""

    def make(upload: Path) -> Path:
        archive = upload.parent / "upload.zip"
        with zipfile.ZipFile(archive, "w", method) as writer:
            writer.writestr(FILE, RIGHT)
        archive.write_bytes(change(archive.read_bytes()))
        return archive

    return make


def source(text: bytes):
    """A fault: the file has these bytes."""
    return lambda upload: (upload / FILE).write_bytes(text)


def encrypted(data: bytes) -> bytes:
    """Set bit 0 of the flags in the local and in the central header."""
    flags = b"(PK\3\4..|PK\1\2....)."
    return re.sub(flags, lambda found: found[1] + b"\1", data, flags=re.DOTALL)


def spoilt(data: bytes) -> bytes:
    """Change bytes in the middle of a compressed file."""
    return data[:100] + b"\xff\xff\xff\xff" + data[104:]


def deep(upload: Path) -> None:
    """Folders deeper than a path can be long."""
    here = os.open(upload / "submission", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deeper", dir_fd=here)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


# tests/harness/ has more archives, layouts and links, and test_fuzz_uploads.py any of them.
UPLOADS = {
    # name: (fault, which may return another path to grade; exit code; words of the output)
    "a zip with spoilt data": (zipped(spoilt), 2, "zip"),
    "an encrypted zip": (zipped(encrypted), 2, "zip"),
    "a zip packed by bzip2": (zipped(method=zipfile.ZIP_BZIP2), 2, "unusual compr"),
    "old Mac line ends": (source(RIGHT.replace(b"\n", b"\r")), 0, ""),
    "a byte-order mark": (source(b"\xef\xbb\xbf" + RIGHT), 0, ""),
    "a declared encoding": (source("# coding: latin-1\n# é\n".encode("latin-1") + RIGHT), 0, ""),
    "null bytes": (source(RIGHT + b"\0\0"), 1, "null bytes"),
    "brackets without end": (source(b"x = " + b"(" * 5000), 1, "syntax error"),
    "an endless expression": (source(b"x = " + b"-" * 100_000 + b"1"), 1, ""),
    "names that are no text": (
        lambda u: Path(os.fsdecode(bytes(u) + b"/submission/\xff\xfe\n\x1b.py")).touch(),
        0,
        "",
    ),
    "folders too deep": (deep, 0, "left out"),
}


@pytest.mark.parametrize("name", UPLOADS)
@pytest.mark.sampled(4)
def test_a_broken_upload_is_named_and_a_harmless_one_costs_nothing(
    name, tree, upload, grade, tmp_path
):
    fault, code, words = UPLOADS[name]
    made, results = fault(upload), tmp_path / "results.json"
    ran = grade(made if isinstance(made, Path) else upload, ASKED, "--json", results)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert words in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr and len(ran.stderr) < 2000
    assert "\x1b" not in ran.stdout
    assert results.exists() is (code < 2)
    if code < 2:
        whole(results, tree)
    if name == "folders too deep":  # pytest's own cleanup can't
        leftovers.remove_tree(upload / "submission" / "deeper")


# Around the grader ----------------------------------------------------------------------------


AROUND = {
    "no standard input": lambda: os.close(0),
    "a narrow umask": lambda: os.umask(0o777 if os.getuid() == 0 else 0o077),
}


@pytest.mark.parametrize("name", AROUND)
def test_what_the_shell_lacks_or_limits_does_no_harm(name, upload, grade):
    ran = grade(upload, preexec_fn=AROUND[name])
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.requires_root
@pytest.mark.parametrize("full", ["results", "temporary"])
def test_a_full_disk_ends_the_run_and_leaves_whole_results(full, tree, upload, grade, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        disk.chmod(0o755)
        results = (disk if full == "results" else tmp_path) / "results.json"
        assert grade(upload, ASKED, "--json", results).returncode == 0
        filler = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
        with pytest.raises(OSError):
            while os.write(filler, bytes(4096)):
                pass
        os.close(filler)
        more = {"tmpdir": disk} if full == "temporary" else {}
        ran = grade(upload, ASKED, "--json", results, **more)
        # Python looks for another temporary folder; the results have one place only.
        expected = (2,) if full == "results" else (0, 3)
        assert ran.returncode in expected, ran.stdout + ran.stderr
        assert whole(results, tree)["tests"]  # the earlier run's
        assert {p.name for p in disk.iterdir()} <= {"filler", "results.json"}
    finally:
        subprocess.run(["umount", disk], check=True)


# The grader's own bugs ----------------------------------------------------------------------------

STAGES = [  # file, and the function of ours that crashes there
    ("src/grading/staging.py", "find_package"),
    ("autograder/judging.py", "load_hidden"),
    ("src/questions/provided.py", "CourseData.__init__"),
    ("autograder/authoritative.py", "open_pool"),
    ("src/grading/worker.py", "preload"),
    ("autograder/isolation/guardian.py", "watch"),
    ("autograder/isolation/sandbox.py", "take"),
    ("src/grading/wire.py", "_load_arrays"),
    ("src/grading/verdicts.py", "of_ending"),
    ("src/questions/attention_exploration/tests.py", "AttentionCase.expect_weights"),
    ("src/grading/verdicts.py", "write_atomically"),
    ("src/grading/verdicts.py", "Results.as_dict"),
    ("autograder/console.py", "show_result"),
]


@pytest.mark.parametrize(("file", "function"), STAGES)
@pytest.mark.sampled(4)
def test_a_crash_of_our_own_is_a_grader_error(file, function, tree, upload, grade, tmp_path):
    results, text = tmp_path / "results.json", (tree / file).read_bytes()
    try:
        (tree / file).write_bytes(text + f"{function} = lambda *_, **__: 1 / 0\n".encode())
        ran = grade(upload, ASKED, "--json", results)
    finally:
        (tree / file).write_bytes(text)
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "ZeroDivisionError" in ran.stdout + ran.stderr  # staff find it
    if results.exists():
        assert whole(results, tree)["score"] == 0
    assert [p.name for p in tmp_path.glob("results.json?*")] == []


# Kills --------------------------------------------------------------------------------------------

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
