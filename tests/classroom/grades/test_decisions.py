"""What staff decided, and what can't be: `decide` stores it, and `grades` applies it."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from classroom.grades.decisions import is_extra
from classroom.store import Store
from classroom.submissions import Student, Submission
from grading.errors import UsageError
from tests.classroom.grades.building import (
    ADA,
    BO,
    DUE,
    LATE,
    SCORES,
    Class,
    at,
    decide,
    put,
    read_csv,
    scores,
    student,
)  # fmt: skip
from tests.snapshots import check

FULL = (10, 6, 10)
CY = student("Cy", "1", "cy@x.edu")


FIRST = [(1, [ADA], at(-60), *FULL)]
TWO_UPLOADS = [
    ("upload_1", [Student("ada.zip", "ada")], None, *FULL),
    ("moodle_657", [Student("moodle:657", "Ada King", moodle_id="657")], None, 1, 0, 0),
]
AGAIN = [
    (1, [Student("a@y.org", "Ada Byron", "a@y.org", "007")], at(-60), 1, 0, 0),
    (2, [ADA], at(2000), *FULL),
]
ELSEWHERE = [
    ("moodle_657", [Student("m", "Bo", "bo@x.edu", moodle_id="657")], None, *FULL),
    (3, [BO], at(-60), 1, 0, 0),
]
# In Los Angeles, clocks go forward on 2027-03-14 at 2:00; this is 23 hours and 31 minutes.
SATURDAY = datetime(2027, 3, 13, 23, 59, tzinfo=timezone(timedelta(hours=-8)))
MONDAY = datetime(2027, 3, 15, 0, 30, tzinfo=timezone(timedelta(hours=-7)))
END, EAST = DUE.astimezone(UTC), timezone(timedelta(hours=14))
TOO_LATE = END + timedelta(seconds=1)
AT_THE_END = [  # a time without a zone is in UTC
    (1, [student("On Time", "1", "")], END.astimezone(EAST), *FULL),
    (2, [student("On Time", "2", "")], END.replace(tzinfo=None), *FULL),
    (3, [student("Too Late", "3", "")], TOO_LATE.astimezone(EAST), *FULL),
    (4, [student("Too Late", "4", "")], TOO_LATE.replace(tzinfo=None), *FULL),
]
MARKED = [
    ("canvas_5_1", [Student("canvas:5", "Ada", canvas_id="5")], LATE, *FULL),
    ("canvas_6_1", [Student("canvas:6", "Bo", canvas_id="6")], None, *FULL),
]
WRITTEN = scores([[BO, [4, 2], at(-60), "52"]]).replace("(4.0 pts)", "(5.0 pts)")
# 125 is the number of one student in Canvas; Excel makes it from 000125, another's ID.
ZEROS = [
    (1, [student("Ada Byron", "000777", "ada@x.edu")], at(-60), *FULL),
    (2, [student("Bo Chen", "000125", "bo@x.edu")], at(-60), *FULL),
]
EXCEL = """Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)
"Byron, Ada",125,000777,ada,S1,
"Chen, Bo",999,000125,bo,S1,
"""
AT_ONCE, BY_DAY = {"hard_deadline_days": 0}, {"percent_per_day": Decimal(10)}
# The policy, what is handed in, and the files that `decide` stores, or `grades` fills.
CLASSES = {
    "the latest counts": (AT_ONCE, AGAIN, {}),
    "it counts after an extension": (AT_ONCE, AGAIN, {"extensions": [("007", at(2880))]}),
    "nobody guesses which is the latest": ({}, ELSEWHERE, {}),
    "people.csv says which counts": ({}, ELSEWHERE, {"people": [("657", "submission_3")]}),
    "a day has 24 hours": (
        BY_DAY,
        [(1, [ADA], MONDAY, *FULL)],
        {"extensions": [("007", SATURDAY)]},
    ),
    "a second late in any zone": (AT_ONCE, AT_THE_END, {}),
    "without a policy, lateness costs nothing": ({}, AT_THE_END, {}),
    "late by nobody knows how much": (BY_DAY, MARKED, {}),
    "it is said": (BY_DAY, MARKED, {"overrides": [("canvas_5_1", "days_late", "2")]}),
    "a part that no source knows is blank": ({}, FIRST, {"written": WRITTEN}),
    "it is zero": ({"missing": "zero"}, FIRST, {"written": WRITTEN}),
    "it is given by override": (
        {},
        FIRST,
        {"written": WRITTEN, "overrides": [("007", "written", "3")]},
    ),
    "extra credit by override has the same cap": (
        {"extra_credit_cap": Decimal(0)},
        FIRST,
        {"written": scores([[ADA, [4, 0], at(-60), "51"]]), "overrides": [("007", "2", "2")]},
    ),
    "lateness takes no more than there is": ({"percent_per_day": Decimal(60)}, AGAIN, {}),
    "what gets no points takes no late days": (AT_ONCE | {"late_days": 2}, AGAIN, {}),
}
for name in ("moodle:657", "657", "moodle_657", "Ada King"):
    for row in (("ada.zip", name), (name, "upload_1")):
        CLASSES[f"{row[0]} is {row[1]}"] = ({}, TWO_UPLOADS, {"people": [row]})
for text in ("000125", "0125", "777", "125"):
    files = {"extensions": [(text, at(9))], "canvas": EXCEL}
    CLASSES[f"an extension for {text}"] = ({}, ZEROS, files)
# A whole part by override is extra credit above the points to reach. The sheet says what it is
# worth, not Gradescope.
for points in ("3", "6"):
    for scored in ([4, 0], None):
        text = scores([[ADA, scored, at(-60), "51" if scored else ""]])
        files = {"written": text.replace("(2.0 pts)", "(1.0 pts)")}
        files |= {"overrides": [("007", "written", points)]}
        title = f"all written answers by override: {points} instead of {scored}"
        CLASSES[title] = ({"extra_credit_cap": Decimal("0.5")}, FIRST, files)


def graded(folder, command, *words) -> str:
    """Return the grades, and what `grades` says."""
    code, out, err = command("grades", folder, *words)
    if code:
        return err
    head, *rows = read_csv(folder / "grades" / "grades.csv")
    lines = []
    for row in rows:
        grade = dict(zip(head, row, strict=True))
        days = f", {days} late days" if (days := grade["late_days_charged"]).strip("0") else ""
        lines.append(f"{grade['name']}: {grade['state']} {grade['total']}{days}".rstrip())
    return "\n".join([*lines, *(line for line in out.splitlines() if str(folder) not in line)])


def test_grades_follow_what_was_handed_in_and_what_was_decided(tmp_path, policy, command):
    found = {}
    for number, (title, (rules, handed_in, files)) in enumerate(CLASSES.items()):
        policy(**rules)
        made = Class(tmp_path / str(number) / "class")
        for each in handed_in:
            made.add(*each)
        paths = put(made.folder, **files)
        words = ["--canvas", paths.pop()] if "canvas" in files else []
        if paths:
            command("decide", made.folder, *paths)
        found[title] = graded(made.folder, command, *words)
    check("grades_classes", found)


def test_what_doesnt_count_is_never_a_zero_and_results_that_count_have_one_total(
    made, policy, command
):
    policy(missing="zero")
    folder = made.add(1, [ADA], at(-60))
    with Store.existing(folder, writes=True) as store:
        store.add_submissions(made.folder, "folder", [Submission("x", (BO,))])
    incomplete = "Ada Byron <ada@x.edu> (007): submission_1: staff fault"
    text = graded(folder, command)
    assert incomplete in text and "Bo Chen <bo@x.edu> (008): x: not graded" in text
    assert text.startswith("Ada Byron: incomplete\nBo Chen: incomplete\n")
    with Store.existing(folder, writes=True) as store:
        store.db.execute("DELETE FROM counted")
    assert incomplete in graded(folder, command)
    made.add(2, [BO], at(-60), *FULL)
    made.add(3, [CY], at(-60), 10, 6)
    assert "worth 16 and 26 points" in graded(folder, command)


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
    (",1: A (1.2.3 pts)", "0,2", "0,2,4"),  # not a question's column
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
        # What isn't an exact number, or is ambiguous.
        *([("007", "1e", text)] for text in ("-", "3.", "1e3", "NaN", "1" * 10, "١٢", "12,5")),
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
    "late_days": [
        [("007", "1"), ("ada@x.edu", "1")],
        [("007", "-1")],
        "student,day\n",
        "student,days,date\n007,1,1/20/2027\n",
        "student,days\n007,\udcff\n",  # not UTF-8
        'student,days\n"007,1\n',
        "student,days,Days\n",
        "sep=;\nstudent;days\n007;7;5\n",
    ],
    "extension": ["x"],
    "moodle": ["Identifier,Full name\nParticipant 7,Ada\n"],
    "written": [
        f"{HEAD}{more}\n{GRADED.replace(before, after).replace(',51,', ',,')}\n"
        for more, before, after in ODD
    ],
}


def test_decisions_that_cant_be_are_one_line(made, command):
    made.add(1, [ADA, BO], at(-60), *FULL)
    folder = made.add(2, [CY], at(-60), *FULL)
    found = {}
    for name, cases in REFUSED.items():
        for number, rows in enumerate(cases):
            code, out, err = command("decide", folder, *put(folder, **{name: rows}))
            found[f"{name}, {number}"] = f"exit {code}\n{err or out.splitlines()[-1]}"
        with Store.existing(folder, writes=True) as store:
            store.db.execute("DELETE FROM decisions")
    check("grades_decisions", found, {str(folder.parent): "HERE"})


def test_all_files_are_stored_or_none_and_each_replaces_its_kind(made, command):
    folder = made.add(1, [ADA, BO], at(-60), *FULL)
    days = "student,days,reason,author,date\n008,1,ill,Grace,2027-01-20\n"
    assert decide(folder, excuses=[("007",)], late_days=days) == 0
    assert decide(folder, excuses=[("008",)], overrides=[("008", "1e", "x")]) == 2
    assert graded(folder, command).startswith("Ada Byron: excused\nBo Chen: graded 26.00\n")
    assert decide(folder, excuses=[("008",)], withheld=[("008",)]) == 0  # outweighs excused
    assert graded(folder, command).startswith("Ada Byron: graded 26.00\nBo Chen: withheld\n")
    with Store.existing(folder) as store:
        history = [row["what"] for row in store.rows("SELECT what FROM history")]
        (said,) = store.rows("SELECT reason, author, date FROM decisions WHERE kind = 'late_days'")
    assert tuple(said) == ("ill", "Grace", "2027-01-20")
    assert history == ["decide excuses.csv: 1 row", "decide late_days.csv: 1 row",
                       "decide excuses.csv: 1 row", "decide withheld.csv: 1 row"]  # fmt: skip


QUESTIONS = ',1: 2(a) Why (4.0 pts),"2.1: 3(a) Copying, again (2 pts)",3: Bonus (0 pts),Notes'
IN_GERMAN = [line.replace(",", ";").replace("5.5", "5,5") for line in ("\ufeff" + HEAD, GRADED)]
READ = {
    "a total": (HEAD, GRADED),
    "a column for each question": (HEAD + QUESTIONS, GRADED + ",4.0,1,.5,later"),
    "the total is rounded, too": (HEAD + QUESTIONS, GRADED + ",4.0,1.49,0,"),
    "semicolons and decimal commas": IN_GERMAN,
    "a list of one's own": ("Name,SID,Email,Total Score", "A,7,a@x,3", "B,8,b@x,"),
    "what isn't graded is a gap, and what is missing has no points": (
        HEAD,
        "A,A,1,a@x,,,6.0,Ungraded,52,2027-02-01 10:00:00 -0800,0,0,1",
        "A,A,1,b@x,,,6.0,Missing,,,,0,0",
        "A,A,1,c@x,,,6.0,,53,,,0,1",
        "A,A,1,d@x,,,6.0,Missing,54,,,0,1",
    ),
}


def test_a_total_or_a_column_for_each_question_is_read(made):
    found = {}
    for title, lines in READ.items():
        assert decide(made.folder, written="\r\n".join(lines)) in (0, 1)
        with Store.existing(made.folder) as store:
            rows = store.rows("SELECT * FROM written")
        found[title] = "\n".join(" | ".join(map(str, row)) for row in rows)
    check("grades_written", found)


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
