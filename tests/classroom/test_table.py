"""The table has a line for each student, and never a zero for what wasn't graded."""

import csv
import io

import pytest

from classroom.cells import write
from grading.errors import UsageError
from tools.classroom.__main__ import main
from tools.classroom.folder import ClassFolder
from tools.classroom.roster import RollEntry, Student
from tools.classroom.table import newest_release, table

RESULTS = {"score": 3.5, "max_score": 8.0, "tests": [{"test_id": "1a-0-basic", "score": 3.5}]}
PLAIN = {"results": RESULTS, "refused": "", "again": [], "fault": "", "counts": True}


@pytest.fixture
def folder(tmp_path):
    made = ClassFolder.create(tmp_path / "class")
    pair = (Student("a", "=SUM(A1)", "007", "a@x.edu"), Student("b", "Bo"))
    entries = [RollEntry("one", pair)]
    entries += [RollEntry(name, (Student(name, name),)) for name in ("two", "three", "four")]
    with made.locked():
        made.enroll(entries)
        made.write_record("one", "r1", PLAIN)
        made.write_record("two", "r1", PLAIN | {"results": None, "fault": "ours"})
        made.write_record("three", "r1", PLAIN | {"again": ["1a-0-basic"], "counts": False})
    return made


def rows(folder, release="r1"):
    return {row["name"]: row for row in csv.DictReader(io.StringIO(write(table(folder, release))))}


def test_each_student_of_a_group_has_a_line(folder):
    found = rows(folder)
    assert len(found) == 5
    for name in ("'=SUM(A1)", "Bo"):  # no spreadsheet takes a name for a formula
        assert (found[name]["status"], found[name]["score"]) == ("graded", "3.5")
        assert found[name]["1a-0-basic"] == "3.5"
    assert found["'=SUM(A1)"]["sid"] == "007"


@pytest.mark.parametrize(
    "name, status", [("two", "staff fault"), ("three", "not finished"), ("four", "not graded")]
)
def test_without_a_result_there_is_no_score(folder, name, status):
    row = rows(folder)[name]
    assert (row["status"], row["score"], row["1a-0-basic"]) == (status, "", "")


def test_a_preview_says_so(folder):
    folder.write_record("three", "r1", PLAIN | {"counts": False, "refused": "empty"})
    assert rows(folder)["three"]["status"] == "nothing to grade (preview)"


def test_a_release_that_graded_nothing_is_refused_and_the_newest_is_known(folder):
    with pytest.raises(UsageError, match="no records of release r9; it has r1"):
        table(folder, "r9")
    folder.write_record("four", "r2", PLAIN)
    assert newest_release(folder) == "r2"


def test_what_is_printed_has_no_escapes_and_the_file_has_the_names_as_they_are(folder, capsys):
    odd = "\x1b[2J\u202egnp.exe\nforged,line"
    with folder.locked():
        folder.enroll([RollEntry("five", (Student("e", odd, "\x9b31m", "\x07@x.edu"),))])
    target = folder.path / "t.csv"
    for more in ([], ["--csv", str(target)]):
        assert main(["table", "--in", str(folder.path), *more]) == 0
    printed = capsys.readouterr().out
    assert all(line.isprintable() for line in printed.splitlines())
    assert len(printed.splitlines()) == 7  # a heading and six students
    assert "\\x1b[2J\\u202egnp.exe\\nforged,line" in printed
    with open(target, encoding="utf-8", newline="") as file:
        assert odd in {row["name"] for row in csv.DictReader(file)}
