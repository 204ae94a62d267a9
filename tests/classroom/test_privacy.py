"""`forget` and `purge` remove exactly what they should, and print what they remove."""

import os
from datetime import UTC, datetime

import pytest

from classroom.arguments import count
from tests.snapshots import check
from tools.classroom.__main__ import main
from tools.classroom.folder import ClassFolder
from tools.classroom.submissions import RollEntry, Student

ADA = Student("ada@example.edu", 'Zoe\u0301 "Ada" Byron', "007007", "Ada@example.edu")
BOB = Student("bob@example.edu", "Maria Silva", "0080", "bob@example.edu")
CAT = Student("cat@example.edu", "Maria Silva", None, "cat@example.edu")
NAMES = ("Byron", "Silva", "example", "0070", "0080")


@pytest.fixture
def folder(tmp_path) -> ClassFolder:
    folder = ClassFolder.create(tmp_path / "class")
    roll = [
        RollEntry("submission_1", (ADA,), datetime(2026, 11, 1, tzinfo=UTC)),
        RollEntry("submission_2", (ADA, BOB), datetime(2026, 11, 2)),
        RollEntry("submission_3", (CAT,), datetime.fromisoformat("2026-11-02 20:00:00-08:00")),
        RollEntry("submission_4", (CAT,)),
    ]
    with folder.locked():
        folder.enroll(roll)
        for entry in roll:
            for release in ("one", "two"):
                folder.write_record(entry.submission_id, release, {"score": 1})
    return folder


def rest(folder):
    return sorted({record.submission_id[-1] for record in folder.records()})


@pytest.mark.parametrize(
    "asked", ["ADA@example.edu", "007007", 'zoé "ada"  byron', ADA.name, "ada@example.edu"]
)
def test_a_student_is_forgotten(folder, capsys, asked):
    assert main(["forget", asked, "--in", str(folder.path)]) == 0
    said = capsys.readouterr().out
    check("classroom_forget", {"forget": said.replace(asked, "ASKED")}, {str(folder.path): "CLASS"})
    assert not any(name in said for name in NAMES)
    assert rest(folder) == ["2", "3", "4"]
    roll = folder.roll()
    assert roll.keys() == {"submission_2", "submission_3", "submission_4"}
    assert roll["submission_2"].students == (BOB,)
    left = b"".join(path.read_bytes() for path in folder.path.rglob("*") if path.is_file())
    assert b"Byron" not in left and b"007007" not in left and b"ada@" not in left.lower()


REFUSED = (
    ("forget", "maria silva"),  # two of that name
    ("forget", "Maria"),
    ("forget", ""),
    *(("purge", "--before", date) for date in ("soon", "", "2026-13-01", "1.11.2026")),
)


def test_what_is_not_clear_is_refused_and_nothing_is_removed(folder, capsys):
    before, found = folder.roll(), {}
    for words in REFUSED:
        assert main([*words, "--in", str(folder.path)]) == 2
        found[" ".join(map(repr, words))] = capsys.readouterr().err
        assert folder.roll() == before and rest(folder) == list("1234")
    assert main(["list", str(folder.path / "missing")]) == 2
    found["'list' a folder that is missing"] = capsys.readouterr().err
    assert main(["rubrics", "--edition", "cs224", "--into", str(folder.path)]) == 2
    found["'rubrics' of an unknown edition"] = capsys.readouterr().err
    (folder.path / "file").write_text("", encoding="utf-8")
    assert main(["rubrics", "--into", str(folder.path / "file")]) == 2
    found["'rubrics' into a file"] = capsys.readouterr().err
    assert all(text.count("\n") == 1 for text in found.values())
    check("classroom_refused", found, {str(folder.path): "CLASS"})


def test_files_that_still_name_the_student_are_told(folder, capsys):
    for name, text in (
        ("json.json", '"Zoe\\u0301 \\"Ada\\" Byron"'),
        ("page.html", "<p>Zo\u00e9 &quot;Ada&quot; Byron</p>"),
        ("grades.csv", "ADA@EXAMPLE.EDU,1"),
        ("ids.csv", "x;007007"),
        ("other.csv", "Maria Silva"),
    ):
        (folder.path / name).write_text(text, encoding="utf-8")
    assert main(["forget", "007007", "--in", str(folder.path)]) == 1
    said = capsys.readouterr().out
    told = [line.split(" still names")[0] for line in said.splitlines() if "still names" in line]
    expected = ["grades.csv", "ids.csv", "json.json", "page.html"]
    assert told == [str(folder.path / name) for name in expected]


def test_another_student_of_that_name_stays_on_the_roll(folder, capsys):
    assert main(["forget", "bob@example.edu", "--in", str(folder.path)]) == 0
    assert [s for entry in folder.roll().values() for s in entry.students].count(CAT) == 2
    assert "still names" not in capsys.readouterr().out


def test_forgetting_that_was_cut_short_goes_on(folder, capsys, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ClassFolder, "write_roll", killed)
        assert main(["forget", "007007", "--in", str(folder.path)]) == 130
    assert rest(folder) == ["2", "3", "4"]
    assert main(["forget", "007007", "--in", str(folder.path)]) == 0
    assert "submission_1" not in folder.roll()


@pytest.mark.parametrize(
    "before, kept",
    [
        ("2026-11-01", "1234"),
        ("2026-11-02", "234"),
        ("2026-11-02T00:00:01", "34"),
        ("2026-11-03T03:59:59+00:00", "34"),
        ("2026-11-03T04:00:00", "34"),
        ("2026-11-03T04:00:01", "4"),
    ],
)
def test_what_is_older_is_purged(folder, capsys, before, kept):
    assert main(["purge", "--before", before, "--in", str(folder.path)]) == 0
    said = capsys.readouterr().out
    assert rest(folder) == list(kept)
    assert [key[-1] for key in folder.roll()] == list(kept)
    gone = [n for n in "1234" if n not in kept]
    assert [line[11] for line in said.splitlines() if line.startswith("submission_")] == gone
    assert f"{count(len(gone), 'submission')} from before" in said and f"{len(kept)} kept" in said
    assert not any(name in said for name in NAMES)


def test_where_no_time_is_known_the_newest_record_counts(folder):
    files = sorted(folder.submission("submission_4").iterdir())
    times = [datetime(2026, 11, day, tzinfo=UTC).timestamp() for day in (1, 5)]
    for path, time in zip(files, times, strict=True):
        os.utime(path, (time, time))
    assert main(["purge", "--before", "2026-11-05", "--in", str(folder.path)]) == 0
    assert rest(folder) == ["4"]
    assert main(["purge", "--before", "2026-11-06", "--in", str(folder.path)]) == 0
    assert rest(folder) == []


def test_records_of_nobody_on_the_roll_are_purged(folder):
    with folder.locked():
        folder.write_roll({})
    assert main(["purge", "--before", "2000-01-01", "--in", str(folder.path)]) == 0
    assert rest(folder) == list("1234")
    assert main(["purge", "--before", "2999-01-01", "--in", str(folder.path)]) == 0
    assert rest(folder) == []
