"""A class's folder is private, changed by one command at a time, and survives kills."""

import json
import os
import signal
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from classroom.store import Store
from classroom.submissions import Record, Student, Submission
from grading.errors import GradingError, UsageError
from tests.project import ROOT

ADA = Student("a@x", 'Ada \u202e "B" \udc80\n', "A@x", "007")
BOB = Student("b@x", "Bob", "b@x")
AT = datetime(2026, 11, 2, 9, 0, 0, 365935, timezone(timedelta(hours=-8)))
GROUP = Submission("submission_1", (ADA, BOB), AT, True, 3)
TESTS = [
    ("1e-0-basic", "passed", 4.0, 4.0),
    ("1e-1-basic", "failed", 0.0, 0.0),
    ("1f-0-hidden", "failed", 1.1, 2.0),
    ("3a-0-basic", "passed", 0.0, 0.0),
]


def results(score=5.1, tests=TESTS):
    entries = [
        {"test_id": i, "outcome": o, "score": s, "max_score": m}
        | {"kind": i.rpartition("-")[2], "name": "", "is_extra_credit": i == "1f-0-hidden"}
        for i, o, s, m in tests
    ]
    return json.dumps({"score": score, "max_score": 6.0, "tests": entries})


def record(submission="submission_1", kind="grade", **changed):
    made = Record(submission, "release", kind, "graded", "7", "digest", results())
    return replace(made, **changed)


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "outer" / "class") as made:
        yield made


def add(store, *submissions):
    store.add_submissions(Path("export"), "Gradescope export", submissions)


def latest(store):
    return {row["email"]: row["submission"] for row in store.rows("SELECT * FROM scores")}


# -- who may read it -------------------------------------------------------------------------------


def modes(folder):
    return {oct(path.lstat().st_mode & 0o777) for path in folder.rglob("*") if path.is_file()}


def test_only_its_owner_can_read_it(tmp_path):
    before = os.umask(0)
    try:
        with Store.create(tmp_path / "class") as store, store.transaction():
            add(store, GROUP)
            assert (store.path / "class.db-journal").is_file()
            assert modes(store.path) == {"0o600"}
    finally:
        os.umask(before)
    (store.path / "class.db").chmod(0o644)
    store.path.chmod(0o755)
    Store.existing(store.path).close()
    assert modes(store.path) == {"0o600"} and store.path.stat().st_mode & 0o777 == 0o700


def test_a_folder_in_the_repository_or_a_copy_is_refused_also_behind_a_link(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "copy" / "tools").mkdir(parents=True)
    (tmp_path / "copy" / "assignment.toml").touch()
    (tmp_path / "link").symlink_to(tmp_path / "copy" / "tools")
    outside = (tmp_path / "copy" / "class", tmp_path / "link" / "class")
    for path in (ROOT, Path("tests"), Path("new_class"), ROOT / "new" / "class", *outside):
        for opens in (Store.create, Store.existing):
            with pytest.raises(UsageError, match="is inside the repository"):
                opens(path)
        assert path in (ROOT, Path("tests")) or not path.exists()


def test_only_a_class_is_opened(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="contains something else"):
        Store.create(tmp_path)
    with pytest.raises(UsageError, match="can't be opened as a class's folder"):
        Store.create(tmp_path / "thesis.tex")
    for missing in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError, match="is not a class's folder"):
            Store.existing(missing)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    for statement, message in (
        ("PRAGMA user_version = 1", "has format 1, expected 2"),
        ("PRAGMA user_version = 0; CREATE TABLE mine (x)", "is not a class's database"),
    ):
        with closing(sqlite3.connect(tmp_path / "class.db")) as database:
            database.executescript(statement)
        with pytest.raises(UsageError, match=message):
            Store.existing(tmp_path)
    (tmp_path / "class.db").write_bytes(b"x" * 4096)
    with pytest.raises(UsageError, match="class.db is damaged: file is not a database"):
        Store.existing(tmp_path)


# -- what it keeps ---------------------------------------------------------------------------------


def test_the_roll_is_what_was_read(store):
    add(store, GROUP)
    add(store, replace(GROUP, students=(replace(ADA, name="", sid=None), BOB), submitted=None))
    (row,) = store.rows("SELECT * FROM submissions")
    assert row["submitted"] == "2026-11-02T17:00:00.365935+00:00" and row["attempt"] == 3
    names = [tuple(row) for row in store.rows("SELECT key, name, sid FROM students ORDER BY key")]
    assert names == [("a@x", 'Ada \u202e "B" \\udc80\n', "007"), ("b@x", "Bob", None)]
    assert len(store.rows("SELECT * FROM authors")) == 2
    ((path,),) = store.rows("SELECT path FROM sources")
    assert path == str(Path("export").resolve())
    store.note("regrade-1 applied", reason="\udcff")
    assert [row["reason"] for row in store.rows("SELECT * FROM history")] == ["\\udcff"]


