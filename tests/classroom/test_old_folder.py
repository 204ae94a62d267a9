"""A class's folder of the form before class.db is imported once, by whatever command opens it."""

import json
import os
from pathlib import Path

import pytest

from classroom.store import Store
from grading.errors import UsageError
from tests.classroom.scripted import entry, results_of

RELEASE, REGRADE, OTHER = "0123456789abcdef", "fedcba9876543210", "b" * 16
KNOWN = {"created_at": "2026-11-02T09:00:00-08:00", "late": False, "attempt": 1, "score": None}
ADA = {"key": "canvas:34", "name": "ada", "sid": None, "email": None}
ZOE = {"key": "a@x", "name": "Zoë", "sid": "007", "email": "A@x"}


def record(score, **changed):
    kept = {"format": 1, "upload": "x", "counts": True, "refused": "", "again": [], "fault": ""}
    results = results_of([entry("1e-0-basic", "n", 4.0, score=score)])
    return kept | {"results": results, "took_s": 2.5, "processor": "Xeon"} | changed


HISTORY = [
    {"number": 1, "state": "applied", "release": REGRADE, "applied_ns": 10**10}
    | {"begun": "2027-01-30 18:02 UTC", "decided": "", "author": "Kim", "reason": "a bug"},
    {"number": 2, "state": "discarded", "release": REGRADE, "applied_ns": 0}
    | {"begun": "2027-01-30 18:02 UTC", "decided": "", "author": "", "reason": ""},
]
# The oldest first. What was applied last to the whole class counts: not a preview, a regrade that
# was discarded, or the part of another run.
FILES = {
    "classroom.json": {"format": 1},
    "roll.json": {
        "submissions": {
            "canvas_34_208": KNOWN | {"students": [ADA]},
            "submission_1": KNOWN | {"students": [ZOE]},
        }
    },
    "history.json": {"regrades": HISTORY},
    f"records/canvas_34_208/{RELEASE}.json": record(1.0),
    f"records/submission_1/{RELEASE}.json": record(0.0, refused="no folder"),
    "records/canvas_34_208/regrade-1.json": record(1.5),
    "records/submission_1/regrade-1.json": record(2.5),
    "records/submission_1/regrade-2.json": record(9.0),
    "records/submission_1/aaaaaaaaaaaaaaaa.json": record(3.0, counts=False),
    f"records/removed_9/{OTHER}.json": record(0.0, results=None, fault="its worker was killed"),
    f"records/canvas_34_208/{OTHER}.json": record(3.0, again=["1e-0-basic"]),
    "gradebook/overrides.csv": "student,question,points,reason,author,date\n007,1e,3.5,'=x,K,\n",
    "gradebook/late_days.csv": "student,days\n007,2\n,3\n",
}
# What the imported tables contain, by query.
EXPECTED = {
    "SELECT key, email, sid, canvas_id FROM students ORDER BY key": [
        ("a@x", "A@x", "007", None),
        ("canvas:34", None, None, "34"),
    ],
    "SELECT submitted, number FROM submissions WHERE id = 'canvas_34_208'": [
        ("2026-11-02T17:00:00+00:00", 208),
    ],
    "SELECT kind, outcome, count(*) FROM records GROUP BY 1, 2 ORDER BY 1, 2": [
        ("grade", "graded", 1),
        ("grade", "nothing to grade", 1),
        ("grade", "staff fault", 2),
        ("preview", "graded", 1),
        ("regrade-1", "graded", 2),
        ("regrade-2", "graded", 1),
    ],
    "SELECT value FROM class WHERE key != 'imported' ORDER BY key": [("tiny",), (REGRADE,)],
    "SELECT submission, score FROM scores WHERE score NOT NULL ORDER BY submission": [
        ("canvas_34_208", "1.50"),
        ("submission_1", "2.50"),
    ],
    "SELECT kind, student, question, value, reason FROM decisions": [
        ("override", "007", "1e", "3.5", "=x"),
        ("late_days", "007", "", "2", ""),
    ],
}


@pytest.fixture
def old(tmp_path):
    for number, (name, content) in enumerate(FILES.items()):
        path = tmp_path / "class" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1, number))
    return tmp_path / "class"


def test_everything_comes_over_once_and_the_old_files_are_moved(old, capsys, monkeypatch):
    rename, moved = Path.rename, []

    def interrupted(path, target):
        if moved:
            raise KeyboardInterrupt
        moved.append(rename(path, target))

    before = {path.name for path in old.iterdir()}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", interrupted)
        Store.existing(old)
    with Store.existing(old) as store:
        assert {sql: [tuple(row) for row in store.rows(sql)] for sql in EXPECTED} == EXPECTED
    assert sorted(path.name for path in old.iterdir()) == ["before-import", "class.db", "lock"]
    assert {path.name for path in (old / "before-import").iterdir()} == before
    assert capsys.readouterr().err.count("gradebook/late_days.csv, line 3: no student") == 1


def test_a_damaged_folder_is_refused_in_one_line_and_stays_as_it_is(old):
    for text in ("{", "[]", '{"submissions": {"a": {}}}'):
        (old / "roll.json").write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match="can't be imported") as raised:
            Store.existing(old)
        assert "\n" not in str(raised.value) and (old / "classroom.json").is_file()
