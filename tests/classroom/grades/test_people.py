"""Matching people: nobody is dropped, and nobody gets somebody else's points."""

import pytest

from classroom.grades.people import Mention, join
from classroom.grades.policy import Work
from grading.errors import UsageError


def said(source: str, name: str, **ids: str) -> Mention:
    work = Work(source, f"{source} {name}")
    return Mention(source, f"{source} {name}", name, ids, work)


def groups(*mentions: Mention, aliases=()) -> list[list[str]]:
    people, _ = join(mentions, aliases)
    return sorted(sorted(m.where for m in person.mentions) for person in people)


def test_an_id_an_address_or_a_login_in_common_is_one_person():
    found = groups(
        said("coding", "Ada", sid="007", email="ada@x.edu"),
        said("coding", "Bo", email="BO@X.edu "),
        said("coding", "Cy", canvas="33"),
        said("written", "Ada B", sid="007", email="private@y.org"),
        said("written", "Bo", email="bo@x.edu"),
        said("canvas", "Byron, Ada", canvas="31", sis="007", login="ada"),
        said("canvas", "Bo", canvas="32", login="bo@x.edu"),
        said("canvas", "C", canvas="33", sis="009", login="cy"),
        said("written", "Cyrus", sid="009"),  # Canvas links two without anything in common
        said("written", "D", sid="12345"),
        said("canvas", "Dee", login="12345"),
    )
    assert found == [
        ["canvas Bo", "coding Bo", "written Bo"],
        ["canvas Byron, Ada", "coding Ada", "written Ada B"],
        ["canvas C", "coding Cy", "written Cyrus"],
        ["canvas Dee", "written D"],
    ]


# Canvas's IDs of another kind than the student IDs, of whom one person has both.
OTHER_KIND = [
    said("coding", "A", sid="007", email="a@x"),
    said("canvas", "A", sis="U", login="a@x"),
]


@pytest.mark.parametrize(
    "message, mentions",
    [
        (r"written Ada \(Ada\) and written Bo \(Bo\)",
         [said("written", "Ada", sid="1"), said("written", "Bo", sid="1")]),
        # One row has the ID of one person and the address of another.
        (r"written Ada \(Ada\) and written Bo \(Bo\)",
         [said("written", "Ada", sid="1"), said("written", "Bo", email="b@x"),
          said("coding", "C", sid="1", email="b@x")]),
        ("coding Ada and written Ada .* two student IDs, '007' and '7'",
         [said("coding", "Ada", sid="007", email="a@x"),
          said("written", "Ada", sid="7", email="a@x")]),
        # That kind is a contradiction as soon as one agrees.
        ("two student IDs, '007' and 'U'",
         [*OTHER_KIND, said("coding", "Bo", sid="008"), said("canvas", "Bo", sis="008")]),
    ],
)  # fmt: skip
def test_a_contradiction_is_an_error_that_names_both(message, mentions):
    with pytest.raises(UsageError, match=message):
        join(mentions)


WEI = said("coding", "Wei Wang")
ONE, TWO = ([said(s, "Wei Wang", sid=sid) for s in ("coding", "written")] for sid in "12")
NOT_MATCHED = "same name, but not matched: Wei Wang"
# The mentions, how many people they are, and how the note begins.
WITHOUT_AN_ID = [
    (OTHER_KIND, 1, ""),
    # A login is an address in the class's own domain only.
    ([*(said("coding", name, email=f"{name}@x.edu") for name in ("ada", "bo", "cy")),
      said("coding", "Dee", email="dee@mail.com"),
      *(said("canvas", f"C{name}", login=name) for name in ("ada", "bo", "dee"))],
     5, "matched only by login and address: ada <ada@x.edu>, bo <bo@x.edu>"),
    ([said("coding", "Ada Byron"), said("canvas", "Byron, Ada", sis="1")],
     1, "matched only by name: Ada Byron (1)"),
    # Namesakes who are complete don't stand in the way of a third.
    ([*ONE, *TWO, said("coding", "Wei Wang", sid="3"), said("written", "Wang, Wei")],
     3, "matched only by name: Wei Wang (3)"),
    # Which of the two?
    ([WEI, said("canvas", "Wang, Wei", sis="1"), said("canvas", "Wei Wang", sis="2")],
     3, NOT_MATCHED),
    ([ONE[0], TWO[1]], 2, NOT_MATCHED),
    ([said("coding", "Wei Wang", email="w@x"), said("canvas", "Wei Wang", login="wei@x")],
     2, NOT_MATCHED),
    ([said("coding", "Wei Wang", canvas="1"), said("canvas", "Wei Wang", canvas="2")],
     2, NOT_MATCHED),
]  # fmt: skip


@pytest.mark.parametrize("mentions, number, note", WITHOUT_AN_ID)
def test_who_has_no_id_in_common_is_joined_if_nothing_speaks_against_it(mentions, number, note):
    people, notes = join(mentions)
    assert len(people) == number
    assert len(notes) == bool(note) and "".join(notes).startswith(note)


def test_people_csv_joins_and_refuses_what_it_cant():
    mentions = [said("coding", "Bo", email="bo@mail.com"), said("canvas", "R, Robert", sis="5"),
                said("canvas", "S", sis="6")]  # fmt: skip
    joined = groups(*mentions, aliases=[("people.csv, line 2", "BO@mail.com", "5")])
    assert joined == [["canvas R, Robert", "coding Bo"], ["canvas S"]]
    with pytest.raises(UsageError, match="line 2: 'b' matches no submission, student ID, e"):
        join(mentions, [("people.csv, line 2", "b", "5")])
    with pytest.raises(UsageError, match="two records for one person"):
        join(mentions, [("people.csv, line 2", "6", "5")])
