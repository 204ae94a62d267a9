"""The commands `gradebook`, `explain` and `policy`: what they print and write."""

import stat
from decimal import Decimal

import pytest

from tests.classroom.gradebook.building import ADA, Student, at, command, put, record, scores
from tests.snapshots import check, printed
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


def test_what_the_commands_print_and_that_refusals_write_nothing(folder, capsys, tmp_path):
    found = {}

    def run(title: str, *words) -> None:
        code = command(*words)
        found[title] = printed(code, *capsys.readouterr())

    # 8 + 6.125 = 14.125, minus an eighth: 12.359375; plus 4; plus 1 of 2.
    run("explain a grade", "explain", "Ada Byron", "--in", folder)
    for student in ("SUBMISSION_2", "2", "cy@x.edu", "Cy Comma, Jr"):
        before = found.get("explain what was not handed in")
        run("explain what was not handed in", "explain", student, "--in", folder)
        assert before in (None, found["explain what was not handed in"])
    for title, student in (
        ("explain what is incomplete", "008"),
        ("explain a group's submission", "submission_1"),
        ("explain nobody", "nobody"),
        ("explain an ID without its zeros", "7"),
    ):
        run(title, "explain", student, "--in", folder)
    tried = tmp_path / "other.toml"
    # Ada: each of the two days costs half, so the code earns nothing; 4 + 2 are left.
    tried.write_text("[grading]\npercent_per_day = 50\n", encoding="utf-8")
    run("another policy", "policy", "--try", tried, "--in", folder)
    tried.write_text("percent_per_day = 50\n", encoding="utf-8")
    run("a policy without its table", "policy", "--try", tried, "--in", folder)
    run("an assignment without Canvas", "gradebook", folder, "--assignment", "12")
    run("an unknown release", "gradebook", folder, "--release", "r9")
    assert not (folder / "grades").exists()
    (folder / "grades").write_text("", encoding="utf-8")
    run("grades is a file", "gradebook", folder)
    (folder / "grades").unlink()
    run("gradebook", "gradebook", folder)
    text = scores([[ADA, [4, 2], at(90), "51"], [BO, [4, 2], at(-9), "52"]])
    put(folder, written=text.replace("01:30:00", "00:30:00"))
    run("another due date on Gradescope", "gradebook", folder)
    check("gradebook_commands", found, {str(folder): "CLASS", str(tmp_path): "HERE"})


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


def test_the_plain_csv_has_every_part(folder):
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
