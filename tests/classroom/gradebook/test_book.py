"""Grades: decisions, groups, several submissions, times, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import pytest

from grading.errors import UsageError
from tests.classroom.gradebook.building import (
    ADA,
    BO,
    DUE,
    FAULT,
    Student,
    at,
    course,
    put,
    record,
    scores,
)
from tests.snapshots import check
from tools.classroom.folder import ClassFolder
from tools.classroom.gradebook.bookkeeping import find
from tools.classroom.gradebook.sources import read_sources
from tools.classroom.roster import RollEntry
from tools.classroom.roster import Student as OfRoll

FULL = record(10, 6, 10)


@pytest.fixture
def made(export, tmp_path, policy):
    """Return made((number, people, minutes after the due date, record), ...): a class's folder."""

    def make(*submissions):
        for number, people, minutes, found in submissions:
            export.add(number, people, at(minutes), found)
        return export.into(tmp_path / "class")

    return make


def book(folder, latest=False, **grading):
    return read_sources(ClassFolder.existing(folder), course(**grading), None, latest).book


def total(folder, who=ADA, latest=False, **grading) -> Fraction | None:
    found = book(folder, latest, **grading)
    return found.grade(find(found, who.email)).total


def fault(folder, **keys) -> str:
    with pytest.raises(UsageError) as caught:
        book(folder, **keys).grades()
    return str(caught.value)


def test_code_alone_makes_a_grade_and_a_note(made):
    folder = made((1, [ADA], -60, record(10, 6, 0.5)))
    assert total(folder) == Fraction("16.5")
    assert book(folder).notes == (
        f"no written scores in {folder}/gradebook: only coding is graded",
    )


# Several submissions ------------------------------------------------------------------------------
def test_a_resubmission_after_an_extension_needs_latest(made):
    folder = made((1, [ADA], -60, record(1, 0, 0)), (2, [ADA], 2000, FULL))
    put(folder, extensions=[("007", at(2880))])
    # The first is still on the roll, because the class was graded before the second arrived.
    with ClassFolder.existing(folder).locked():
        ClassFolder.existing(folder).enroll(
            [RollEntry("submission_1", (OfRoll("ada@x.edu", "Ada Byron", "007", "ada@x.edu"),),
                       at(-60))]
        )  # fmt: skip
    assert "has submission_1 and submission_2" in fault(folder)
    assert total(folder, latest=True, hard_deadline_days=0) == 26


def test_where_times_dont_tell_the_latest_nobody_guesses(tmp_path, policy):
    folder = ClassFolder.create(tmp_path / "class")
    with folder.locked():
        for key in ("one", "two"):
            folder.enroll([RollEntry(key, (OfRoll("canvas:5", "Ada"),))])
            folder.write_record(key, "r1", FULL)
    assert "don't tell which is the latest" in fault(folder.path, latest=True)


# Clocks -------------------------------------------------------------------------------------------
def test_a_day_has_24_hours_whatever_clocks_do(made):
    # In Los Angeles, clocks go forward on 2027-03-14 at 2:00.
    folder = made((1, [ADA], 0, FULL))
    roll = ClassFolder.existing(folder)
    due = datetime(2027, 3, 13, 23, 59, tzinfo=timezone(timedelta(hours=-8)))
    handed_in = datetime(2027, 3, 15, 0, 30, tzinfo=timezone(timedelta(hours=-7)))  # 23:31 later
    with roll.locked():
        roll.enroll([RollEntry("submission_1", roll.roll()["submission_1"].students, handed_in)])
    put(folder, extensions=[("007", due)])
    assert total(folder, percent_per_day=Decimal(10)) == Fraction("23.4")  # one day, not two


@pytest.mark.parametrize(
    "due, hours, minutes, said",
    [
        # In Los Angeles, clocks went back in the night in between: 24 hours and 30 minutes.
        ("2026-10-31T20:00-07:00", -8, 24 * 60 + 30,
         "2 days late (days have 24 hours; by the clock, at -07:00 and then at -08:00, it would be "
         "1 day late)"),
        ("2026-10-31T20:00-07:00", -8, 30, "1 day late (days have 24 hours; by the clock, at "
         "-07:00 and then at -08:00, it would be on time)"),
        ("2027-03-13T23:59-08:00", -7, 23 * 60 + 31, "1 day late (days have 24 hours; by the "
         "clock, at -08:00 and then at -07:00, it would be 2 days late)"),
        ("2026-10-31T20:00-07:00", -8, 30 * 60, "2 days late"),  # either way
        ("2026-10-31T20:00-07:00", 2, 24 * 60 + 30, "2 days late"),  # written in another zone
    ],
)  # fmt: skip
def test_a_remark_says_where_a_change_of_clocks_matters(made, due, hours, minutes, said):
    folder = made((1, [ADA], 0, FULL))
    roll, new = ClassFolder.existing(folder), datetime.fromisoformat(due)
    when = (new + timedelta(minutes=minutes)).astimezone(timezone(timedelta(hours=hours)))
    with roll.locked():
        roll.enroll([RollEntry("submission_1", roll.roll()["submission_1"].students, when)])
    extended = replace(book(folder), due=new)
    remark = extended.grades()[0].remarks[1]
    assert remark == f"coding: handed in {when.isoformat(' ')}: {said}"


