"""From an export of 42 students to Canvas's CSV: every cell was computed by hand in the table.

The policy: 15 minutes of grace, 2 late days, 10 % for each further day, nothing after the third
day, at most 1.5 points of extra credit. There are 30 points, 26 for code and 4 for written answers,
and 2 more of extra credit.
"""

import re
from decimal import Decimal

from classroom.cells import Number, write
from tests.classroom.grades.building import at, decide, put, read_csv, scores, student

# name | student ID | address | code, by test (10, 6, 10) | written (4, and 2 of extra credit)
#   | days from the due date to the code | to the written answers | Canvas's cell | how
# 0.01 days are 14.4 minutes, within the grace period; 0.011 days are 15.84 minutes, and late.
# `=0030` is the code of the group's first student. "-": nothing handed in; "?": not graded yet.
TABLE = """
Ada Byron            | 0001 | ada@x.edu   | 10 6 10     | 4 2     | -1    | -1    | 31.50 | 26 + 4 + 1.5: cap
Bo Chen              | 0002 | bo@x.edu    | 10 6 0      | 4 0     | -1    | -1    | 20.00 | 16 + 4
عمر الخطيب           | 0003 | omar@x.edu  | 10 6 10     | 3.5 1.5 | -2    | -2    | 31.00 | 26 + 3.5 + 1.5
Byron, Ada           | 0004 | other@x.edu | 0 6 10      | 4 1     | -1    | -1    | 21.00 | 16 + 4 + 1
=HYPERLINK(1)        | 0005 | link@x.edu  | 10 0 10     | 2 0     | -1    | -1    | 22.00 | 20 + 2
Nils Without         |      | nils@x.edu  | 10 6 10     | 4 0     | -1    | -1    | 30.00 | matched by address
Maria Silva          | 0007 | maria@x.edu | 10 6 10     | 1 0     | -1    | -1    | 27.00 | 26 + 1
Maria Silva          | 0008 | ms@x.edu    | 0 0 0       | 1 0     | -1    | -1    | 1.00  | 0 + 1
Grace Inside         | 0009 | g9@x.edu    | 10 6 10     | 4 0     | 0.01  | 0.01  | 30.00 | in the grace
One Day              | 0010 | g10@x.edu   | 10 6 10     | 4 0     | 0.011 | -1    | 30.00 | 1 late day
Two Days             | 0011 | g11@x.edu   | 10 6 10     | 4 0     | 2.01  | -1    | 30.00 | 2 late days
Three Days           | 0012 | g12@x.edu   | 10 6 10     | 4 0     | 3.01  | -1    | 27.40 | 2 late days; 26 - 2.6 + 4
Four Days            | 0013 | g13@x.edu   | 10 6 10     | 4 0     | 3.011 | -1    | 4.00  | hard deadline: 0 + 4
Used One             | 0014 | g14@x.edu   | 10 6 10     | 4 0     | 2.01  | -1    | 27.40 | 1 late day left; 26 - 2.6 + 4
Used Two             | 0015 | g15@x.edu   | 9.65 0 0    | 0 0     | 1     | -1    | 8.69  | 9.65 * .9 = 8.685
Used Three           | 0016 | g16@x.edu   | 10 6 10     | 4 2     | 3     | 3     | 22.40 | .7 * 30, 2 EC * .7 = 1.4
Written Late         | 0017 | g17@x.edu   | 10 6 10     | 4 0     | -1    | 3     | 29.60 | 2 late days; 26 + 4 * .9
Both Late            | 0018 | g18@x.edu   | 10 6 10     | 4 0     | 1     | 1     | 30.00 | 1 late day covers both
Written Gone         | 0019 | g19@x.edu   | 10 6 10     | 4 2     | 1     | 4     | 26.00 | 26, 1 late day; 0
Extended Fully       | 0020 | g20@x.edu   | 10 6 10     | 4 0     | 5     | 5     | 30.00 | due 5 days later
Extended Partly      | 0021 | g21@x.edu   | 10 6 10     | 4 0     | 4     | 1     | 27.40 | due 1 later; 2 late days; 26 - 2.6 + 4
Extended Resubmits   | 0022 | g22@x.edu   | 10 6 5      | 4 0     | 2     | -1    | 25.00 | due 2 days later
Over Question        | 0023 | g23@x.edu   | 10 6 0      | 4 0     | -1    | -1    | 26.00 | 1e is 12: 10 + 12 + 4
Over Test            | 0024 | g24@x.edu   | 10 6 0      | 4 0     | -1    | -1    | 27.25 | hidden is 7.25
Over Written         | 0025 | g25@x.edu   | 10 6 10     | 1 0     | -1    | -1    | 29.00 | question 1 is 3
Over Everything      | 0026 | g26@x.edu   | fault       | 4 0     | -1    | -1    | 24.00 | coding is 20
Over Late            | 0027 | g27@x.edu   | 10 6 10     | 4 0     | 9     | -1    | 30.00 | days_late is 0
Wendy Withheld       | 0028 | g28@x.edu   | 10 6 10     | 4 0     | -1    | -1    |       | withheld
Edda Excused         | 0029 | g29@x.edu   | 10 6 10     | 4 0     | -1    | -1    | EX    | excused
Group First          | 0030 | g30@x.edu   | 10 6 8      | 4 0     | 2     | -1    | 28.00 | 2 late days; 24 + 4
Group Poor           | 0031 | g31@x.edu   | =0030       | 4 0     | 2     | -1    | 23.20 | none left: 24 * .8 + 4
Group Extended       | 0032 | g32@x.edu   | =0030       | 4 0     | 2     | -1    | 28.00 | on time
Group Gone           | 0033 | g33@x.edu   | =0030       | 4 0     | 2     | -1    | (not) | 2 late days; left the course
Faye Fault           | 0034 | g34@x.edu   | fault       | 4 0     | -1    | -1    | 11.00 | as it was in Canvas
Ungraded Yet         | 0035 | g35@x.edu   | 10 6 10     | ?       | -1    | -1    | 12.50 | as it was in Canvas
No Written           | 0036 | g36@x.edu   | 10 6 10     | -       | -1    | -1    | 26.00 | Gradescope: Missing
No Code              | 0037 | g37@x.edu   | -           | 4 0     | -1    | -1    | 13.00 | as it was in Canvas
Third Points         | 0038 | g38@x.edu   | 3.33 2 3.33 | 1.33 0  | 3     | -1    | 9.12  | 2 late days; 8.66 * .9 + 1.33 = 9.124
Assigned Not         | 0039 | g39@x.edu   | 10 6 10     | 4 0     | -1    | -1    | N/A   | Canvas: not assigned
Önder Ünal           | 0040 | g40@x.edu   | 10 6 10     | 0.25 2  | -1    | -1    | 27.75 | 26 + .25 + 1.5
Written Later        | 0041 | g41@x.edu   | 10 6 10     | 4 0     | 1     | 2     | 30.00 | 2 late days cover both
Code Later           | 0042 | g42@x.edu   | 10 6 10     | 4 0     | 2     | 1     | 30.00 | 2 late days cover both
"""  # noqa: E501
HEAD = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
PEOPLE = [student(*row[:3]) for row in ROWS]
# The scores in Canvas before, by student ID; all others are empty.
BEFORE = {"0034": "11.00", "0035": "12.50", "0037": "13.00", "0039": "N/A", "0002": "1.00",
          "0028": "9.00"}  # fmt: skip


