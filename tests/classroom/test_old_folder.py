"""A class's folder of the form before class.db is imported once, by whatever command opens it."""

import json
import os
from pathlib import Path

import pytest

from classroom.store import Store
from grading.errors import UsageError

RELEASE, REGRADE = "0123456789abcdef", "fedcba9876543210"


def results(score):
    test = {"test_id": "1e-0-basic", "kind": "basic", "name": "n", "outcome": "passed"}
    tests = [test | {"score": score, "max_score": 4.0}]
    return {"edition": "tiny", "seed": "7", "score": score, "max_score": 4.0, "tests": tests}


def record(score, **changed):
    kept = {"format": 1, "upload": "x", "counts": True, "refused": "", "again": [], "fault": ""}
    return kept | {"results": results(score), "took_s": 2.5, "processor": "Xeon"} | changed


FAULT = {"results": None, "fault": "its worker was killed"}
STUDENTS = {
    "canvas_34_208": [{"key": "canvas:34", "name": "ada", "sid": None, "email": None}],
    "submission_1": [
        {"key": "a@x", "name": "Zoë", "sid": "007", "email": "A@x"},
        {"key": "b@x", "name": "Bob", "sid": None, "email": "b@x"},
    ],
    "submission_2": [],
}
RECORDS = {
    f"canvas_34_208/{RELEASE}": record(1.0),
    f"submission_1/{RELEASE}": record(2.0),
    f"submission_2/{RELEASE}": record(0.0, refused="no folder"),
    "canvas_34_208/regrade-1": record(1.5),
    "submission_1/regrade-1": record(2.5),
    "submission_2/regrade-1": record(0.0, refused="no folder"),
    "submission_1/regrade-2": record(9.0),  # was discarded
    "submission_1/aaaaaaaaaaaaaaaa": record(3.0, counts=False),  # a preview, newer
    "submission_2/bbbbbbbbbbbbbbbb": record(3.0),  # an interrupted run of another release, newer
    "removed_9/bbbbbbbbbbbbbbbb": record(0.0, **FAULT),
    "canvas_34_208/bbbbbbbbbbbbbbbb": record(3.0, again=["1e-0-basic"]),
}
HISTORY = [
    {"number": 1, "state": "applied", "release": REGRADE, "applied_ns": 1_000}
    | {"begun": "2027-01-30 18:02 UTC", "decided": "2027-01-31 08:00 UTC"}
    | {"author": "Kim", "reason": "a bug"},
    {"number": 2, "state": "discarded", "release": REGRADE, "applied_ns": 0}
    | {"begun": "2027-01-30 18:02 UTC", "decided": "", "author": "", "reason": ""},
]
GRADEBOOK = {
    "overrides.csv": "student,question,points,reason,author,date\n007,1e,3.5,'=x,Kim,2027-02-01\n",
    "extensions.csv": "\ufeffstudent;due;reason;author;date\nb@x;2027-02-02;ill;Kim;2027-02-01\n",
    "late_days.csv": "student,days\n,\n007,2\n,3\n",
    "people.csv": "student,same_as\n007,canvas:34\n",
    "canvas.csv": "Student,ID\n",
}


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "class"
    entry = {"created_at": "2026-11-02T09:00:00-08:00", "late": False, "attempt": 1, "score": None}
    roll = {key: entry | {"students": students} for key, students in STUDENTS.items()}
    files = {
        "classroom.json": {"format": 1},
        "roll.json": {"format": 1, "submissions": roll},
        "sources.json": {"sources": [{"path": "/b", "attempts": "latest"}, {"path": "/a"}]},
        "history.json": {"regrades": HISTORY},
        **{f"records/{name}.json": kept for name, kept in RECORDS.items()},
    }
    texts = {name: json.dumps(value) for name, value in files.items()}
    texts |= {f"gradebook/{name}": text for name, text in GRADEBOOK.items()}
    for number, (name, text) in enumerate(texts.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
        os.utime(folder / name, ns=(1, number))
    (folder / "records" / "submission_1" / "pages").mkdir()
    return folder


def test_everything_comes_over_and_the_old_files_are_moved(old, capsys):
    with Store.existing(old) as store:
        assert sorted(path.name for path in old.iterdir()) == ["before-import", "class.db", "lock"]
        assert {path.name for path in (old / "before-import").iterdir()} == {
            *("classroom.json", "roll.json", "sources.json", "history.json"),
            *("records", "gradebook"),
        }
        students = store.rows("SELECT key, email, sid, canvas_id FROM students ORDER BY key")
        assert [*map(tuple, students)] == [
            ("a@x", "A@x", "007", None),
            ("b@x", "b@x", None, None),
            ("canvas:34", None, None, "34"),
        ]
        one = store.rows("SELECT * FROM submissions WHERE id = 'canvas_34_208'")[0]
        assert (one["submitted"], one["number"]) == ("2026-11-02T17:00:00+00:00", 208)
        kinds = store.rows(
            "SELECT kind, outcome, count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 2"
        )
        assert [*map(tuple, kinds)] == [
            ("grade", "graded", 3),
            ("grade", "nothing to grade", 1),
            ("grade", "staff fault", 2),
            ("preview", "graded", 1),
            ("regrade-1", "graded", 2),
            ("regrade-1", "nothing to grade", 1),
            ("regrade-2", "graded", 1),
        ]
        assert [row["path"] for row in store.rows("SELECT path FROM sources")] == ["/a", "/b"]
        # What was applied last to the whole class counts: not a preview, a regrade that was
        # discarded, or the part of another run.
        assert (store.setting("edition"), store.setting("release")) == ("tiny", REGRADE)
        scores = store.rows("SELECT submission, outcome, score FROM scores WHERE score IS NOT NULL")
        assert {*map(tuple, scores)} == {
            ("canvas_34_208", "graded", "1.50"),
            ("submission_1", "graded", "2.50"),
        }
        rows = store.rows("SELECT what, at, reason, author FROM history ORDER BY id")
        assert [*map(tuple, rows)] == [
            ("regrade-1 applied", "2027-01-31T08:00:00+00:00", "a bug", "Kim"),
            ("regrade-2 discarded", "2027-01-30T18:02:00+00:00", "", ""),
        ]
        rows = store.rows("SELECT kind, student, question, value, reason FROM decisions")
        assert [*map(tuple, rows)] == [
            ("override", "007", "1e", "3.5", "=x"),
            ("extension", "b@x", "", "2027-02-02", "ill"),
            ("late_days", "007", "", "2", ""),
            ("same_as", "007", "", "canvas:34", ""),
        ]
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "4 submissions, 11 records; 3 of them count" in said[0]
    assert said[1] == "gradebook/late_days.csv, line 4: no student"
    Store.existing(old).close()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["roll.json", f"records/submission_1/{RELEASE}.json"])
@pytest.mark.parametrize("text", ["{", "[]", '{"submissions": {"a": {}}}'])
def test_a_damaged_folder_is_refused_in_one_line_and_stays_as_it_is(old, name, text):
    (old / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="can't be imported") as raised:
        Store.existing(old)
    assert "\n" not in str(raised.value) and (old / "classroom.json").is_file()


def test_an_interrupted_import_is_completed(old, monkeypatch):
    rename, moved = Path.rename, []

    def once(path, target):
        if moved:
            raise KeyboardInterrupt
        moved.append(path)
        rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", once)
        with pytest.raises(KeyboardInterrupt):
            Store.existing(old)
    with Store.existing(old) as store:
        assert len(store.rows("SELECT * FROM records")) == len(RECORDS)
        regrades = [row["what"] for row in store.rows("SELECT * FROM history")]
        assert regrades and len(regrades) == len({*regrades})  # nothing was imported twice
    assert not (old / "classroom.json").exists() and not (old / "records").exists()
