"""A class's folder of the form before class.db is imported once, by whatever command opens it."""

import json
import os
from pathlib import Path

import pytest

from classroom.store import Store
from grading.errors import UsageError
from tests.classroom.scripted import entry, results_of

RELEASE, REGRADE, OTHER = "0123456789abcdef", "fedcba9876543210", "b" * 16


def record(score, **changed):
    kept = {"format": 1, "upload": "x", "counts": True, "refused": "", "again": [], "fault": ""}
    results = results_of([entry("1e-0-basic", "n", 4.0, score=score)])
    return kept | {"results": results, "took_s": 2.5, "processor": "Xeon"} | changed


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
    f"submission_2/{OTHER}": record(3.0),  # an interrupted run of another release, newer
    f"removed_9/{OTHER}": record(0.0, results=None, fault="its worker was killed"),
    f"canvas_34_208/{OTHER}": record(3.0, again=["1e-0-basic"]),
}
HISTORY = [
    {"number": 1, "state": "applied", "release": REGRADE, "applied_ns": 10**10}
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
    known = {"created_at": "2026-11-02T09:00:00-08:00", "late": False, "attempt": 1, "score": None}
    roll = {key: known | {"students": students} for key, students in STUDENTS.items()}
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
        os.utime(folder / name, (1, number))
    return folder


# What the imported tables contain, by query.
EXPECTED = {
    "SELECT key, email, sid, canvas_id FROM students ORDER BY key": [
        ("a@x", "A@x", "007", None),
        ("b@x", "b@x", None, None),
        ("canvas:34", None, None, "34"),
    ],
    "SELECT submitted, number FROM submissions WHERE id = 'canvas_34_208'": [
        ("2026-11-02T17:00:00+00:00", 208),
    ],
    "SELECT kind, outcome, count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 2": [
        ("grade", "graded", 3),
        ("grade", "nothing to grade", 1),
        ("grade", "staff fault", 2),
        ("preview", "graded", 1),
        ("regrade-1", "graded", 2),
        ("regrade-1", "nothing to grade", 1),
        ("regrade-2", "graded", 1),
    ],
    "SELECT path FROM sources": [("/a",), ("/b",)],
    # What was applied last to the whole class counts: not a preview, a regrade that was
    # discarded, or the part of another run.
    "SELECT value FROM class WHERE key != 'imported' ORDER BY key": [("tiny",), (REGRADE,)],
    "SELECT submission, outcome, score FROM scores WHERE score NOT NULL ORDER BY submission": [
        ("canvas_34_208", "graded", "1.50"),
        *[("submission_1", "graded", "2.50")] * 2,  # a group's
    ],
    "SELECT what, at, reason, author FROM history ORDER BY id": [
        ("regrade-1 applied", "2027-01-31T08:00:00+00:00", "a bug", "Kim"),
        ("regrade-2 discarded", "2027-01-30T18:02:00+00:00", "", ""),
    ],
    "SELECT kind, student, question, value, reason FROM decisions": [
        ("override", "007", "1e", "3.5", "=x"),
        ("extension", "b@x", "", "2027-02-02", "ill"),
        ("late_days", "007", "", "2", ""),
        ("same_as", "007", "", "canvas:34", ""),
    ],
}


def test_everything_comes_over_once_and_the_old_files_are_moved(old, capsys, monkeypatch):
    rename, moved = Path.rename, []

    def interrupted(path, target):
        if moved:
            raise KeyboardInterrupt
        moved.append(path)
        rename(path, target)

    before = {path.name for path in old.iterdir()}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", interrupted)
        Store.existing(old)
    with Store.existing(old) as store:
        found = {sql: [tuple(row) for row in store.rows(sql)] for sql in EXPECTED}
    assert found == EXPECTED
    assert sorted(path.name for path in old.iterdir()) == ["before-import", "class.db", "lock"]
    assert {path.name for path in (old / "before-import").iterdir()} == before
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2 and "4 submissions, 11 records; 3 of them count" in said[0]
    assert said[1] == "gradebook/late_days.csv, line 4: no student"


@pytest.mark.parametrize("name", ["roll.json", f"records/submission_1/{RELEASE}.json"])
def test_a_damaged_folder_is_refused_in_one_line_and_stays_as_it_is(old, name):
    for text in ("{", "[]", '{"submissions": {"a": {}}}'):
        (old / name).write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="can't be imported") as raised:
            Store.existing(old)
        assert "\n" not in str(raised.value) and (old / "classroom.json").is_file()
