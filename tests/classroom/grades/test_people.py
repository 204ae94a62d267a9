"""Matching people: nobody is dropped, and nobody gets somebody else's points."""

from classroom.grades.people import Mention, join
from classroom.grades.policy import Work
from grading.errors import UsageError
from tests.snapshots import check


def said(source: str, name: str, **ids: str) -> Mention:
    return Mention(source, f"{source} {name}", name, ids, Work(source, f"{source} {name}"))


def wei(source: str, **ids: str) -> Mention:
    return said(source, "Wei Wang", **ids)


# Canvas's IDs of another kind than the student IDs, of whom one person has both.
OTHER_KIND = [
    said("coding", "A", sid="007", email="a@x"),
    said("canvas", "A", sis="U", login="a@x"),
]
BY_HAND = [said("coding", "Bo", email="bo@mail.com"), said("canvas", "R, Robert", sis="5"),
           said("canvas", "S", sis="6")]  # fmt: skip
# What the sources say, and perhaps a row of people.csv.
CASES = {
    "an ID, an address or a login in common": [
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
    ],
    "one row has the ID of one person and the address of another": [
        said("written", "Ada", sid="1"),
        said("written", "Bo", email="b@x"),
        said("coding", "C", sid="1", email="b@x"),
    ],
    "one person has two IDs": [
        said("coding", "Ada", sid="007", email="a@x"),
        said("written", "Ada", sid="7", email="a@x"),
    ],
    "IDs of another kind": OTHER_KIND,
    "that kind is a contradiction as soon as one agrees": [
        *OTHER_KIND,
        said("coding", "Bo", sid="008"),
        said("canvas", "Bo", sis="008"),
    ],
    "a login is an address in the class's own domain only": [
        *(said("coding", name, email=f"{name}@x.edu") for name in ("ada", "bo", "cy")),
        said("coding", "Dee", email="dee@mail.com"),
        *(said("canvas", f"C{name}", login=name) for name in ("ada", "bo", "dee")),
    ],
    "namesakes who are complete don't stand in a third's way": [
        *(wei(source, sid=sid) for sid in "12" for source in ("coding", "written")),
        wei("coding", sid="3"),
        said("written", "Wang, Wei"),
    ],
    "which of the two?": [
        wei("coding"),
        said("canvas", "Wang, Wei", sis="1"),
        wei("canvas", sis="2"),
    ],
    "another student ID": [wei("coding", sid="1"), wei("written", sid="2")],
    "another address": [wei("coding", email="w@x"), wei("canvas", login="wei@x")],
    "another ID of Canvas": [wei("coding", canvas="1"), wei("canvas", canvas="2")],
    "people.csv joins": [*BY_HAND, ("BO@mail.com", "5")],
    "people.csv names nobody": [*BY_HAND, ("b", "5")],
    "people.csv joins two of Canvas": [*BY_HAND, ("6", "5")],
    "what it prefers is joined by name": [
        said("coding", "Ada L"),
        said("coding", "Ada", canvas="33"),
        said("written", "Ada"),
        said("canvas", "A", canvas="33"),
        ("coding Ada L", "coding Ada"),
    ],
}


def test_who_is_one_person():
    found = {}
    for title, case in CASES.items():
        mentions = [each for each in case if isinstance(each, Mention)]
        aliases = [("people.csv, line 2", *each) for each in case if isinstance(each, tuple)]
        try:
            people, notes = join(mentions, aliases)
        except UsageError as error:
            found[title] = f"refused: {error}"
            continue
        lines = [" + ".join(mention.where for mention in person.mentions) for person in people]
        lines += [f"preferred: {each.where}" for person in people for each in person.preferred]
        found[title] = "\n".join([*lines, *(f"note: {note}" for note in notes)])
    check("grades_people", found)
