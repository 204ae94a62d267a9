"""The commands `gradebook`, `explain` and `policy`: what they print and write."""

import stat
from decimal import Decimal

import pytest

from tests.classroom.gradebook.building import ADA, Student, at, command, put, record, scores
from tools.classroom.gradebook.cells import parse, table
from tools.classroom.gradebook.written import SCORES, read_written

BO = Student("=Bo Chen", "008", "bo@x.edu")
CY = Student("Cy Comma, Jr", "", "cy@x.edu")


@pytest.fixture
def folder(export, tmp_path, policy):
    policy(late_days=1, percent_per_day=Decimal("12.5"), extra_credit_cap=Decimal(1))
    export.add(1, [ADA, BO], at(1500), record(10, 6, 0.125))  # two days late
    export.add(2, [CY], at(-60), record(1, 2, 3))
    made = export.into(tmp_path / "class")
    text = scores([[ADA, [4, 2], at(-60), "51"], [BO, None, at(-60), "52"],
                   [CY, None, None, ""]])  # fmt: skip
    put(
        made,
        written=text,
        overrides=[("007", "1d", "8")],
        late_days=[("cy@x.edu", "1")],
        extensions=[("cy@x.edu", at(60))],
    )
    return made


def test_an_explanation_has_each_step_with_its_source(folder, capsys):
    assert command("explain", "Ada Byron", "--in", folder) == 0
    # 8 + 6.125 = 14.125, minus an eighth: 12.359375; plus 4; plus 1 of 2.
    assert (
        capsys.readouterr().out
        == """\
Ada Byron <ada@x.edu> (007): submission_1, written.csv, line 2
  due 2027-01-31 23:59:00-08:00
  coding: handed in 2027-02-02 00:59:00-08:00: 2 days late
  written: handed in 2027-01-31 22:59:00-08:00: on time
  1 late day charged for this assignment, 0 left
         8  coding 1d of 10  [override: agreed by mail; Grace, 2027-01-20; overrides.csv, line 2]
         6  coding 1e-0-basic of 6  [submission_1, release r1]
     0.125  coding 1e-1-hidden of 10  [submission_1, release r1]
         4  written 1 of 4: 2(a) Why  [written.csv, line 2]
         2  written 2 of 2, extra credit: 3(a) Copying  [written.csv, line 2]
     -1.77  late coding, 2 days late: 1 late day of the budget and 1 × 12.5 %  [course.toml: \
[grading]]
        -1  extra credit above 1  [course.toml: [grading]]
     17.36  of 30, 17.359375 before rounding
"""
    )


@pytest.mark.parametrize("student", ["SUBMISSION_2", "2", "cy@x.edu", "Cy Comma, Jr"])
def test_a_student_is_named_by_any_id(folder, capsys, student):
    assert command("explain", student, "--in", folder) == 0
    said = capsys.readouterr().out
    assert "  due 2027-02-01 00:59:00-08:00, extended: agreed by mail; Grace, 2027-01-20" in said
    assert "  written: nothing handed in" in said
    assert "  1 late day used before: late_days.csv, line 2" in said
    assert said.splitlines()[-1] == "      6.00  of 30"


def test_who_has_no_grade_is_told_why(folder, capsys):
    assert command("explain", "008", "--in", folder) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "  incomplete, so no points are exported: written.csv, line 3: Ungraded"


@pytest.mark.parametrize(
    "student, line",
    [
        ("submission_1", "'submission_1' may mean any of =Bo Chen <bo@x.edu> (008), Ada Byron "
         "<ada@x.edu> (007): use another ID"),
        ("nobody", "'nobody' matches no submission, student ID, e-mail address or full name"),
        ("7", "'7' matches nobody, but Ada Byron <ada@x.edu> (007) would match with leading zeros: "
         "did a spreadsheet remove them?"),
    ],
)  # fmt: skip
def test_nobody_or_several_are_one_line(folder, capsys, student, line):
    assert command("explain", student, "--in", folder) == 2
    assert capsys.readouterr().err == f"classroom: {line}\n"


def test_another_policy_is_compared_and_nothing_is_written(folder, capsys, tmp_path):
    tried = tmp_path / "other.toml"
    tried.write_text("[grading]\npercent_per_day = 50\n", encoding="utf-8")
    assert command("policy", "--try", tried, "--in", folder) == 0
    # Ada: each of the two days costs half, so the code earns nothing; 4 + 2 are left.
    assert capsys.readouterr().out == (
        "   17.36 ->     6.00  Ada Byron <ada@x.edu> (007): coding 2 days late\n"
        "2 unchanged, 0 up, 1 down\nmean 11.68 -> 6.00, of 2 grades\n"
    )
    assert not (folder / "grades").exists()
    tried.write_text("percent_per_day = 50\n", encoding="utf-8")
    assert command("policy", "--try", tried, "--in", folder) == 2
    assert "other.toml: unknown key 'percent_per_day'" in capsys.readouterr().err


