"""A class's folder is private, is changed by one command at a time, and survives kills."""

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from grading.errors import UsageError
from tests.project import ROOT
from tools.classroom.folder import ClassFolder, write_json
from tools.classroom.submissions import RollEntry, Student

ENTRY = RollEntry(
    "submission_1",
    (
        Student("a@x", 'Ada \u202e "B" \udc80\n', "007", "A@x"),
        Student("submission_1:2", ""),
    ),
    datetime(2026, 11, 2, 9, 0, 0, 365935, timezone(timedelta(hours=-8))),
    True,
    3,
    20.5,
)
OTHER = RollEntry("submission_2", (Student("b@x", "Bob"),))


@pytest.fixture
def folder(tmp_path) -> ClassFolder:
    return ClassFolder.create(tmp_path / "class")


def modes(folder):
    return {oct(path.lstat().st_mode & 0o777) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("exists", [False, True])
def test_all_is_for_its_owner_alone(tmp_path, exists):
    path = tmp_path / "outer" / "class"
    before = os.umask(0)
    try:
        if exists:
            path.mkdir(parents=True)
        folder = ClassFolder.create(path)
        with folder.locked():
            folder.enroll([ENTRY])
            folder.write_record("submission_1", "2026-a1b2c3", {"score": 1})
    finally:
        os.umask(before)
    assert modes(path) == {"0o600"}
    folders = [path, *(inner for inner in path.rglob("*") if inner.is_dir())]
    assert {oct(inner.stat().st_mode & 0o777) for inner in folders} == {"0o700"}
    assert len(folders) == 3 and folder.tightened == 0


def test_what_others_could_read_is_taken_from_them(folder):
    with folder.locked():
        folder.enroll([ENTRY])
    (folder.path / "roll.json").chmod(0o644)
    folder.path.chmod(0o755)
    assert ClassFolder.existing(folder.path).tightened == 2
    assert modes(folder.path) == {"0o600"} and folder.path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "tests", "new_class", "new/class"])
