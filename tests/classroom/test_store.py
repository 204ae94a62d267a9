"""A class's folder is private, changed by one command at a time, and survives kills."""

import json
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from classroom import store as store_module
from classroom.store import Store, replacing
from classroom.submissions import Record, Student, Submission
from grading.errors import UsageError
from tests.classroom.scripted import entry, results_of
from tests.project import ROOT

ADA = Student("a@x", 'Ada \u202e "B" \udc80\n', "A@x", "007")
BOB = Student("b@x", "Bob", "b@x")
AT = datetime(2026, 11, 2, 9, 0, 0, 365935, timezone(timedelta(hours=-8)))
GROUP = Submission("submission_1", (ADA, BOB), AT, True, 3)
RESULTS = results_of([
    entry("1e-0-basic", "", 4.0),
    entry("1e-1-basic", "", 0.0, "failed"),
    entry("1f-0-hidden", "", 2.0, "failed", score=1.1, is_extra_credit=True),
    entry("3a-0-basic", "", 0.0),
])  # fmt: skip


def record(kind="grade", results=RESULTS):
    return Record("submission_1", "release", kind, "graded", "7", "digest", json.dumps(results))


@pytest.fixture
def store(tmp_path):
    with Store.create(tmp_path / "outer" / "class") as made:
        add(made, GROUP)
        yield made


def add(store, *submissions):
    store.add_submissions(Path("export"), "Gradescope export", submissions)


def rows(store, sql):
    return [tuple(row) for row in store.rows(sql)]


def test_only_its_owner_can_read_it(tmp_path):
    def modes():
        return {oct(path.lstat().st_mode & 0o777) for path in store.path.rglob("*")}

    before = os.umask(0)
    try:
        with Store.create(tmp_path / "class") as store, store.transaction():
            add(store, GROUP)
            assert (store.path / "class.db-journal").is_file()
            assert modes() == {"0o600"}
    finally:
        os.umask(before)
    (store.path / "class.db").chmod(0o644)
    store.path.chmod(0o755)
    Store.existing(store.path).close()
    assert modes() == {"0o600"} and store.path.stat().st_mode & 0o777 == 0o700