def test_gradescopes_csv_is_read_back_as_the_same_grades(folder, tmp_path):
    assert command("gradebook", folder) == 0
    path = folder / "grades" / "gradescope.csv"
    back = read_written(path, lambda title: False)
    found = {m.value("email"): (m.name, m.value("sid"), m.said) for m in back.mentions}
    assert set(found) == {"ada@x.edu", "bo@x.edu", "cy@x.edu"}
    name, sid, ada = found["ada@x.edu"]
    assert (name, sid, ada.submission, ada.time) == ("Ada Byron", "007", "1", at(1500))
    assert [str(item.points) for item in ada.items] == ["434/25"]  # 17.36
    assert found["bo@x.edu"][0] == "=Bo Chen" and "Ungraded" in found["bo@x.edu"][2].gap
    assert found["cy@x.edu"][0] == "Cy Comma, Jr"
    assert back.most == 30
    sheet = parse(path.read_bytes(), "g.csv", SCORES)
    assert sheet.rows[0].cells == SCORES
    assert b"'=Bo,Chen," in path.read_bytes()


def test_the_plain_csv_has_every_part(folder, capsys):
    assert command("gradebook", folder) == 0
    sheet = parse((folder / "grades" / "grades.csv").read_bytes(), "g.csv", ("name",))
    found = table(sheet, ("name", "total"), None)
    rows = {found.cell(row, "sid"): row for row in found.rows}
    ada = {c: found.cell(rows["007"], c) for c in found.columns}
    assert ada == {
        "name": "Ada Byron", "sid": "007", "email": "ada@x.edu", "submissions": "submission_1 51",
        "state": "graded", "total": "17.36", "most": "30.00", "coding": "14.13", "written": "6.00",
        "days_late_coding": "2", "days_late_written": "0", "late_days_charged": "1",
        "lost_late": "1.77", "lost_over_cap": "1.00", "coding 1d": "8.00", "coding 1e": "6.13",
        "written 1": "4.00", "written 2": "2.00", "why": "",
    }  # fmt: skip
    bo = {c: found.cell(rows["008"], c) for c in ("name", "state", "total", "coding", "why")}
    assert bo == {"name": "=Bo Chen", "state": "incomplete", "total": "", "coding": "",
                  "why": "written.csv, line 3: Ungraded"}  # fmt: skip
    said = capsys.readouterr().out
    assert "note: incomplete: =Bo Chen <bo@x.edu> (008): written.csv, line 3: Ungraded\n" in said
    assert "3 people: 2 graded, 1 incomplete; 1 note\n" in said


def test_another_due_date_on_gradescope_is_noted(folder, capsys):
    text = scores([[ADA, [4, 2], at(90), "51"], [BO, [4, 2], at(-9), "52"]])
    put(folder, written=text.replace("01:30:00", "00:30:00"))
    assert command("gradebook", folder) == 0
    said = capsys.readouterr().out
    assert "note: 1 written submission with a different lateness on Gradescope: does" in said


def test_grades_are_private_and_forget_names_the_files(folder, capsys):
    assert command("gradebook", folder) == 0
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder / "grades").iterdir()}
    assert modes == {"grades.csv": 0o600, "gradescope.csv": 0o600}
    assert stat.S_IMODE((folder / "grades").stat().st_mode) == 0o700
    capsys.readouterr()
    assert command("forget", "cy@x.edu", "--in", folder) == 1
    said = capsys.readouterr().out
    for name in ("grades/grades.csv", "grades/gradescope.csv", "gradebook/written.csv"):
        assert f"{folder / name} still names the student" in said


@pytest.mark.parametrize(
    "words, line",
    [
        (
            ["--assignment", "12"],
            "--assignment needs an export from Canvas in DIR/gradebook/canvas.csv",
        ),
        (["--release", "r9"], "has no records of release r9; it has r1"),
    ],
)
def test_what_cant_be_done_is_one_line(folder, capsys, words, line):
    assert command("gradebook", folder, *words) == 2
    assert line in capsys.readouterr().err
    assert not (folder / "grades").exists()


def test_where_grades_cant_be_written_is_one_line(folder, capsys):
    (folder / "grades").write_text("", encoding="utf-8")
    assert command("gradebook", folder) == 2
    assert f"{folder}/grades can't be written: " in capsys.readouterr().err