def test_a_students_latest_submission_counts_also_in_another_download(store):
    add(store, Submission("canvas_1_20", (ADA,), number=20), Submission("canvas_2_9", (BOB,)))
    add(store, Submission("canvas_1_100", (ADA,), number=100))
    assert latest(store) == {"A@x": "canvas_1_100", "b@x": "canvas_2_9"}
    add(store, Submission("canvas_1_20", (ADA,), number=20))  # the first download again
    assert latest(store)["A@x"] == "canvas_1_100"
    # Who leaves a group counts alone.
    add(store, GROUP, Submission("submission_2", (ADA,), AT + timedelta(seconds=1)))
    assert latest(store) == {"A@x": "submission_2", "b@x": "submission_1"}
    add(store, replace(GROUP, students=(ADA,)))  # the other one was removed on the platform
    assert latest(store) == {"A@x": "submission_2", "b@x": "canvas_2_9"}


def test_a_record_keeps_its_tests_and_exact_points(store):
    add(store, GROUP)
    number = store.add_record(record())
    kept = store.record("submission_1", "release", "grade")
    assert (kept["score"], kept["max_score"]) == ("5.10", "6.00")
    assert json.loads(kept["results"]) == json.loads(results())
    columns = "test_id, question, kind, score, max_score, practice, extra"
    rows = [tuple(row) for row in store.rows(f"SELECT {columns} FROM tests")]
    assert rows == [
        ("1e-0-basic", "1e", "basic", "4.00", "4.00", 0, 0),
        ("1e-1-basic", "1e", "basic", "0.00", "0.00", 0, 0),
        ("1f-0-hidden", "1f", "hidden", "1.10", "2.00", 0, 1),
        ("3a-0-basic", "3a", "basic", "0.00", "0.00", 1, 0),
    ]
    again = record(results=results(1.0, TESTS[:1]))
    assert store.add_record(again) == number
    assert len(store.rows("SELECT * FROM tests")) == 1
    assert store.record("submission_1", "release", "grade")["score"] == "1.00"


def test_a_record_counts_only_if_it_is_said_to_and_a_preview_never(store):
    add(store, GROUP)
    assert [row["outcome"] for row in store.rows("SELECT * FROM scores")] == ["not graded"] * 2
    with pytest.raises(AssertionError, match="is a preview"):
        store.count(store.add_record(record(kind="preview")))
    first = store.add_record(record(outcome="staff fault", results=None, reason="killed"))
    assert store.counted("submission_1") is None
    store.count(first)
    scores = {(row["outcome"], row["score"]) for row in store.rows("SELECT * FROM scores")}
    assert scores == {("staff fault", None)}
    second = store.add_record(record(kind="regrade-1"))
    assert store.counted("submission_1")["id"] == first
    store.count(second)
    assert store.counted("submission_1")["id"] == second
    assert {row["score"] for row in store.rows("SELECT * FROM scores")} == {"5.10"}


# -- several commands, and commands that fail ------------------------------------------------------


def test_a_transaction_is_kept_whole_or_not_at_all(store):
    add(store, GROUP)
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.count(store.add_record(record()))
        _ = 1 / 0
    assert store.rows("SELECT * FROM records") == [] and not store.db.in_transaction


def test_one_command_changes_it_at_a_time(store):
    for opens in (Store.create, lambda path: Store.existing(path, writes=True)):
        with pytest.raises(UsageError, match="another command is working in"):
            opens(store.path)
    with Store.existing(store.path) as reader:  # reports may be written meanwhile
        assert reader.setting("release") is None
    store.close()
    Store.existing(store.path, writes=True).close()


def test_who_writes_by_hand_meanwhile_gets_one_line(store, monkeypatch):
    monkeypatch.setattr("classroom.store.BUSY_S", 0.1)
    with Store.existing(store.path) as reader, store.transaction():
        with pytest.raises(UsageError, match="another program is writing to"):
            reader.set("release", "x")


KILLED = """
import os, signal, sys; from pathlib import Path; from classroom.store import Store
store = Store.existing(Path(sys.argv[1]), writes=True)
store.db.execute("PRAGMA cache_size = 1")
store.db.execute("BEGIN IMMEDIATE")
store.db.execute("DELETE FROM students")
store.set("x", "y" * 1_000_000)  # so that some of it is already in the file
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_command_leaves_what_was_there_before(store, run_python):
    add(store, GROUP)
    store.close()
    assert run_python("-c", KILLED, str(store.path), cwd=ROOT).returncode == -signal.SIGKILL
    assert (store.path / "class.db-journal").stat().st_size > 0
    with Store.existing(store.path) as again:
        assert len(again.rows("SELECT * FROM students")) == 2
        assert again.setting("x") is None


def test_a_full_disk_is_one_line_and_keeps_what_was_there(store):
    add(store, GROUP)
    pages = store.rows("PRAGMA page_count")[0][0]
    store.rows(f"PRAGMA max_page_count = {pages}")  # SQLite's own way to say that it is full
    with pytest.raises(GradingError, match="class.db can't be written: database or disk is full"):
        store.add_record(
            record(results=results(tests=[(f"1e-{n}-basic", "failed", 0, 1) for n in range(999)]))
        )
    assert store.rows("SELECT * FROM records") == [] and not store.db.in_transaction


def test_deleted_data_are_overwritten_and_nothing_is_copied_elsewhere(store):
    """That no byte of somebody is left is a test of `forget`."""
    pragmas = {"secure_delete": 1, "journal_mode": "delete", "temp_store": 2, "foreign_keys": 1}
    assert {key: store.rows(f"PRAGMA {key}")[0][0] for key in pragmas} == pragmas
