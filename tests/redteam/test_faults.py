"""Nothing broken makes the grader lie: uploads, disks, its own bugs.

    make redteam                 all
    python -m pytest tests/redteam/test_faults.py

Each case runs the command itself on a copy of the repository. In every case, the exit code says
what happened, the results file is valid and complete or absent, and no process or scratch is left.
"""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

import grading
from autograder.isolation import leftovers

from .conftest import ASKED, FILE, RIGHT, whole

ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


# Uploads ------------------------------------------------------------------------------------


def zipped(upload: Path, name: str = FILE, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """The submission as a zip."""
    archive = upload.parent / "upload.zip"
    with zipfile.ZipFile(archive, "w", method) as writer:
        writer.writestr(name, RIGHT)
    return archive


def zip_changed(change):
    """A fault: the zip's bytes are changed."""

    def make(upload: Path) -> Path:
        archive = zipped(upload)
        archive.write_bytes(change(archive.read_bytes()))
        return archive

    return make


def changed(act):
    """A fault: something is done to the upload's folder."""

    def make(upload: Path) -> Path:
        act(upload)
        return upload

    return make


def source(text: bytes):
    """A fault: the file has these bytes."""
    return changed(lambda upload: (upload / FILE).write_bytes(text))


def beside(make_something):
    """A fault: the code's folder has something else in it."""
    return changed(lambda upload: make_something(upload / "submission"))


def replaced_by(make_something):
    """A fault: the file is replaced by something else."""
    return changed(lambda upload: ((upload / FILE).unlink(), make_something(upload / FILE)))


def encrypted(data: bytes) -> bytes:
    """Set bit 0 of the flags in the local and in the central header."""
    changed = bytearray(data)
    for magic, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        changed[data.index(magic) + offset] |= 1
    return bytes(changed)


def spoilt(data: bytes) -> bytes:
    """Change bytes in the middle of a compressed file."""
    at = data.find(b"attention_exploration.py") + 60
    return data[:at] + b"\xff\xff\xff\xff" + data[at + 4 :]


def deep(folder: Path) -> None:
    """Folders deeper than a path can be long."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deeper", dir_fd=here)
        inner = os.open("deeper", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


# tests/harness/ has more archives, layouts and links, and test_fuzz_uploads.py any of them.
UPLOADS = {
    # name: (fault, exit code, words of the output)
    "no file": (lambda u: u / "nowhere", 2, "no such file"),
    "a file that is no zip": (lambda u: u / FILE, 2, "not a readable zip"),
    "a zip cut off": (zip_changed(lambda data: data[: len(data) // 2]), 2, "not a readable zip"),
    "a zip with spoilt data": (zip_changed(spoilt), 2, "zip"),
    "an encrypted zip": (zip_changed(encrypted), 2, "zip"),
    "an empty zip": (zip_changed(lambda data: b"PK\5\6" + bytes(18)), 2, "no folder"),
    "a zip packed by bzip2": (lambda u: zipped(u, FILE, zipfile.ZIP_BZIP2), 2, "unusual compr"),
    "a zip with absolute names": (lambda u: zipped(u, f"/etc/{FILE}"), 0, ""),
    "a source of another name": (
        lambda u: (u / FILE).rename(u / FILE.replace(".py", " (1).py")) and u,
        1,
        "rename it to `attention_exploration.py`",
    ),
    "an empty source": (source(b""), 1, "copying_query"),
    "Windows line ends": (source(RIGHT.replace(b"\n", b"\r\n")), 0, ""),
    "old Mac line ends": (source(RIGHT.replace(b"\n", b"\r")), 0, ""),
    "a byte-order mark": (source(b"\xef\xbb\xbf" + RIGHT), 0, ""),
    "UTF-16": (source(RIGHT.decode().encode("utf-16")), 1, "UTF-16"),
    "a declared encoding": (source("# coding: latin-1\n# é\n".encode("latin-1") + RIGHT), 0, ""),
    "an unknown encoding": (source(b"# coding: klingon\n" + RIGHT), 1, "syntax error"),
    "null bytes": (source(RIGHT + b"\0\0"), 1, "null bytes"),
    "brackets without end": (source(b"x = " + b"(" * 5000), 1, "syntax error"),
    "deep brackets": (source(b"x = " + b"[" * 190 + b"]" * 190 + b"\n" + RIGHT), 0, ""),
    "an endless expression": (source(b"x = " + b"-" * 100_000 + b"1"), 1, ""),
    "a line of a megabyte": (source(RIGHT + b"#" + b"x" * (1 << 20)), 0, ""),
    "a source too large": (source(RIGHT + b"#" * (5 << 20)), 1, "missing"),
    "a folder in its place": (replaced_by(Path.mkdir), 1, "missing"),
    "a pipe in its place": (replaced_by(os.mkfifo), 1, "missing"),
    "a link to the answers": (
        replaced_by(lambda p: p.symlink_to(grading.SOLUTIONS / FILE)),
        2,
        "attention_exploration.py is a link",
    ),
    "names that are no text": (
        beside(lambda f: Path(os.fsdecode(bytes(f) + b"/\xff\xfe\n\x1b.py")).touch()),
        0,
        "",
    ),
    "folders too deep": (beside(deep), 0, "left out"),
    "thousands of files": (
        beside(lambda f: [(f / f"m{number}.txt").touch() for number in range(4000)]),
        2,
        "too many",
    ),
    "a device": (lambda u: Path("/dev/zero"), 2, ""),
    "links in a circle": (lambda u: (u / "l").symlink_to("l") or u / "l", 2, ""),
    "a name too long": (lambda u: u / ("x" * 5000), 2, ""),
}


@pytest.mark.parametrize("name", UPLOADS)
@pytest.mark.sampled(6)
def test_a_broken_upload_is_named_and_a_harmless_one_costs_nothing(
    name, tree, upload, grade, tmp_path
):
    fault, code, words = UPLOADS[name]
    target = fault(upload)
    results = tmp_path / "results.json"
    ran = grade(target, ASKED, "--json", results)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert words in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(ran.stderr) < 2000
    assert ("\x1b" in ran.stdout) is False
    assert results.exists() is (code < 2)
    if code < 2:
        whole(results, tree)
    for path in (upload / "submission").glob("deeper"):
        leftovers.remove_tree(path)  # pytest's own cleanup can't


# Around the grader ----------------------------------------------------------------------------


@pytest.mark.parametrize("broken", ["stdin", "stdout"])
def test_closed_streams_do_no_harm(broken, tree, upload, grade, tmp_path):
    closed = {"stdin": 0, "stdout": 1}[broken]
    results = tmp_path / "results.json"
    arguments = dict(capture_output=False, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    ran = grade(upload, ASKED, "--json", results, preexec_fn=lambda: os.close(closed), **arguments)
    assert ran.returncode in (0, 3)
    if ran.returncode == 0:
        assert whole(results, tree)["tests"]


@pytest.mark.parametrize("limit", [("NOFILE", 64), ("FSIZE", 1 << 20), ("STACK", 1 << 20)])
def test_tight_limits_of_the_shell_do_no_harm(limit, upload, grade):
    import resource

    kind = getattr(resource, f"RLIMIT_{limit[0]}")
    ran = grade(upload, preexec_fn=lambda: resource.setrlimit(kind, (limit[1], limit[1])))
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_narrow_umask_does_no_harm(upload, grade):
    ran = grade(upload, preexec_fn=lambda: os.umask(0o777 if os.getuid() == 0 else 0o077))
    assert ran.returncode == 0, ran.stdout + ran.stderr


@ROOT_ONLY
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
    ("src/grading/staging.py", "copy"),
    ("autograder/judging.py", "load_hidden"),
    ("src/questions/provided.py", "CourseData.__init__"),
    ("autograder/authoritative.py", "open_pool"),
    ("src/grading/worker.py", "preload"),
    ("autograder/isolation/guardian.py", "become_subreaper"),
    ("autograder/isolation/guardian.py", "watch"),
    ("autograder/isolation/zygote.py", "_clean_up"),
    ("autograder/isolation/sandbox.py", "limit"),
    ("autograder/isolation/sandbox.py", "for_worker"),
    ("autograder/isolation/sandbox.py", "take"),
    ("src/grading/wire.py", "encode"),
    ("src/grading/wire.py", "_load_arrays"),
    ("src/grading/wire.py", "check"),
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