@pytest.mark.parametrize(
    "zone", [UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-11))]
)
def test_the_zone_in_which_a_time_is_written_doesnt_matter(made, zone):
    folder = made((1, [ADA], 0, FULL))
    roll = ClassFolder.existing(folder)
    with roll.locked():
        students = roll.roll()["submission_1"].students
        roll.enroll([RollEntry("submission_1", students, DUE.astimezone(zone))])
    assert total(folder, hard_deadline_days=0) == 26


def test_a_time_without_a_zone_is_in_utc(made):
    folder = made((1, [ADA], 0, FULL))
    roll = ClassFolder.existing(folder)
    naive = DUE.astimezone(UTC).replace(tzinfo=None) + timedelta(seconds=1)
    with roll.locked():
        students = roll.roll()["submission_1"].students
        roll.enroll([RollEntry("submission_1", students, naive)])
    assert total(folder, hard_deadline_days=0) == 0


def test_late_by_nobody_knows_how_much_is_no_grade_until_it_is_said(tmp_path, policy):
    folder = ClassFolder.create(tmp_path / "class")
    entries = [RollEntry("canvas_5_1", (OfRoll("canvas:5", "Ada Byron"),), late=True),
               RollEntry("canvas_6_1", (OfRoll("canvas:6", "Bo Chen"),))]  # fmt: skip
    with folder.locked():
        folder.enroll(entries)
        for entry in entries:
            folder.write_record(entry.submission_id, "r1", FULL)
    (folder.path / "gradebook").mkdir()
    grades = {grade.person.name: grade for grade in book(folder.path).grades()}
    assert grades["Ada Byron"].total is None and "override of days_late" in grades["Ada Byron"].why
    assert grades["Bo Chen"].total == 26
    assert any("counts as on time" in remark for remark in grades["Bo Chen"].remarks)
    put(folder.path, overrides=[("canvas_5_1", "days_late", "2")])
    found = book(folder.path, percent_per_day=Decimal(50))
    assert found.grade(find(found, "Ada Byron")).total == 0


def test_gradescopes_lateness_counts_where_there_is_no_time(made):
    folder = made((1, [ADA], -60, FULL))
    text = scores([[ADA, [4, 0], None, "51"]]).replace("00:00:00", "25:00:00")
    put(folder, written=text)
    assert total(folder, percent_per_day=Decimal(10)) == 26 + 4 * Fraction(8, 10)
    put(folder, extensions=[("007", at(60))])
    assert total(folder, percent_per_day=Decimal(10)) == 26 + 4 * Fraction(9, 10)
    put(folder, written=text.replace("25:00:00", "-1:00:00"))
    assert total(folder, percent_per_day=Decimal(10)) == 30


# What is missing ----------------------------------------------------------------------------------
def test_a_part_of_which_no_source_knows_is_blank_or_zero(made):
    folder = made((1, [ADA], -60, FULL))
    put(folder, written=scores([[BO, [4, 2], at(-60), "52"]]))
    assert (total(folder), total(folder, BO)) == (None, None)
    assert (total(folder, missing="zero"), total(folder, BO, missing="zero")) == (26, 6)
    notes = book(folder).notes
    assert "not in written: Ada Byron <ada@x.edu> (007): submission_1" in notes
    assert "not in coding: Bo Chen <bo@x.edu> (008): written.csv, line 2" in notes


@pytest.mark.parametrize(
    "found, why",
    [
        (FAULT, "staff fault"),
        (FULL | {"again": ["1e-1-hidden"]}, "not finished"),
        (FULL | {"counts": False}, "graded (preview)"),
    ],
)
def test_what_doesnt_count_is_never_a_zero(made, found, why):
    folder = made((1, [ADA], -60, found))
    grade = book(folder, missing="zero").grades()[0]
    assert (grade.total, grade.why) == (None, f"submission_1: {why}")


@pytest.mark.parametrize("score", [None, "10", True, float("nan"), -1])
def test_a_record_whose_points_are_none_is_refused(made, score):
    tests = [dict(test) for test in FULL["results"]["tests"]]
    tests[1]["score"] = "NaN" if score != score else score
    folder = made((1, [ADA], -60, FULL | {"results": FULL["results"] | {"tests": tests}}))
    assert fault(folder).startswith("the record of submission_1, release r1 is damaged")