def hand_in(made) -> None:
    """Add the table's submissions to a class, a group's only once."""
    for place, (person, (_, sid, _, code, _, days, *_)) in enumerate(
        zip(PEOPLE, ROWS, strict=True)
    ):
        if code[0] not in "-=":
            others = [PEOPLE[n] for n, row in enumerate(ROWS) if row[3] == f"={sid}"]
            points = [] if code == "fault" else map(float, code.split())
            made.add(1000 + place, [person, *others], at(float(days) * 1440), *points)


def written() -> str:
    rows = []
    for place, (person, row) in enumerate(zip(PEOPLE, ROWS, strict=True)):
        points = [Decimal(each) for each in row[4].split()] if row[4] not in ("-", "?") else None
        time = None if row[4] == "-" else at(float(row[6]) * 1440)
        rows.append([person, points, time, "" if row[4] == "-" else str(5000 + place)])
    return scores(rows)


def identity(place: int) -> list[str]:
    """Return the cells with which Canvas identifies a student."""
    person = PEOPLE[place]
    first, _, last = person.name.replace(",", "").rpartition(" ")
    name = f'="{person.name}"' if person.name.startswith("=") else f"{last}, {first}"
    login = person.email.partition("@")[0] if person.sid else person.email
    return [name, str(900 + place), person.sid or "", login, "Section 1"]


