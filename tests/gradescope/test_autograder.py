"""The release, graded through an emulated Gradescope: the zip, uploads of all kinds, metadata.

One build (`make release`) serves all tests. The limits are Gradescope's except for the CPU, to save
time; in `make emulate` and `make autograder`, it is half a CPU.
"""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from autograder.description import load_assignment
from grading import staging
from grading.verdicts import Outcome
from tests.interpreter import python
from tests.project import append, make, write_files
from tools import archive, autograder, container, emulate, leaks
from tools.arguments import Failed

LIMITS = container.Limits(cpus=2.0)
EDITION = "xcs224n"
SECRET_LINE = next(s.text for s in leaks.secrets_of() if len(s.text) > 40)


@pytest.fixture(scope="session")
def release(tree, released) -> Path:
    return tree / "dist" / f"autograder-{EDITION}.zip"


@pytest.fixture
def upload(tree, reference, tmp_path) -> Path:
    """The reference's hand-in as a folder, to be changed."""
    files = autograder.hand_in(tree, EDITION, tree / "build" / "reference")
    return write_files(tmp_path / "upload", files)


@pytest.fixture(scope="session")
def graded(tree, release) -> emulate.Result:
    """The reference's hand-in, graded once."""
    path = tree / "dist" / f"test-{EDITION}-reference-expect-53.zip"
    return emulate.grade(release, path, limits=LIMITS)


def outcomes(seen: emulate.Result) -> dict[str, str]:
    assert seen.results is not None, seen.stdout
    entries = (entry["extra_data"]["outcomes"] for entry in seen.results["tests"])
    return {test_id: outcome for entry in entries for test_id, outcome in entry.items()}


def test_the_zip_holds_what_gradescope_wants_and_hashes_of_everything(tree, release):
    with zipfile.ZipFile(release) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
        modes = {i.filename: stat.S_IMODE(i.external_attr >> 16) for i in opened.infolist()}
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    assert f"--edition {EDITION}".encode() in files["run_autograder"]
    python_version = load_assignment(tree).gradescope_python
    assert f"\nversion={python_version} ".encode() in files["setup.sh"]
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest == {name: hashlib.sha256(text).hexdigest() for name, text in files.items()}
    assert {"solutions/hidden/training.py", "solutions/data/birth_test.tsv"} <= files.keys()
    assert not [name for name in files if name.startswith(("classroom/", "tools/", "tests/"))]
    for script in ("setup.sh", "run_autograder"):
        assert not re.search(b"@[A-Z]+@", files[script]) and b"\r" not in files[script]


UNPROVEN = [
    # (test, change of its entry or of the result, words)
    ("1c-1-basic", {"score": 0.5}, "the reference earns .* through the zip, expected 53"),
    (
        "1c-1-basic",
        {"output": "wiki and\n" + SECRET_LINE},
        "the reference's result, which students see, leaks",
    ),
    (
        "3e-1-basic",
        {"extra_data": {"outcomes": {"3e-0-basic": "error"}}},
        "does not pass every test through the zip: 3e-0-basic: error, 3e-1-basic: no result",
    ),
]


@pytest.mark.parametrize(
    ("test_id", "change", "words"), UNPROVEN, ids=["earns less", "leaks", "fails without points"]
)
@pytest.mark.sampled(3)
def test_what_does_not_prove_itself_leaves_no_zip(
    tree, graded, tmp_path, monkeypatch, test_id, change, words
):
    results = json.loads(json.dumps(graded.results))
    (entry,) = (e for e in results["tests"] if test_id in e["extra_data"]["outcomes"])
    (results if "score" in change else entry).update(change)
    poor = dataclasses.replace(graded, results=results)
    nothing = dataclasses.replace(graded, results={**graded.results, "score": 0, "tests": []})
    # Both are graded at once, and the starter must not be what stops the build:
    graded_as = {"reference": poor, "starter": nothing}
    monkeypatch.setattr(emulate, "grade", lambda _, path, **__: graded_as[path.stem])
    with pytest.raises(Failed, match=words):
        autograder.build(tree, EDITION, tree / "build" / "reference", tmp_path / "dist")
    assert not list((tmp_path / "dist").iterdir())


