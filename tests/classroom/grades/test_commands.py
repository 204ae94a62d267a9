"""`decide` and `grades` at work: written scores, what is printed, and what is written."""

import stat
from decimal import Decimal

import pytest

from classroom.cells import parse
from classroom.grades.decisions import is_extra, read_scores
from grading.errors import UsageError
from tests.classroom.grades.building import (
    ADA,
    SCORES,
    at,
    command,
    decide,
    put,
    read_csv,
    scores,
    student,
)
from tests.project import ROOT
from tests.snapshots import check, printed

BO = student("=Bo Chen", "008", "bo@x.edu")
CY = student("Cy Comma, Jr", "", "cy@x.edu")


@pytest.fixture
def folder(made, policy):
    policy(late_days=1, percent_per_day=Decimal("12.5"), extra_credit_cap=Decimal(1))
    made.add(1, [ADA, BO], at(1500), 10, 6, 0.13)  # two days late
    folder = made.add(2, [CY], at(-60), 1, 2, 3)
    text = scores([[ADA, [4, 2], at(-60), "51"], [BO, None, at(-60), "52"],
                   [CY, None, None, ""]])  # fmt: skip
    code = decide(
        folder,
        written=text,
        overrides=[("007", "1d", "8")],
        late_days=[("cy@x.edu", "1")],
        extensions=[("cy@x.edu", at(60))],
    )
    assert code == 0
    return folder


def test_what_the_commands_print_and_that_refusals_write_nothing(folder, capsys, tmp_path):
    found = {}

    def run(title: str, *words) -> None:
        capsys.readouterr()
        code = command(*words)
        found[title] = printed(code, *capsys.readouterr())

    # 8 + 6.13 = 14.13, minus an eighth: 12.36375; plus 4; plus 1 of 2.
    run("explain a grade", "grades", folder, "--explain", "Ada Byron")
    run("explain what was not handed in", "grades", folder, "--explain", "cy@x.edu")
    for name in ("SUBMISSION_2", "2", "Cy Comma, Jr"):
        run("again", "grades", folder, "--explain", name)
        assert found.pop("again") == found["explain what was not handed in"]
    run("explain what is incomplete", "grades", folder, "--explain", "008")
    run("explain a group's submission", "grades", folder, "--explain", "submission_1")
    run("explain nobody", "grades", folder, "--explain", "nobody")
    run("explain an ID without its zeros", "grades", folder, "--explain", "7")
    run("an assignment without Canvas", "grades", folder, "--assignment", "12")
    run("in the repository", "grades", folder, "--csv", ROOT / "tests" / "grades.csv")
    assert not (folder / "grades").exists()
    (folder / "grades").write_text("", encoding="utf-8")
    run("grades is a file", "grades", folder)
    (folder / "grades").unlink()
    run("grades", "grades", folder, "--csv", tmp_path / "all.csv")
    assert stat.S_IMODE((tmp_path / "all.csv").stat().st_mode) == 0o600
    decide(folder, written=scores([[ADA, [4, 2], None, "51"], [BO, [4, 2], at(-9), "52"]]))
    run("without somebody, and without a time", "grades", folder)
    check("grades_commands", found, {str(folder): "CLASS", str(tmp_path): "HERE"})


def test_a_line_has_every_part_of_a_grade(folder):
    assert command("grades", folder) == 0
    path = folder / "grades" / "grades.csv"
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path.parent, path)] == [0o700, 0o600]
    head, *rows = read_csv(path)
    found = {row[1]: dict(zip(head, row, strict=True)) for row in rows}
    assert found["007"] == {
        "name": "Ada Byron", "sid": "007", "email": "ada@x.edu", "submissions": "submission_1 51",
        "state": "graded", "total": "17.36", "most": "30.00", "coding": "14.13", "written": "6.00",
        "days_late_coding": "2", "days_late_written": "0", "late_days_charged": "1",
        "lost_late": "1.77", "lost_over_cap": "1.00", "coding 1d": "8.00", "coding 1e": "6.13",
        "written 1": "4.00", "written 2": "2.00", "why": "",
    }  # fmt: skip
    bo = [found["008"][key] for key in ("name", "state", "total", "coding", "why")]
    assert bo == ["'=Bo Chen", "incomplete", "", "", "written.csv, line 3: Ungraded"]


