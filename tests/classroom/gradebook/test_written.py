"""Written scores, as Gradescope exports them."""

import zipfile
from datetime import timedelta
from fractions import Fraction

import pytest

from grading.errors import UsageError
from tools.classroom.gradebook.handed import question_of
from tools.classroom.gradebook.written import read_written, uniformly_extra

HEAD = (
    "First Name,Last Name,SID,Email,Sections,Total Score,Max Points,Status,Submission ID,"
    "Submission Time,Lateness (H:M:S),View Count,Submission Count"
)
GRADED = "Ada,Byron,007,ada@x.edu,,5.5,6.0,Graded,51,2027-02-01 10:00:00 -0800,10:01:00,0,2"
EVALUATED = (
    "Assignment Submission ID,Question Submission ID,First Name,Last Name,SID,Email,Sections,Score,"
    'Submission Time,Correct,"No, scale",Adjustment,Comments,Grader,Tags'
)


def extra(title: str) -> bool:
    return title.startswith("3")


def read(tmp_path, *lines: str, end: str = "\n"):
    path = tmp_path / "written.csv"
    path.write_text(end.join(lines) + end, encoding="utf-8", newline="")
    return read_written(path, extra)


def test_a_total_without_questions(tmp_path):
    found = read(tmp_path, HEAD, GRADED, end="\r\n")
    (mention,) = found.mentions
    assert (mention.name, mention.value("sid"), mention.value("email")) == (
        "Ada Byron", "007", "ada@x.edu"
    )  # fmt: skip
    handed = mention.said
    assert (handed.submission, handed.attempt, handed.gap) == ("51", 2, "")
    assert handed.time.isoformat() == "2027-02-01T10:00:00-08:00"
    assert handed.late_by == timedelta(hours=10, minutes=1)
    assert [(i.id, i.points, i.most) for i in handed.items] == [("written", Fraction(11, 2), 6)]
    assert found.most == 6


def test_a_column_for_each_question(tmp_path):
    head = HEAD + ',1: 2(a) Why (4.0 pts),"2.1: 3(a) Copying, again (2 pts)",Notes'
    found = read(tmp_path, head, GRADED + ",4.0,1.5,later")
    items = found.mentions[0].said.items
    assert [(i.id, i.points, i.most, i.is_extra, i.remark) for i in items] == [
        ("1", 4, 4, False, "2(a) Why"),
        ("2.1", Fraction(3, 2), 2, True, "3(a) Copying, again"),
    ]


def test_what_is_not_graded_is_a_gap_and_what_is_missing_has_no_points(tmp_path):
    lines = [
        "A,A,1,a@x,,,6.0,Ungraded,52,2027-02-01 10:00:00 -0800,00:00:00,0,1",
        "B,B,2,b@x,,,6.0,Missing,,,,0,0",
        "C,C,3,c@x,,,6.0,,53,,,0,1",
    ]
    a, b, c = (m.said for m in read(tmp_path, HEAD, *lines).mentions)
    assert (a.gap, b.gap, c.gap) == (
        "written.csv, line 2: Ungraded", "", "written.csv, line 4: Ungraded"
    )  # fmt: skip
    assert a.items == b.items == c.items == ()


def test_semicolons_decimal_commas_and_a_byte_order_mark_are_read(tmp_path):
    german = [line.replace(",", ";").replace("5.5", "5,5") for line in ("\ufeff" + HEAD, GRADED)]
    assert read(tmp_path, *german).mentions[0].said.items[0].points == Fraction(11, 2)


def test_a_name_in_one_column_is_read(tmp_path):
    found = read(tmp_path, "Name,SID,Email,Total Score", "Ada Byron,7,a@x,3")
    assert found.mentions[0].name == "Ada Byron" and found.most is None


@pytest.mark.parametrize(
    "before, after, message",
    [
        ("5.5", "-1", "written has -1 points; remove negative points on Gradescope, because"),
        ("5.5", "5.5*", "Total Score = '5.5*' should be a number such as 12.5"),
        ("10:01:00", "10h", "Lateness (H:M:S) = '10h' should look like 26:05:00"),
        ("10:01:00", "9" * 20 + ":00:00", "is too long"),
        (" -0800", "", "the time '2027-02-01 10:00:00' has no time zone; add one, such as -0800"),
        ("2027-02-01 10:00:00 -0800", "1.2.2027 10:00",
         "'1.2.2027 10:00' should be a time such as"),
        ("007,ada@x.edu", ",", "Email, SID and Submission ID are all empty"),
    ],
)  # fmt: skip
def test_a_row_that_cant_be_is_named(tmp_path, before, after, message):
    line = GRADED.replace(before, after).replace(",51,", ",,")
    with pytest.raises(UsageError) as caught:
        read(tmp_path, HEAD, line)
    assert str(caught.value).startswith("written.csv, line 2: ")
    assert message in str(caught.value)


