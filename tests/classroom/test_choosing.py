"""Lists of students: the students that a file names, and errors if it names nobody."""

import pytest

from grading.errors import UsageError
from tools.classroom.choosing import chosen
from tools.classroom.folder import ClassFolder
from tools.classroom.submissions import RollEntry, Student


@pytest.fixture
def choose(tmp_path):
    folder = ClassFolder.create(tmp_path / "class")
    pair = (Student("a", "Ada", "007", "ada@x.edu"), Student("b", "Bo", "8", "Bo@x.edu"))
    with folder.locked():
        folder.enroll([RollEntry("s_1", pair), RollEntry("s_2", (Student("c", "Cy", None, "c"),))])
        folder.enroll([RollEntry("s_3", (pair[0],))])

    def run(text, **keywords):
        (tmp_path / "list").write_text(text, encoding="utf-8-sig")
        return chosen(folder, tmp_path / "list", **keywords)

    return run


@pytest.mark.parametrize(
    "text, ids",
    [
        ("s_2\n", {"s_2"}),
        ("\n  007 \n\n", {"s_1", "s_3"}),
        ("BO@X.edu\ns_2\n", {"s_1", "s_2"}),
        ("name,email\nAda,ada@x.edu\n,\n", {"s_1", "s_3"}),
        ("Submission_ID,sid\n,8\ns_2,007\n", {"s_1", "s_2"}),  # the first filled column counts
        ("student,reason\n007,x\n", {"s_1", "s_3"}),
    ],
)
def test_those_who_are_named_are_found(choose, text, ids):
    assert choose(text) == ids


@pytest.mark.parametrize(
    "text, fault",
    [
        ("s_2\ns_9\n", ":2: 's_9' is not on the roll"),
        ("sid\n7\n", ":2: '7' is not on the roll"),  # leading zeros count
        ("email\ns_2\n", ":2: 's_2' is not on the roll"),  # not an address
        ("", "names nobody"),
        ("name,grade\nAda,7\n", ":1: got the columns 'name, grade'; expected a column"),
    ],
)
def test_a_list_that_names_nobody_is_refused(choose, text, fault):
    with pytest.raises(UsageError, match=fault):
        choose(text)


def test_who_is_not_on_the_roll_can_be_a_note(choose):
    said = []
    assert choose("student\nnobody\n007\n", say=said.append) == {"s_1", "s_3"}
    assert len(said) == 1 and ":2: 'nobody' is not on the roll" in said[0]


def test_no_file_names_everybody(tmp_path):
    folder = ClassFolder.create(tmp_path / "class")
    assert chosen(folder, None) is None
    with pytest.raises(UsageError, match="can't be read"):
        chosen(folder, tmp_path / "none")