HEAD = ",".join(SCORES)
GRADED = "Ada,Byron,007,ada@x.edu,,5.5,6.0,Graded,51,2027-02-01 10:00:00 -0800,10:01:00,0,2"


def read(*lines: str, columns=("question", "title", "score", "max_score")) -> list[tuple]:
    rows = read_scores(parse("\r\n".join(lines).encode(), "written.csv"))
    return [tuple(row[column] for column in columns) for row in rows]


def test_a_total_or_a_column_for_each_question_is_read():
    assert read(HEAD, GRADED) == [("written", "", "5.5", "6")]
    head = HEAD + ',1: 2(a) Why (4.0 pts),"2.1: 3(a) Copying, again (2 pts)",Notes'
    expected = [("1", "2(a) Why", "4", "4"), ("2.1", "3(a) Copying, again", "1.5", "2")]
    assert read(head, GRADED + ",4.0,1.5,later") == expected
    assert read(head, GRADED + ",4.0,1.49,")[1][2] == "1.49"  # the total is rounded, too
    german = [line.replace(",", ";").replace("5.5", "5,5") for line in ("\ufeff" + HEAD, GRADED)]
    assert read(*german) == [("written", "", "5.5", "6")]
    # A list of one's own needs no other columns.
    assert read("Name,SID,Email,Total Score", "A,7,a@x,3") == [("written", "", "3", None)]
    # What isn't graded is a gap, and what is missing has no points.
    ends = ("a@x,,,6.0,Ungraded,52,2027-02-01 10:00:00 -0800,0,0,1", "b@x,,,6.0,Missing,,,,0,0",
            "c@x,,,6.0,,53,,,0,1")  # fmt: skip
    columns = ("status", "submitted", "score")
    assert read(HEAD, *(f"A,A,1,{end}" for end in ends), columns=columns) == [
        ("Ungraded", "2027-02-01T18:00:00+00:00", None),
        *(("", None, None), ("Ungraded", None, None)),
    ]


TIME = "2027-02-01 10:00:00 -0800"
ODD = [
    ("", "5.5", "-1", "written has -1 points; remove negative points on Gradescope, because"),
    ("", "5.5", "5.5*", "Total Score = '5.5*' should be a number such as 12.5"),
    ("", TIME, "", "Lateness (H:M:S) = '10:01:00', but there is no Submission Time"),
    ("", " -0800", "", "the time '2027-02-01 10:00:00' has no time zone; add one, such as -0800"),
    ("", TIME, "1.2.2027 10:00", "'1.2.2027 10:00' should be a time such as"),
    ("", "007,ada@x.edu", ",", "Email, SID and Submission ID are all empty"),
    (",1: A (4 pts)", "0,2", "0,2,4", "Total Score = 5.5, but the questions add up to 4"),
    (",1: A (4 pts)", "0,2", "0,2,", "'1: A (4 pts)' is empty, but there is a Total Score"),
]


def test_a_row_that_cant_be_is_named(made, capsys):
    for question, before, after, message in ODD:
        line = GRADED.replace(before, after).replace(",51,", ",,")
        (path,) = put(made.folder, scores=f"{HEAD}{question}\n{line}\n")
        assert command("decide", made.folder, path) == 2
        assert capsys.readouterr().err.startswith(f"classroom: scores.csv, line 2: {message}")


def test_extra_credit_is_told_by_the_sheets_number_or_is_that_of_all():
    assert is_extra("anything", {"2a": True, "3a": True})
    assert not is_extra("", {"2a": False}) and not is_extra("", {})
    mixed = {"2a": False, "3a": True, "12b": True}
    for title in ("3(a) Copying", "3a: Copying", " (12) (b)", "3a-ii"):
        assert is_extra(title, mixed)
    assert not is_extra("2 a  Why", mixed)
    for title in ("Copying", "3 apples", "Copying 3a"):
        with pytest.raises(UsageError, match=f"the question '{title}' doesn't tell which"):
            is_extra(title, mixed)
