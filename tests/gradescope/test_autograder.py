"""The release, graded through an emulated Gradescope: the zip, uploads of all kinds, metadata.

One build (`make release`) serves all tests. The limits are Gradescope's except for the CPU, to save
time; in `make emulate` and `make autograder`, it is half a CPU.
"""

import dataclasses
import hashlib
import io
import json
import os
import re
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from autograder import console
from autograder.description import load_assignment
from grading import staging
from grading.verdicts import Outcome
from tests.interpreter import python
from tests.project import ROOT, make
from tools import archive, autograder, container, emulate, leaks
from tools.arguments import Failed

from .test_document import ASSIGNMENT, results_of

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
    target = tmp_path / "upload"
    for name, content in files.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)
    return target


@pytest.fixture(scope="session")
def graded(tree, release) -> emulate.Result:
    """The reference's hand-in, graded once."""
    path = tree / "dist" / f"test-{EDITION}-reference-expect-53.zip"
    return emulate.grade(release, path, limits=LIMITS)


def outcomes(seen: emulate.Result) -> dict[str, str]:
    assert seen.results is not None, seen.stdout
    entries = (entry["extra_data"]["outcomes"] for entry in seen.results["tests"])
    return {test_id: outcome for entry in entries for test_id, outcome in entry.items()}


# ---------------------------------------------------------------- the build


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


def test_the_same_inputs_give_the_same_bytes(tree, release, tmp_path):
    before = release.read_bytes()
    for path in sorted((tree / "src" / "grading").glob("*.py"))[:3]:
        os.utime(path, (1e9, 1e9))
    again = tmp_path / "again.zip"
    archive.write(again, autograder.contents(tree, EDITION), autograder.SCRIPTS)
    assert again.read_bytes() == before


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


# ---------------------------------------------------------------- submissions


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
        with open(package / f"{name}.py", "a", encoding="utf-8") as writer:
            writer.write(text)
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
    with zipfile.ZipFile(tmp_path / "autograder.zip", "w") as writer:
        writer.writestr("setup.sh", "")
        writer.writestr("run_autograder", "#!/bin/sh\nls -AR submission\n")
    with zipfile.ZipFile(tmp_path / "upload.zip", "w") as writer:
        writer.writestr("a5/submission/dataset.py", "x = 1\n")
        writer.writestr("a5/.venv/lib/large.py", "x = 1\n" * 1000)
    shutil.unpack_archive(tmp_path / "upload.zip", tmp_path / "folder")
    for name in ("upload.zip", "folder"):
        seen = emulate.grade(tmp_path / "autograder.zip", tmp_path / name, limits=LIMITS)
        assert "dataset.py" in seen.stdout and "large.py" not in seen.stdout
    with zipfile.ZipFile(tmp_path / "upload.zip", "a") as writer:
        link = zipfile.ZipInfo("a5/submission/secret.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        writer.writestr(link, "/etc/passwd")
    with pytest.raises(Failed, match="a5/submission/secret.py is a link"):
        emulate.grade(tmp_path / "autograder.zip", tmp_path / "upload.zip", limits=LIMITS)


VERSION = b"\x14\0"  # and flags, and the method, of the one file in a zip
HOSTILE = {
    "encrypted": ((b"x = 1", VERSION + b"\1\0\x08\0"), "encrypted"),
    "of an unknown method": ((b"x = 1", VERSION + b"\0\0\x55\0"), "unusual compression"),
    "a bomb": ((bytes(staging.MAX_OUTPUT_BYTES + 1),), "dataset.py is too large"),
    "a pipe": ((), "neither a folder nor a zip"),
    "a folder with a pipe": ((), "can't be read: not a regular file"),
}


def zipped(content: bytes, header: bytes = b"") -> bytes:
    """Return a zip with one file, in whose headers some bytes may be replaced."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as writer:
        writer.writestr("submission/dataset.py", content)
    usual = VERSION + b"\0\0\x08\0"
    return buffer.getvalue().replace(usual, header or usual)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_upload_ends_the_command_in_one_line(name, tmp_path, monkeypatch, capsys):
    content, words = HOSTILE[name]
    upload = tmp_path / "upload.zip"
    if content:
        upload.write_bytes(zipped(*content))
    elif "folder" in name:
        upload.mkdir()
        os.mkfifo(upload / "dataset.py")
    else:
        os.mkfifo(upload)
    (tmp_path / "dist").mkdir()
    with zipfile.ZipFile(tmp_path / "dist" / f"autograder-{EDITION}.zip", "w") as writer:
        writer.writestr("setup.sh", "")
        writer.writestr("run_autograder", "")
    shutil.copy(ROOT / "assignment.toml", tmp_path)
    monkeypatch.setattr(emulate, "REPO", tmp_path)
    assert emulate.main([str(upload), f"--edition={EDITION}"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("error: ") and words in captured.err


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


# ---------------------------------------------------------------- failures of the grader


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


# ---------------------------------------------------------------- what staff read of a failure

RUN = container.Run(3, 1.0, 1.0, peak_bytes=0, limits=container.GRADESCOPE, limited=True)
TRACEBACK = "Traceback:\n" + "\n".join(f"  frame {i}" for i in range(90)) + "\nOSError: first cause"


def failed_run(capsys, *details: str) -> emulate.Result:
    """A run in which a test passed, and others ended as grader errors with these details."""
    passed, *others = results_of(ASSIGNMENT.edition(None)).tests
    ours = {"outcome": Outcome.GRADER_ERROR, "message": "ours"}
    broken = zip(others, details, strict=False)
    tests = [passed, *(dataclasses.replace(test, detail=text, **ours) for test, text in broken)]
    print("Taken: 1 files\n")
    for test in tests:
        console.show_result(test)
    print("\nTHE GRADER FAILED in at least one test")
    shown = [test.as_dict(staff=True) for test in tests]
    return emulate.Result(None, shown, capsys.readouterr().out, RUN, isolated=True)


def test_the_first_grader_error_is_shown_from_its_first_to_its_last_line(capsys):
    later = [TRACEBACK.replace("first", "later")] * 9
    shown = failed_run(capsys, TRACEBACK, *later).reasons()
    assert all(f"frame {i}\n" in shown for i in range(90))
    assert shown.index("OSError: first cause") < shown.index("[...]")
    assert shown.count("first cause") == 1
    assert shown.endswith("THE GRADER FAILED in at least one test")
    assert len(shown.splitlines()) < 200  # of later ones, what the end holds


def test_a_run_that_failed_is_shown_whole_and_of_a_long_one_the_end(capsys):
    ran = failed_run(capsys)
    why = "grader.py: the grader failed: the canary did not return\n" + "a line of its\n" * 90
    failed = dataclasses.replace(ran, details=[], stdout="a line\n" * 50 + why)
    assert failed.reasons() == failed.stdout.rstrip("\n")
    long = dataclasses.replace(ran, stdout="a line\n" * 500)
    assert long.reasons().splitlines() == ["a line"] * emulate.LAST_LINES