def test_the_command_shows_what_each_of_them_sees_and_keeps_it(tree, release):
    submission = tree / "dist" / f"test-{EDITION}-starter-expect-0.zip"
    folder = tree / "build" / "emulated" / submission.stem
    (folder / "old").mkdir(parents=True)  # of an earlier call
    ran = make(tree, "emulate", f"SUBMISSION={submission}", "METADATA=tenth")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    student = ran.stdout.partition("what the student sees")[2].partition("the run ====")[0]
    assert "Autograder score: 0\n" in student and "not written yet" in student
    assert " 9 times " in student and " 8 points" in student
    assert "for staff" not in student and "seed" not in student
    names = ["report.html", "results.json", "staff.html", "stdout"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert f"Saved in build/emulated/{submission.stem}/: {', '.join(names)}" in ran.stdout
    kept = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    digest = json.loads(kept["results.json"])["extra_data"]["digest"]
    for page in ("report.html", "staff.html"):
        assert "submission 123456" in kept[page] and digest in kept[page]
    assert "not for students" in kept["staff.html"] and "For staff:" not in kept["report.html"]
    assert kept["stdout"] in ran.stdout


def test_the_result_holds_what_a_regrade_needs(tree, graded, upload):
    extra = graded.results["extra_data"]
    assert extra["authoritative"] is graded.isolated
    if graded.isolated:
        assert any("uid" in layer for layer in extra["layers"])
        assert 100e6 < graded.run.peak_bytes <= 700e6
    assert emulate.score_of(graded.results) == 53
    recorded = upload.parent / "results.json"
    options = ("--replay", str(recorded), "--submission", str(upload))
    recorded.write_text(json.dumps(graded.results), encoding="utf-8")
    ran = python(tree, "src/grader.py", *options, "3b", "1f-4-hidden")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.count("Replay: ") == 1  # no test ended in another way, no file differs
    # Staff can copy the standard output from the page; it contains the same.
    recorded.write_text(graded.stdout, encoding="utf-8")
    (upload / "submission" / "more.py").touch()
    ran = python(tree, "src/grader.py", *options, "3b-0-basic")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Replay: the submission's files differ" in ran.stdout


READS = """
for name in ("source/solutions/hidden/training.py", "source/solutions/data/birth_test.tsv",
             "source/solutions/data/grading_secret", "results/results.json",
             "submission_metadata.json", "submission/vanilla.finetune.params"):
    for mode in ("rb", "ab"):
        try:
            open("/autograder/" + name, mode)
        except OSError:
            continue
        raise SystemExit("opened " + name)
"""


def test_what_is_hostile_costs_its_own_tests_only(release, upload):
    package = upload / "submission"
    for name, text in (("attention_exploration", READS), ("dataset", "x = bytearray(3 << 30)\n")):
        append(package / f"{name}.py", text)
    (package / "attention.py").unlink()  # so that this takes half of the time
    seen = emulate.grade(release, upload, "missing", limits=LIMITS)  # metadata cost nothing
    ends = outcomes(seen)
    assert (ends["3a-0-basic"], ends["3b-1-hidden"]) == ("passed", "passed")
    assert ends["1e-2-basic"] == "out of memory"
    for test_id in ("1d-0-basic", "1d-5-hidden", "1f-4-hidden", "1g-13-hidden"):  # of files
        assert ends[test_id] == "passed", test_id
    assert "grader error" not in ends.values()
    assert "Traceback" not in "".join(t["output"] for t in seen.results["tests"])
    assert "metadata: submission_metadata.json" in seen.stdout


def test_a_submission_is_unpacked_within_the_graders_rules(tmp_path):
    files = {"setup.sh": b"", "run_autograder": b"#!/bin/sh\nls -AR submission\n"}
    archive.write(tmp_path / "autograder.zip", files)
    files = {"a5/submission/dataset.py": b"x = 1\n", "a5/.venv/lib/large.py": b"x = 1\n" * 1000}
    archive.write(tmp_path / "upload.zip", files)
    shutil.unpack_archive(tmp_path / "upload.zip", tmp_path / "folder")
    for name in ("upload.zip", "folder"):
        seen = emulate.grade(tmp_path / "autograder.zip", tmp_path / name, limits=LIMITS)
        assert "dataset.py" in seen.stdout and "large.py" not in seen.stdout
    with zipfile.ZipFile(tmp_path / "upload.zip", "a") as writer:
        link = zipfile.ZipInfo("a5/submission/secret.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        writer.writestr(link, "/etc/passwd")
    for name, content in (("bomb", bytes(staging.MAX_OUTPUT_BYTES + 1)), ("method", b"x = 1")):
        archive.write(tmp_path / f"{name}.zip", {"submission/dataset.py": content})
    usual = b"\x14\0\0\0\x08\0"  # version, flags, and method
    written = (tmp_path / "method.zip").read_bytes()
    (tmp_path / "method.zip").write_bytes(written.replace(usual, b"\x14\0\0\0\x55\0"))
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "folder/a5/submission/pipe.py")
    for name, words in {
        "upload.zip": "a5/submission/secret.py is a link",
        "method.zip": "unusual compression",
        "bomb.zip": "dataset.py is too large",
        "pipe": "neither a folder nor a zip",
        "folder": "can't be read: not a regular file",
    }.items():
        with pytest.raises(Failed, match=words):
            emulate.grade(tmp_path / "autograder.zip", tmp_path / name, limits=LIMITS)


def test_an_upload_without_code_gets_zero_and_the_reason(release, tmp_path):
    (tmp_path / "upload").mkdir()
    (tmp_path / "upload" / "essay.pdf").write_bytes(b"%PDF")
    seen = emulate.grade(release, tmp_path / "upload", limits=LIMITS)
    assert seen.run.code == 0 and emulate.score_of(seen.results) == 0
    shown = emulate.readable(seen.results["output"])
    assert "your upload: " in shown and "essay.pdf" in shown
    assert "/autograder" not in shown


def test_where_no_container_can_be_made_a_folder_serves(tree, release, monkeypatch, capsys):
    # For an ordinary user, or on a Mac: no limits and no authority, and the output says so.
    monkeypatch.setattr(container, "is_possible", lambda: False)
    monkeypatch.setattr(container, "engine", lambda: None)
    starter = tree / "dist" / f"test-{EDITION}-starter-expect-0.zip"
    seen = emulate.grade(release, starter)
    assert emulate.score_of(seen.results) == 0 and seen.run.code == 0
    assert seen.results["extra_data"]["authoritative"] is False
    assert not seen.isolated and not seen.run.limited
    assert "of 0.5 CPUs, estimated from CPU time" in seen.run.costs()
    assert seen.run.peak_bytes > 50e6 or not Path("/proc/self/smaps_rollup").exists()
    emulate.show(seen)
    assert "a plain folder, without limits" in capsys.readouterr().out


OURS = {
    "solutions/data/grading_secret": None,
    "solutions/hidden/training.py": b"raise RuntimeError('ours')\n",
    "src/edition.json": b"{}",
    "autograder/gradescope/results.schema.json": b'{"required": ["more"]}',
}


@pytest.mark.parametrize("name", OURS)
@pytest.mark.sampled(4)
def test_a_fault_of_ours_leaves_no_result(release, upload, tmp_path, name):
    with zipfile.ZipFile(release) as opened:
        files = {file: opened.read(file) for file in opened.namelist()} | {name: OURS[name]}
    kept = {file: content for file, content in files.items() if content is not None}
    archive.write(tmp_path / "broken.zip", kept, autograder.SCRIPTS)
    seen = emulate.grade(tmp_path / "broken.zip", upload, limits=LIMITS)
    assert seen.results is None, seen.stdout
    assert seen.run.code not in (0, 1)


@pytest.mark.long
def test_a_grader_that_is_too_slow_gets_gradescopes_own_zero(release, upload):
    limits = dataclasses.replace(LIMITS, timeout_s=3.0)
    seen = emulate.grade(release, upload, limits=limits)
    assert seen.results == emulate.TIMED_OUT and emulate.score_of(seen.results) == 0


def test_staff_read_the_first_grader_error_whole_and_of_the_output_the_end():
    lines = [f"line {number}" for number in range(500)]
    ours = {"outcome": Outcome.GRADER_ERROR.value, "message": "ours", "detail": "Traceback:\n  it"}
    details = [{"outcome": "passed"}, *(ours | {"test_id": test} for test in ("1c", "1d"))]
    failed = emulate.Result(None, details, "\n".join(lines), None, isolated=True)
    shown = ["1c: ours", "Traceback:", "  it", "[...]", *lines[-emulate.LAST_LINES :]]
    assert failed.reasons().splitlines() == shown
    # Where no test ended, the whole output explains it.
    assert dataclasses.replace(failed, details=[]).reasons().splitlines() == lines