def test_a_folder_in_the_repository_is_refused(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    for path in (ROOT / name, Path(name)):
        with pytest.raises(UsageError, match="is inside the repository"):
            ClassFolder.create(path)
        with pytest.raises(UsageError, match="is inside the repository"):
            ClassFolder.existing(path)
    assert not (ROOT / "new").exists() and not (ROOT / "new_class").exists()


def test_a_folder_in_another_copy_or_behind_a_link_is_refused(tmp_path):
    (tmp_path / "copy" / "tools").mkdir(parents=True)
    (tmp_path / "copy" / "assignment.toml").touch()
    (tmp_path / "link").symlink_to(tmp_path / "copy" / "tools")
    for path in (tmp_path / "copy" / "class", tmp_path / "link" / "class"):
        with pytest.raises(UsageError, match="is inside the repository"):
            ClassFolder.create(path)
        assert not path.exists()


def test_only_folders_of_ours_are_taken(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="contains something else"):
        ClassFolder.create(tmp_path)
    with pytest.raises(UsageError, match="is not a class's folder"):
        ClassFolder.existing(tmp_path)
    with pytest.raises(UsageError, match="is not a class's folder"):
        ClassFolder.existing(tmp_path / "missing")
    with pytest.raises(UsageError, match="can't be a class's folder"):
        ClassFolder.create(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_another_format_is_refused(folder):
    write_json(folder.path / "classroom.json", {"format": 2})
    with pytest.raises(UsageError, match="has format 2, expected 1"):
        ClassFolder.existing(folder.path)


def test_the_roll_is_what_was_written(folder):
    with folder.locked():
        folder.enroll([ENTRY])
        folder.enroll([OTHER])
    assert folder.roll() == {"submission_1": ENTRY, "submission_2": OTHER}
    with folder.locked():
        folder.enroll([RollEntry("submission_2", ENTRY.students)])
    assert folder.roll()["submission_2"].students == ENTRY.students


@pytest.mark.parametrize("text", ["{", "[]", '{"submissions": {"a": {}}}', '{"submissions": []}'])
def test_a_broken_roll_is_refused_in_one_line(folder, text):
    (folder.path / "roll.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        folder.roll()
    assert "roll.json" in str(caught.value) and "\n" not in str(caught.value)


def test_records_are_kept_by_submission_and_release(folder):
    with folder.locked():
        for release in ("one", "two"):
            folder.write_record("submission_2", release, {"release": release})
        folder.write_record("submission_1", "two", {"score": 1})
        folder.write_record("submission_1", "two", {"score": 2})
    assert folder.read_record("submission_1", "two") == {"score": 2}
    assert folder.read_record("submission_1", "one") is None
    found = [(record.submission_id, record.release) for record in folder.records()]
    assert found == [("submission_1", "two"), ("submission_2", "one"), ("submission_2", "two")]
    assert len(folder.records("one")) == 1
    assert folder.remove("submission_2") == 2 and len(folder.records()) == 1


def test_a_record_is_written_whole_or_not_at_all(folder):
    with folder.locked():
        folder.write_record("submission_1", "one", {"score": 1})
        with pytest.raises(ValueError, match="not JSON compliant"):
            folder.write_record("submission_1", "one", {"score": float("nan")})
    assert folder.read_record("submission_1", "one") == {"score": 1}
    assert len(list((folder.path / "records" / "submission_1").iterdir())) == 1


@pytest.mark.parametrize("name", ["../roll", "", "a b", "x" * 81, "a/b", ".x", "a\n"])
def test_no_id_leads_out_of_the_folder(folder, name):
    with pytest.raises(AssertionError):
        folder.write_record(name, "one", {})
    with pytest.raises(AssertionError):
        folder.write_record("submission_1", name, {})
    assert folder.records() == []


# -- several commands, and commands that are killed ------------------------------------------------

HOLDS = """
import sys, time
from pathlib import Path
from tools.classroom.folder import ClassFolder
with ClassFolder.existing(Path(sys.argv[1])).locked():
    print("locked", flush=True)
    time.sleep(60)
"""
WRITES = """
import sys
from pathlib import Path
from tools.classroom.folder import ClassFolder
folder, count = ClassFolder.existing(Path(sys.argv[1])), 0
with folder.locked():
    while True:
        folder.write_record("submission_1", "one", {"count": count, "text": "x" * 200_000})
        count += 1
        if count == 3:
            print("begun", flush=True)
"""


def started(code, folder):
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder.path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stdout.readline()
    return process


def test_one_command_at_a_time(folder):
    other = started(HOLDS, folder)
    try:
        with pytest.raises(UsageError, match="another command is working"), folder.locked():
            pass
    finally:
        other.kill()
        other.communicate()
    with folder.locked():  # the kernel released the lock
        pass


def test_the_lock_is_between_threads_too(folder):
    seen = []

    def attempt():
        try:
            with folder.locked():
                seen.append("locked")
        except UsageError:
            seen.append("refused")

    with folder.locked():
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
    assert seen == ["refused"]


def test_a_killed_command_leaves_whole_files_and_its_rest_is_removed(folder):
    other = started(WRITES, folder)
    os.kill(other.pid, signal.SIGKILL)
    other.communicate()
    record = folder.submission("submission_1") / "one.json"
    assert json.loads(record.read_text(encoding="utf-8"))["text"] == "x" * 200_000
    unfinished = record.with_name("one.json.abc_1234")  # as a killed command may leave
    unfinished.touch()
    with folder.locked():
        assert [path.name for path in record.parent.iterdir()] == ["one.json"]


def test_times_of_the_roll_keep_their_zone(folder):
    with folder.locked():
        folder.enroll([ENTRY])
    kept = folder.roll()["submission_1"].created_at
    assert kept.utcoffset() == timedelta(hours=-8)
    assert kept == datetime(2026, 11, 2, 17, 0, 0, 365935, UTC)