def canvas() -> str:
    """Return Canvas's export, with another assignment, totals, a row about posting, a stranger."""
    rows = [
        [*HEAD, "Notes", "Homework 1 (11)", "Problem Set 5 (12)", "Final Score"],
        [""] * 6 + ["Manual Posting", "", ""],
        ["    Points Possible", "", "", "", "", "", "5.00", "30.00", "(read only)"],
    ]
    for place, person in enumerate(PEOPLE):
        if ROWS[place][7] != "(not)":
            before = BEFORE.get(person.sid, "")
            rows.append([*identity(place), "-1 late?", "4.00", before, "80.00"])
    rows.append(["Only, Canvas", "999", "0999", "only", "Section 1", "", "", "2.00", ""])
    return write([[Number(cell) for cell in row] for row in rows])


def test_every_cell_of_canvas_csv_is_as_computed_by_hand(policy, made, command):
    policy(
        grace_minutes=15,
        late_days=2,
        percent_per_day=Decimal(10),
        hard_deadline_days=3,
        extra_credit_cap=Decimal("1.5"),
    )
    hand_in(made)
    folder = made.folder
    code = decide(  # students are named by all kinds of IDs, and points written in several ways
        folder,
        written=written(),
        extensions=[
            ("0020", at(5 * 1440)),
            ("G21@x.edu", at(1440)),
            ("submission_1021", at(2 * 1440)),
            ("0032", at(2 * 1440)),
        ],
        overrides=[
            ("g23@x.edu", "1e", "12"),
            ("1023", "1e-1-hidden", " 7.25 "),
            ("0025", "1", "+3"),
            ("0026", "coding", "20"),
            ("0027", "days_late", "0"),
        ],
        withheld=[("0028",)],
        excuses=[("0029",)],
        late_days=[("0014", "1"), ("0015", "2"), ("0016", "5"), ("0031", "2")],
    )
    assert code == 0
    (template,) = put(folder, canvas=canvas())
    words = ("--canvas", template, "--assignment", "Problem Set 5")
    code, said, _ = command("grades", folder, *words)
    assert code == 0
    head, posting, points, *students = read_csv(folder / "grades" / "canvas.csv")
    assert head == [*HEAD, "Problem Set 5 (12)"] and posting == [""] * 6
    assert points == ["    Points Possible", "", "", "", "", "30.00"]
    expected = [[*identity(n), row[7]] for n, row in enumerate(ROWS) if row[7] != "(not)"]
    expected.append(["Only, Canvas", "999", "0999", "only", "Section 1", "2.00"])
    # A name that begins with = is guarded; Canvas finds the student by ID.
    assert students == [[re.sub("^=", "'=", row[0]), *row[1:]] for row in expected]
    head, *rows = read_csv(folder / "grades" / "grades.csv")
    found = [dict(zip(head, row, strict=True)) for row in rows]
    charged = {g["email"]: g["late_days_charged"] for g in found if g["state"] == "graded"}
    by_hand = {row[2]: re.search(r"(\d) late day|$", row[8])[1] or "0" for row in ROWS}
    assert charged == {email: by_hand[email] for email in charged} and len(charged) == 37
    assert "42 people" not in said and "43 people: 37 graded, 1 excused, 1 withheld" in said