def test_a_folder_in_the_repository_or_a_copy_is_refused_also_behind_a_link(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    (tmp_path / "copy" / "tools").mkdir(parents=True)
    (tmp_path / "copy" / "assignment.toml").touch()
    (tmp_path / "link").symlink_to(tmp_path / "copy" / "tools")
    for path in (Path("new_class"), tmp_path / "copy" / "class", tmp_path / "link" / "class"):
        with pytest.raises(UsageError, match="is inside the repository"):
            Store.create(path)
        assert not path.exists()


def test_only_a_class_is_opened(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UsageError, match="contains something else"):
        Store.create(tmp_path)
    with pytest.raises(UsageError, match="is not a class's folder"):
        Store.existing(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with closing(sqlite3.connect(tmp_path / "class.db")) as database:
        database.execute("PRAGMA user_version = 1")
    with pytest.raises(UsageError, match="has format 1, expected 2"):
        Store.existing(tmp_path)
    (tmp_path / "class.db").write_bytes(b"x" * 4096)
    with pytest.raises(UsageError, match="class.db is damaged: file is not a database"):
        Store.existing(tmp_path)


def test_the_roll_is_what_was_read_and_a_students_latest_submission_counts(store):
    def latest():
        return dict(rows(store, "SELECT email, submission FROM scores"))

    add(store, replace(GROUP, students=(replace(ADA, name="", sid=None), BOB), submitted=None))
    kept = rows(store, "SELECT submitted, attempt FROM submissions")
    assert kept == [("2026-11-02T17:00:00.365935+00:00", 3)]
    names = rows(store, "SELECT key, name, sid FROM students ORDER BY key")
    assert names == [("a@x", 'Ada \u202e "B" \\udc80\n', "007"), ("b@x", "Bob", None)]
    # Regrades find the files from any folder.
    assert rows(store, "SELECT path FROM sources") == [(str(Path("export").resolve()),)]

    store.db.execute("DELETE FROM submissions")
    add(store, Submission("canvas_1_20", (ADA,), number=20), Submission("canvas_2_9", (BOB,)))
    add(store, Submission("canvas_1_100", (ADA,), number=100))
    add(store, Submission("canvas_1_20", (ADA,), number=20))  # the first download again
    assert latest() == {"A@x": "canvas_1_100", "b@x": "canvas_2_9"}
    # Who leaves a group counts alone.
    add(store, GROUP, Submission("submission_2", (ADA,), AT + timedelta(seconds=1)))
    assert latest() == {"A@x": "submission_2", "b@x": "submission_1"}
    add(store, replace(GROUP, students=(ADA,)))  # the other one was removed on the platform
    assert latest() == {"A@x": "submission_2", "b@x": "canvas_2_9"}


def test_a_record_keeps_its_tests_and_exact_points_and_counts_if_that_is_said(store):
    assert rows(store, "SELECT outcome, score FROM scores") == [("not graded", None)] * 2
    number = store.add_record(record())
    assert json.loads(store.record("submission_1", "release", "grade")["results"]) == RESULTS
    columns = "test_id, question, kind, score, max_score, practice, extra"
    assert rows(store, f"SELECT {columns} FROM tests") == [
        ("1e-0-basic", "1e", "basic", "4.00", "4.00", 0, 0),
        ("1e-1-basic", "1e", "basic", "0.00", "0.00", 0, 0),
        ("1f-0-hidden", "1f", "hidden", "1.10", "2.00", 0, 1),
        ("3a-0-basic", "3a", "basic", "0.00", "0.00", 1, 0),
    ]
    assert store.counted("submission_1") is None
    store.count(number)
    scores = rows(store, "SELECT outcome, score, max_score FROM scores")
    assert scores == [("graded", "5.10", "6.00")] * 2
    with pytest.raises(AssertionError, match="is a preview"):
        store.count(store.add_record(record("preview")))


def test_one_command_changes_it_at_a_time(store, monkeypatch):
    for opens in (Store.create, lambda path: Store.existing(path, writes=True)):
        with pytest.raises(UsageError, match="another command is working in"):
            opens(store.path)
    monkeypatch.setattr("classroom.store.BUSY_S", 0.1)
    with Store.existing(store.path) as reader:  # reports may be written meanwhile
        assert reader.setting("release") is None
        with store.transaction(), pytest.raises(UsageError, match="another program is writing to"):
            reader.set("release", "x")
    store.close()
    Store.existing(store.path, writes=True).close()


def test_deleted_data_are_overwritten_and_nothing_is_copied_elsewhere(store):
    """That no byte of somebody is left is a test of `forget`."""
    pragmas = {"secure_delete": 1, "journal_mode": "delete", "temp_store": 2, "foreign_keys": 1}
    assert {key: store.rows(f"PRAGMA {key}")[0][0] for key in pragmas} == pragmas


def test_pages_replace_the_former_ones_whole_or_not_at_all(tmp_path, monkeypatch):
    pages = tmp_path / "regrades" / "report"
    for names, fails in (("ab", False), ("c", True), ("d", False)):
        with suppress(ZeroDivisionError), replacing(pages) as draft:
            for name in names:
                (draft / name).touch()
            _ = 1 / (not fails)
        there = sorted(path.name for path in tmp_path.rglob("*"))
        assert there == sorted([*("ab" if fails else names), "regrades", "report"])
        assert pages.stat().st_mode & 0o077 == 0

    def interrupted(path: Path) -> None:
        if former := [*path.rglob("d")]:
            former[0].unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(store_module, "remove_tree", interrupted)
        with replacing(pages) as draft:
            (draft / "e").touch()
    assert [path.name for path in pages.iterdir()] == ["e"]
    with replacing(pages):
        pass
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["regrades", "report"]
