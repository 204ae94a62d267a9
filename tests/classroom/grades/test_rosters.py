"""Canvas's gradebook and Moodle's worksheet: what is refused, what is kept, what is changed."""

import shutil

from classroom.submissions import Student
from tests.classroom.grades.building import ADA, BO, at, put
from tests.snapshots import check, printed

BOM = "\ufeff"
HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)"
POINTS = "    Points Possible,,,,,26.00"
BYRON, CHEN, ROE = '"Byron, Ada",1,007,ada,S1,', '"Chen, Bo",2,008,bo,S1,', '"Roe, Jo",3,009,jo,S1,'
# By title, the assignment that is asked for, if any, and the lines of the file.
EXPORTS = {
    "semicolons and decimal commas": (
        *("", BOM + "sep=;"),  # the first line is only for Excel
        *(HEAD.replace(",", ";"), "    Points Possible;;;;;26,00", "Byron, Ada;1;007;ada;S1;"),
        *("Chen, Bo;2;008;bo;S1;1.00", "Roe, Jo;3;009;jo;S1;2.5"),
    ),
    "excused, not assigned, and columns of one name": (
        *("12", HEAD + ",A (13),A (13)", POINTS.replace("26.00", "30")),
        *(BYRON + "EX", CHEN + "N/A", ROE + "-"),
    ),
    "two columns of names, and a row on posting": (
        "",
        "LastName,FirstName,ID,SIS Login ID,Section,Notes,Set (12),My Final Score (13)",
        ",,,,,,Manual Posting",
        "    Points Possible,,,,,,26,(read only)",
        "=Roe,Jo,3,jo,S1,+x,,",
        "Byron,Ada,1,ada@x.edu,S1,=y,,50",
    ),
    "a new assignment": ("New one", HEAD + ",New one", POINTS + ",9"),
    "a column of Canvas's own": ("A", HEAD + ",A (13)", POINTS + ",(read only)"),
    "a title that Canvas drops": ("13", HEAD + ",My Final Scores (13)", POINTS + ",1"),
    "several assignments": ("", HEAD + ",A (13),B (14)", POINTS + ",1,1"),
    "several of a name": ("A", HEAD + ",A (13),A (14)", POINTS + ",1,1"),
    "another table": ("", "Name,Score"),
    "too many cells": ("", HEAD, BYRON + "1,2"),
    "a student called Points": ("", HEAD, POINTS, POINTS.replace(",,", ",7,", 1)),
    "a letter": ("", HEAD, POINTS, BYRON + "A-"),
    "thousands": ("", HEAD, POINTS, BYRON + '"1,000.00"'),
    "a row twice": ("", HEAD, POINTS, BYRON, BYRON),
}


def test_canvas_csv_has_one_assignment_or_isnt_written(made, command):
    made.add(1, [ADA], at(-60), 10, 6, 0.13)
    folder = made.add(2, [BO], at(-60), 1, 0, 0)
    result, found = folder / "grades" / "canvas.csv", {}
    for title, (assignment, *lines) in EXPORTS.items():
        shutil.rmtree(result.parent, ignore_errors=True)
        (path,) = put(folder, canvas="\n".join(lines) + "\n")
        words = ["--assignment", assignment] if assignment else []
        ended = command("grades", folder, "--canvas", path, *words)
        found[title] = printed(*ended)
        if ended[0]:
            assert not result.parent.exists()
            continue
        text = result.read_text(encoding="utf-8")
        found[title] += text
        path.write_text(text, encoding="utf-8")
        assert command("grades", folder, "--canvas", path)[0] == 0
        assert result.read_text(encoding="utf-8") == text
    check("grades_canvas", found, {str(folder): "CLASS", BOM: "(BOM)"})


WORKSHEET = """Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,\
Last modified (grade)
Participant 71,Ada Byron,ada@x.edu,Submitted,,"26,00",Yes,-
Participant 72,=Bo Chen,bo@y.org,Submitted,"1,00","26,00",Yes,-
Participant 73,Cy,cy@x.edu,No submission,,"26,00",Yes,-
Participant 74,Dee,dee@x.edu,Submitted,-,"26,00",No,-
"""


def test_moodles_worksheet_is_filled_and_nothing_else_in_it_changes(made, command):
    made.add(1, [ADA], at(-60), 10, 6, 0.13)
    for number, points in ((72, 3), (74, 2)):
        student = Student(f"moodle:{number}", "?", moodle_id=str(number))
        folder = made.add(f"moodle_{number}", [student], None, points, 0, 0)
    found = {"before": WORKSHEET}
    for title, decisions in (
        ("graded", {}),
        ("excused and withheld", {"excuses": [("72",)], "withheld": [("ada@x.edu",)]}),
    ):
        if decisions:
            found["decided"] = printed(*command("decide", folder, *put(folder, **decisions)))
        (path,) = put(folder, moodle=WORKSHEET)
        found[title] = printed(*command("grades", folder, "--moodle", path))
        found[title] += (folder / "grades" / "moodle.csv").read_text(encoding="utf-8")
    check("grades_moodle", found, {str(folder): "CLASS"})