def test_questions_have_to_sum_to_the_total_but_for_rounding(tmp_path):
    head = HEAD + ",1: A (3.0 pts),2: B (3.0 pts)"
    assert read(tmp_path, head, GRADED + ",2.75,2.74").mentions[0].said.items[1].points == Fraction(
        "2.74"
    )
    with pytest.raises(UsageError, match="Total Score = 5.5, but the questions add up to 4.5"):
        read(tmp_path, head, GRADED + ",3,1.5")
    with pytest.raises(UsageError, match="'2: B .* is empty, but there is a Total Score"):
        read(tmp_path, head, GRADED + ",3,")


def test_max_points_have_to_agree(tmp_path):
    with pytest.raises(UsageError, match="line 3: Max Points = 7, but 6 in line 2"):
        read(tmp_path, HEAD, GRADED, GRADED.replace("6.0", "7.0"))


def evaluations(folder):
    folder.mkdir()
    rows = {
        "1_2_a__Why.csv": [
            "51,1,Ada,Byron,7,a@x,,3.5,2027-02-01 10:00:00 -0800,true,false,-0.5,,Grader,",
            "52,2,Bo,Chen,8,b@x,,1,2027-02-01 10:00:00 -0800,false,TRUE,,,Grader,",
            "Rubric Numbers,,,,,,,,,1,2,,,,",
            "Point Values,,,,,,,,,4.0,1.0",
        ],
        "2_3_a__Copying.csv": [
            "51,3,Ada,Byron,7,a@x,,2,2027-02-01 10:00:00 -0800,true,false,,,Grader,",
            "52,4,Bo,Chen,8,b@x,,,2027-02-01 10:00:00 -0800,false,false,,,,",
        ],
    }
    for name, lines in rows.items():
        (folder / name).write_text("\n".join([EVALUATED, *lines]) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_evaluations_by_rubric_item(tmp_path, packed):
    path = evaluations(tmp_path / "written")
    if packed:
        with zipfile.ZipFile(tmp_path / "written.zip", "w") as archive:
            for each in path.iterdir():
                archive.write(each, f"Written/{each.name}")
        path = tmp_path / "written.zip"
    ada, bo = read_written(path, extra).mentions
    assert [(i.id, i.points, i.is_extra) for i in ada.said.items] == [
        ("1", Fraction(7, 2), False), ("2", 2, True)
    ]  # fmt: skip
    assert ada.said.items[0].remark == "2 a  Why; Correct; adjustment -0.5"
    assert (
        bo.said.items == () and bo.said.gap == "1_2_a__Why.csv, line 3: 1 question without a score"
    )


def test_what_holds_no_evaluations_is_refused(tmp_path):
    (tmp_path / "written").mkdir()
    with pytest.raises(UsageError, match="written has no evaluations; expected files such as"):
        read_written(tmp_path / "written", extra)
    (tmp_path / "written.zip").write_bytes(b"PK")
    with pytest.raises(UsageError, match="written.zip can't be read as a zip"):
        read_written(tmp_path / "written.zip", extra)


@pytest.mark.parametrize(
    "title, number",
    [("3(a) Copying", "3a"), ("3a: Copying", "3a"), (" (12) (b)", "12b"), ("3c-ii", "3c"),
     ("3 apples", ""), ("Copying 3a", ""), ("", ""), ("2 a  Why", "2a")],
)  # fmt: skip
def test_a_title_may_begin_with_the_sheets_number(title, number):
    assert question_of(title) == number


def test_extra_credit_is_told_by_the_sheets_number_or_is_that_of_all():
    assert uniformly_extra({"2a": True, "3a": True})("anything")
    assert not uniformly_extra({"2a": False})("")
    assert not uniformly_extra({})("")
    mixed = uniformly_extra({"2a": False, "3a": True})
    assert mixed("3(a) Copying") and not mixed("2a Why")
    with pytest.raises(UsageError, match="the question 'Copying' doesn't tell which"):
        mixed("Copying")
