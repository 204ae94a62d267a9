"""Canvas's gradebook and Moodle's worksheet: what is refused, what is kept, what is changed."""

import pytest

from classroom.grades.rosters import read_canvas
from classroom.submissions import Student
from grading.errors import UsageError
from tests.classroom.grades.building import ADA, BO, at, command, decide, put, read_csv

HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)"
POINTS = "    Points Possible,,,,,26.00"
ROWS = ('"Byron, Ada",1,007,ada,S1,', '"Chen, Bo",2,008,bo,S1,1.00', '"Roe, Jo",3,009,jo,S1,2.5')


@pytest.fixture
def folder(made):
    made.add(1, [ADA], at(-60), 10, 6, 0.13)
    return made.add(2, [BO], at(-60), 1, 0, 0)


def exported(folder, *lines: str, bom="", code=0) -> str:
    (path,) = put(folder, canvas=bom + "\n".join(lines) + "\n")
    assert command("grades", folder, "--canvas", path) == code
    target = folder / "grades" / "canvas.csv"
    return target.read_text(encoding="utf-8") if code == 0 else ""


def test_semicolons_decimal_commas_and_the_byte_order_mark_stay(folder):
    lines = [HEAD.replace(",", ";"), "    Points Possible;;;;;26,00"]
    lines += ["Byron, Ada;1;007;ada;S1;", "Chen, Bo;2;008;bo;S1;1.00", "Roe, Jo;3;009;jo;S1;2.5"]
    text = exported(folder, "sep=;", *lines, bom="\ufeff")  # the first line is only for Excel
    assert text.startswith("\ufeffStudent;ID;")
    cells = [line.rpartition(";")[2] for line in text.splitlines()]
    assert cells == ["Problem Set 5 (12)", "26,00", "16,13", "1,00", "2.5"]


def test_what_canvas_excused_or_never_assigned_stays_and_is_noted(folder, capsys):
    rows = [ROWS[0] + "EX", ROWS[1].replace("1.00", "N/A"), ROWS[2].replace("2.5", "-")]
    text = exported(folder, HEAD, POINTS.replace("26.00", "30"), *rows)
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
        "LastName,FirstName,ID,SIS Login ID,Section,Notes,Set (12),Current Score",
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


@pytest.mark.parametrize(
    "head, points, name, message",
    [
        ("New one", "9", "New one", "'New one' has no number in parentheses at its end: Canvas "
         "would create a new assignment"),
        ("A (13)", "(read only)", "A", "'A (13)' is read only: Canvas drops such columns"),
        ("A (13),B (14)", "1,1", None, "--assignment: expected one of the assignments 'Problem Set "
         "5 (12)', 'A (13)', 'B (14)'"),
        ("A (13),A (14)", "1,1", "A", "--assignment 'A': expected one of"),
        ("My Final Scores (13)", "1", "13", "'My Final Scores (13)' contains 'Final Score'"),
        ("A (13),A (13)", "1,1", "Problem Set 5", ""),
        ("My Final Scores (13)", "1", None, ""),
    ],
)  # fmt: skip
def test_the_column_has_to_be_one_that_canvas_takes(tmp_path, head, points, name, message):
    path = tmp_path / "canvas.csv"
    path.write_text(f"{HEAD},{head}\n{POINTS},{points}\n", encoding="utf-8")
    if message:
        with pytest.raises(UsageError) as caught:
            read_canvas(path, name)
        assert str(caught.value).startswith(f"canvas.csv, line 1: {message}")
    else:
        assert read_canvas(path, name).column == 5


NUMBER = "canvas.csv, line 3: Problem Set 5 (12) = '{}' should be a number"
NO_EXPORT = [
    (["Name,Score"], "canvas.csv, line 1: not an export of Canvas's gradebook; expected"),
    ([HEAD, ROWS[0] + "1,2"], "canvas.csv, line 2: 7 cells, but only 6 columns"),
    ([HEAD, POINTS, POINTS.replace(",,", ",7,", 1)], "canvas.csv, line 3: a student is called Po"),
    *(([HEAD, POINTS, f'{ROWS[0]}"{text}"'], NUMBER.format(text)) for text in ("A-", "1,000.00")),
    ([HEAD, POINTS, ROWS[0], ROWS[0]], "two records for one person: canvas.csv, line 3"),
]


def test_what_is_no_export_is_one_line(folder, capsys):
    for lines, message in NO_EXPORT:
        exported(folder, *lines, code=2)
        assert capsys.readouterr().err.startswith(f"classroom: {message}")
        assert not (folder / "grades").exists()


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