# Decisions ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("points, total_", [("3", 3), ("4", 4), ("5", "4.5"), ("6", "4.5")])
@pytest.mark.parametrize("scored", [[4, 0], None])
def test_a_whole_part_by_override_is_extra_credit_above_the_points_to_reach(
    made, points, total_, scored
):
    folder = made((1, [ADA], -60, record(0, 0, 0)))
    put(
        folder,
        written=scores([[ADA, scored, at(-60), "51" if scored else ""]]),
        overrides=[("007", "written", points)],
    )
    assert total(folder, extra_credit_cap=Decimal("0.5")) == Fraction(total_)


def test_an_override_of_a_group_is_for_each_of_its_members(made):
    folder = made((1, [ADA, BO], -60, record(0, 6, 0)))
    put(folder, overrides=[("submission_1", "1d", "2.5")])
    assert (total(folder), total(folder, BO)) == (Fraction("8.5"), Fraction("8.5"))


# What is decided, by file.
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
}


def test_decisions_that_cant_be_are_one_line(made):
    folder = made((1, [ADA, BO], -60, FULL), (2, [Student("Cy", "1", "cy@x.edu")], -60, FULL))
    found = {}
    for name, cases in REFUSED.items():
        for number, rows in enumerate(cases):
            put(folder, **{name: rows})
            found[f"{name}, {number}"] = fault(folder)
        (folder / "gradebook" / f"{name}.csv").unlink()
    put(folder, written=scores([]))
    (folder / "gradebook" / "written").mkdir()
    found["two sources of written scores"] = fault(folder)
    check("gradebook_decisions", found, {str(folder): "CLASS"})


EXCEL = """Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)
"Byron, Ada",125,000777,ada,S1,
"Chen, Bo",999,000125,bo,S1,
"""
NOBODY = {
    "000125": "",
    "000777": "",
    "0125": "matches no submission",
    "777": "would match with leading zeros",
    "125": "may mean any of",
}


@pytest.mark.parametrize("text", NOBODY)
@pytest.mark.parametrize("name", ["extensions", "excuses", "withheld", "overrides", "late_days"])
def test_an_id_without_its_zeros_goes_to_nobody_else(made, name, text):
    """125 is the number of one student in Canvas; Excel makes it from 000125, another's ID."""
    ada, bo = (Student(n, f"000{i}", f"{e}@x.edu") for n, i, e in
               (("Ada Byron", 777, "ada"), ("Bo Chen", 125, "bo")))  # fmt: skip
    folder = made((1, [ada], -60, FULL), (2, [bo], -60, FULL))
    more = {"extensions": (at(9),), "overrides": ("1d", "8"), "late_days": ("1",)}
    put(folder, canvas=EXCEL, **{name: [(text, *more.get(name, ()))]})
    if NOBODY[text]:
        said = fault(folder)
        assert said.startswith(f"{name}.csv, line 2: ") and NOBODY[text] in said
    else:
        assert len(book(folder).grades()) == 2


def test_a_number_in_canvas_and_a_student_id_of_two_people_is_refused(made):
    """Both are the same kind of ID here: two people would have had an extension."""
    folder = made((1, [Student("Bo Chen", "125", "bo@x.edu")], -60, FULL))
    put(folder, canvas=EXCEL.replace("000125", "B-1"), extensions=[("125", at(9))])
    assert "'125' may mean any of" in fault(folder)


def test_a_group_and_one_of_its_members_are_not_the_same(made):
    folder = made((1, [Student("Cy", "1", "cy@x.edu"), BO], -60, FULL))
    put(folder, excuses=[("1",)])
    assert "'1' may mean any of" in fault(folder)
    put(folder, excuses=[("submission_1",)])
    assert [grade.state for grade in book(folder).grades()] == ["excused", "excused"]


def test_withheld_outweighs_excused(made):
    folder = made((1, [ADA], -60, FULL))
    put(folder, withheld=[("007",)], excuses=[("007",)])
    assert book(folder).grades()[0].state == "withheld"


def test_an_outline_with_other_points_is_noted(made):
    folder = made((1, [ADA], -60, FULL))
    text = scores([[ADA, [4, 2], at(-60), "51"]]).replace("6.0", "7.0")
    put(folder, written=text)
    assert book(folder).notes == (
        "the written answers are worth 7 points on Gradescope, but 6 in assignment.toml: the "
        "outlines differ",
    )


def test_records_of_one_release_have_one_total(made):
    tests = FULL["results"]["tests"][:2]
    other = FULL | {"results": FULL["results"] | {"tests": tests}}
    folder = made((1, [ADA], -60, FULL), (2, [BO], -60, other))
    assert "16 and 26 points" in fault(folder)
