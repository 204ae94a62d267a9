"""Canvas's gradebook and Moodle's worksheet: what is refused, what is kept, what is changed."""

import pytest

from classroom.submissions import Student
from tests.classroom.grades.building import ADA, BO, at, command, decide, put, read_csv
from tests.snapshots import check

HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)"
POINTS = "    Points Possible,,,,,26.00"
ROWS = ('"Byron, Ada",1,007,ada,S1,', '"Chen, Bo",2,008,bo,S1,1.00', '"Roe, Jo",3,009,jo,S1,2.5')


@pytest.fixture
def folder(made):
    made.add(1, [ADA], at(-60), 10, 6, 0.13)
    return made.add(2, [BO], at(-60), 1, 0, 0)


def exported(folder, *lines: str, assignment="", code=0) -> str:
    (path,) = put(folder, canvas="\n".join(lines) + "\n")
    words = ["--assignment", assignment] if assignment else []
    assert command("grades", folder, "--canvas", path, *words) == code
    target = folder / "grades" / "canvas.csv"
    return target.read_text(encoding="utf-8") if code == 0 else ""


def test_semicolons_decimal_commas_and_the_byte_order_mark_stay(folder):
    lines = [HEAD.replace(",", ";"), "    Points Possible;;;;;26,00"]
    lines += ["Byron, Ada;1;007;ada;S1;", "Chen, Bo;2;008;bo;S1;1.00", "Roe, Jo;3;009;jo;S1;2.5"]
    text = exported(folder, "\ufeffsep=;", *lines)  # the first line is only for Excel
    assert text.startswith("\ufeffStudent;ID;")
    cells = [line.rpartition(";")[2] for line in text.splitlines()]
    assert cells == ["Problem Set 5 (12)", "26,00", "16,13", "1,00", "2.5"]


def test_what_canvas_excused_or_never_assigned_stays_and_is_noted(folder, capsys):
    rows = [ROWS[0] + "EX", ROWS[1].replace("1.00", "N/A"), ROWS[2].replace("2.5", "-")]
    others = ",A (13),A (13)"
    text = exported(folder, HEAD + others, POINTS.replace("26.00", "30"), *rows, assignment="12")
    assert [line.rpartition(",")[2] for line in text.splitlines()[2:]] == ["EX", "N/A", ""]
    said = capsys.readouterr().out
    for line in (
        "the assignment is worth 30 points in Canvas, but 26 in the gradebook",
        "canvas.csv, line 3: Ada Byron <ada@x.edu> (007) has EX in Canvas, but 16.13 in the "
        "gradebook: EX is kept",
        "canvas.csv, line 4: not assigned to Bo Chen <bo@x.edu> (008) in Canvas: N/A is kept",
    ):
        assert f"note: {line}\n" in said


def test_last_and_first_names_and_rows_on_posting_and_again_with_the_result(folder):
    text = exported(
        folder,
        "LastName,FirstName,ID,SIS Login ID,Section,Notes,Set (12),My Final Score (13)",
        ",,,,,,Manual Posting",
        "    Points Possible,,,,,,26,(read only)",
        "=Roe,Jo,3,jo,S1,+x,,",
        "Byron,Ada,1,ada@x.edu,S1,=y,,50",
    )
    assert text.splitlines() == [
        "LastName,FirstName,ID,SIS Login ID,Section,Set (12)", ",,,,,Manual Posting",
        "    Points Possible,,,,,26", "'=Roe,Jo,3,jo,S1,", "Byron,Ada,1,ada@x.edu,S1,16.13",
    ]  # fmt: skip
    assert exported(folder, *text.splitlines()) == text


# By title, the assignment that is asked for, if any, and the lines of the file.
REFUSED = {
    "a new assignment": ("New one", HEAD + ",New one", POINTS + ",9"),
    "a column of Canvas's own": ("A", HEAD + ",A (13)", POINTS + ",(read only)"),
    "a title that Canvas drops": ("13", HEAD + ",My Final Scores (13)", POINTS + ",1"),
    "several assignments": ("", HEAD + ",A (13),B (14)", POINTS + ",1,1"),
    "several of a name": ("A", HEAD + ",A (13),A (14)", POINTS + ",1,1"),
    "another table": ("", "Name,Score"),
    "too many cells": ("", HEAD, ROWS[0] + "1,2"),
    "a student called Points": ("", HEAD, POINTS, POINTS.replace(",,", ",7,", 1)),
    "a letter": ("", HEAD, POINTS, ROWS[0] + "A-"),
    "thousands": ("", HEAD, POINTS, ROWS[0] + '"1,000.00"'),
    "a row twice": ("", HEAD, POINTS, ROWS[0], ROWS[0]),
}


def test_what_canvas_wouldnt_take_is_one_line(folder, capsys):
    found = {}
    for title, (assignment, *lines) in REFUSED.items():
        exported(folder, *lines, assignment=assignment, code=2)
        found[title] = capsys.readouterr().err
    assert not (folder / "grades").exists()
    check("grades_canvas", found)


WORKSHEET = """Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,\
Last modified (grade)
Participant 71,Ada Byron,ada@x.edu,Submitted,,"26,00",Yes,-
Participant 72,=Bo Chen,bo@y.org,Submitted,"1,00","26,00",Yes,-
Participant 73,Cy,cy@x.edu,No submission,,"26,00",Yes,-
Participant 74,Dee,dee@x.edu,Submitted,-,"26,00",No,-
"""


def test_moodles_worksheet_is_filled_and_nothing_else_in_it_changes(made, capsys):
    made.add(1, [ADA], at(-60), 10, 6, 0.13)
    for number, points in ((72, 3), (74, 2)):
        student = Student(f"moodle:{number}", "?", moodle_id=str(number))
        folder = made.add(f"moodle_{number}", [student], None, points, 0, 0)
    (path,) = put(folder, moodle=WORKSHEET)
    assert command("grades", folder, "--moodle", path) == 0
    before, after = read_csv(path), read_csv(folder / "grades" / "moodle.csv")
    assert [row[4] for row in after] == ["Grade", "16.13", "3.00", "", ""]
    before[2][1] = "'=Bo Chen"
    assert [row[:4] + row[5:] for row in after] == [row[:4] + row[5:] for row in before]
    assert "Moodle doesn't allow a change for ? <dee@x.edu>: - is kept" in capsys.readouterr().out
    decide(folder, excuses=[("72",)], withheld=[("ada@x.edu",)])
    assert command("grades", folder, "--moodle", path) == 0
    assert [row[4] for row in read_csv(folder / "grades" / "moodle.csv")][1:3] == ["", ""]
