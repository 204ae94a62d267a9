"""What staff decided, and what can't be: `decide` stores it, and `grades` applies it."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest

from classroom.cells import parse
from classroom.grades.book import read_book
from classroom.grades.decisions import is_extra, read_scores
from classroom.grades.people import find_one
from classroom.store import Store
from classroom.submissions import Student, Submission
from grading.errors import UsageError
from tests.classroom.grades.building import (
    ADA,
    BO,
    DUE,
    SCORES,
    at,
    command,
    course,
    decide,
    put,
    scores,
    student,
)
from tests.snapshots import check

FULL = (10, 6, 10)
CY = student("Cy", "1", "cy@x.edu")


def book(folder, **grading):
    with Store.existing(folder) as store:
        return read_book(store, course(**grading))


def grade(folder, who="ada@x.edu", **grading):
    found = book(folder, **grading)
    return found.grade(find_one(found.people, who))


def total(folder, who="ada@x.edu", **grading):
    return grade(folder, who, **grading).total


@pytest.mark.parametrize("name", ["moodle:657", "657", "moodle_657", "Ada King"])
def test_people_csv_names_any_submission_and_says_which_counts(made, name):
    made.add("upload_1", [Student("ada.zip", "ada")], None, *FULL)
    king = Student("moodle:657", "Ada King", moodle_id="657")
    folder = made.add("moodle_657", [king], None, 1, 0, 0)
    assert decide(folder, people=[("ada.zip", name)]) == 0
    assert total(folder, "Ada King") == 26
    decide(folder, people=[(name, "upload_1")])
    assert total(folder, "Ada King") == 1


def test_the_latest_counts_also_after_an_extension_and_nobody_guesses_which_it_is(made):
    made.add(1, [Student("a@y.org", "Ada Byron", "a@y.org", "007")], at(-60), 1, 0, 0)
    made.add(2, [ADA], at(2000), *FULL)
    made.add("moodle_657", [Student("m", "Bo", "bo@x.edu", moodle_id="657")], None, *FULL)
    folder = made.add(3, [BO], at(-60), 1, 0, 0)
    assert total(folder, hard_deadline_days=0) == 0
    decide(folder, extensions=[("007", at(2880))])
    assert total(folder, hard_deadline_days=0) == 26
    said = "has moodle_657 and submission_3, and their times don't tell which"
    with pytest.raises(UsageError, match=said):
        total(folder, "Bo Chen")
    decide(folder, people=[("657", "submission_3")])
    assert total(folder, "Bo Chen") == 26


def test_a_day_has_24_hours_whatever_clocks_do(made):
    # In Los Angeles, clocks go forward on 2027-03-14 at 2:00; this is 23 hours and 31 minutes.
    due = datetime(2027, 3, 13, 23, 59, tzinfo=timezone(timedelta(hours=-8)))
    handed_in = datetime(2027, 3, 15, 0, 30, tzinfo=timezone(timedelta(hours=-7)))
    folder = made.add(1, [ADA], handed_in, *FULL)
    decide(folder, extensions=[("007", due)])
    found = grade(folder, percent_per_day=Decimal(10))
    assert found.total == Fraction("23.4")  # one day, not two
    assert found.remarks[1] == "coding: handed in 2027-03-14 23:30:00-08:00: 1 day late"


def test_the_zone_in_which_a_time_is_written_doesnt_matter(made):
    for late_s, points in ((0, 26), (1, 0)):
        time = (DUE + timedelta(seconds=late_s)).astimezone(UTC)
        for zone in (timezone(timedelta(hours=14)), None):  # without one: in UTC
            written = time.astimezone(zone) if zone else time.replace(tzinfo=None)
            assert total(made.add(1, [ADA], written, *FULL), hard_deadline_days=0) == points
    assert total(made.folder) == 26  # without a policy, lateness costs nothing


def test_late_by_nobody_knows_how_much_is_no_grade_until_it_is_said(made):
    made.add("canvas_5_1", [Student("canvas:5", "Ada", canvas_id="5")], None, *FULL, is_late=True)
    folder = made.add("canvas_6_1", [Student("canvas:6", "Bo", canvas_id="6")], None, *FULL)
    found = grade(folder, "Ada")
    assert found.total is None and "override of days_late" in found.why
    assert total(folder, "Bo") == 26
    assert any("counts as on time" in remark for remark in grade(folder, "Bo").remarks)
    decide(folder, overrides=[("canvas_5_1", "days_late", "2")])
    assert total(folder, "Ada", percent_per_day=Decimal(25)) == 13


def test_a_part_of_which_no_source_knows_is_blank_or_zero(made):
    folder = made.add(1, [ADA], at(-60), *FULL)
    text = scores([[BO, [4, 2], at(-60), "52"]])
    decide(folder, written=text.replace("(4.0 pts)", "(5.0 pts)"))
    assert (total(folder), total(folder, "008")) == (None, None)
    assert (total(folder, missing="zero"), total(folder, "008", missing="zero")) == (26, 6)
    assert book(folder).notes == (
        "the written answers are worth 7 points on Gradescope, but 6 in assignment.toml: the "
        "outlines differ",
        "not in written: Ada Byron <ada@x.edu> (007): submission_1",
        "not in coding: Bo Chen <bo@x.edu> (008): written.csv, line 2",
    )


def test_what_doesnt_count_is_never_a_zero_and_results_that_count_have_one_total(made):
    folder = made.add(1, [ADA], at(-60))
    with Store.existing(folder, writes=True) as store:
        store.add_submissions(made.folder, "folder", [Submission("x", (BO,))])
    found = [(each.total, each.why) for each in book(folder, missing="zero").grades()]
    assert found == [(None, "submission_1: staff fault"), (None, "x: not graded")]
    with Store.existing(folder, writes=True) as store:
        store.db.execute("DELETE FROM counted")
    assert grade(folder).why == "submission_1: staff fault"
    made.add(2, [BO], at(-60), *FULL)
    made.add(3, [CY], at(-60), 10, 6)
    with pytest.raises(UsageError, match="worth 16 and 26 points"):
        book(folder)


@pytest.mark.parametrize("points, total_", [("3", 3), ("6", "4.5")])
@pytest.mark.parametrize("scored", [[4, 0], None])
def test_a_whole_part_by_override_is_extra_credit_above_the_points_to_reach(
    made, points, total_, scored
):
    folder = made.add(1, [ADA], at(-60), 0, 0, 0)
    text = scores([[ADA, scored, at(-60), "51" if scored else ""]])
    text = text.replace("(2.0 pts)", "(1.0 pts)")  # the sheet says what the part is worth
    decide(folder, written=text, overrides=[("007", "written", points)])
    assert total(folder, extra_credit_cap=Decimal("0.5")) == Fraction(total_)


HEAD = ",".join(SCORES)
GRADED = "Ada,Byron,007,ada@x.edu,,5.5,6.0,Graded,51,2027-02-01 10:00:00 -0800,10:01:00,0,2"
TIME = "2027-02-01 10:00:00 -0800"
# Odd rows of written scores: further columns, and what is replaced in GRADED by what.
ODD = [
    ("", "5.5", "-1"),
    ("", "5.5", "5.5*"),
    ("", TIME, ""),
    ("", " -0800", ""),
    ("", TIME, "1.2.2027 10:00"),
    ("", "007,ada@x.edu", ","),
    (",1: A (4 pts)", "0,2", "0,2,4"),
    (",1: A (4 pts)", "0,2", "0,2,"),
]
REFUSED = {
    "overrides": [
        [("007", "1e", "1"), ("ada@x.edu", "1E ", "2")],
        [("submission_1", "1e", "1"), ("008", "1e", "2")],
        [("007", "1e", "1"), ("007", "1e-1-hidden", "2")],
        [("007", "coding", "1"), ("007", "1d", "2")],
        [("007", "coding", "26.5")],
        [("007", "1e", "16.01")],
        [("007", "1e", "-1")],
        [("007", "days_late", "1.5")],
        [("007", "1f", "1")],
        [("009", "1e", "1")],
        [("", "1e", "1")],
    ],
    "extensions": [
        [("007", at(-1))],
        [("007", "2027-02-03 23:59")],
        [("submission_1", at(9)), ("008", at(9))],
    ],
    "withheld": [[("007",), ("ada@x.edu",)]],
    "excuses": [
        [("007", "ill", "Grace", "1/20/2027")],
        [("007", "", "Grace", "2027-01-20")],
        [("1",)],  # a group's number, and a student's ID
    ],
    "late_days": [[("007", "1"), ("ada@x.edu", "1")], [("007", "-1")], "student,day\n"],
    "extension": ["x"],
    "written": [
        f"{HEAD}{more}\n{GRADED.replace(before, after).replace(',51,', ',,')}\n"
        for more, before, after in ODD
    ],
}


def test_decisions_that_cant_be_are_one_line(made, capsys):
    made.add(1, [ADA, BO], at(-60), *FULL)
    folder = made.add(2, [CY], at(-60), *FULL)
    found = {}
    for name, cases in REFUSED.items():
        for number, rows in enumerate(cases):
            code = decide(folder, **{name: rows})
            out, err = capsys.readouterr()
            found[f"{name}, {number}"] = f"exit {code}\n{err or out.splitlines()[-1]}"
        with Store.existing(folder, writes=True) as store:
            store.db.execute("DELETE FROM decisions")
    check("grades_decisions", found, {str(folder.parent): "HERE"})


def test_all_files_are_stored_or_none_and_each_replaces_its_kind(made):
    folder = made.add(1, [ADA, BO], at(-60), *FULL)
    assert decide(folder, excuses=[("007",)], late_days=[("008", "1")]) == 0
    assert decide(folder, excuses=[("008",)], overrides=[("008", "1e", "x")]) == 2
    assert [one.state for one in book(folder).grades()] == ["excused", "graded"]
    assert decide(folder, excuses=[("008",)], withheld=[("008",)]) == 0  # outweighs excused
    assert [one.state for one in book(folder).grades()] == ["graded", "withheld"]
    with Store.existing(folder) as store:
        history = [row["what"] for row in store.rows("SELECT what FROM history")]
    assert history == ["decide excuses.csv: 1 row", "decide late_days.csv: 1 row",
                       "decide excuses.csv: 1 row", "decide withheld.csv: 1 row"]  # fmt: skip


EXCEL = """Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)
"Byron, Ada",125,000777,ada,S1,
"Chen, Bo",999,000125,bo,S1,
"""


def test_an_id_without_its_zeros_goes_to_nobody_else(made, capsys):
    """125 is the number of one student in Canvas; Excel makes it from 000125, another's ID."""
    made.add(1, [student("Ada Byron", "000777", "ada@x.edu")], at(-60), *FULL)
    folder = made.add(2, [student("Bo Chen", "000125", "bo@x.edu")], at(-60), *FULL)
    (canvas,) = put(folder, canvas=EXCEL)
    for text, message in (
        ("000125", ""),
        ("0125", "matches no submission"),
        ("777", "would match with leading zeros"),
        ("125", "may mean any of"),
    ):
        decide(folder, extensions=[(text, at(9))])
        capsys.readouterr()
        assert command("grades", folder, "--canvas", canvas) == (2 if message else 0)
        err = capsys.readouterr().err
        start = "classroom: extensions.csv, line 2: " if message else ""
        assert message in err and err.startswith(start)


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
