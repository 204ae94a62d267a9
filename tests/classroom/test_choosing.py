"""Lists of students: the students that a file names, and errors if it names nobody."""

import pytest

from classroom.choosing import chosen
from classroom.store import Store
from classroom.submissions import Student, Submission
from grading.errors import UsageError


@pytest.fixture
def choose(tmp_path):
    ada, bo = Student("a", "Ada Byron", "ada@x.edu", "007"), Student("b", "Bo", "Bo@x.edu", "8")
    groups = {"s_1": (ada, bo), "s_2": (Student("c", "Cy", "c"),), "s_3": (ada,)}

    def run(text):
        (tmp_path / "list").write_text(text, encoding="utf-8-sig")
        return chosen(store, tmp_path / "list")

    with Store.create(tmp_path / "class") as store:
        made = [Submission(key, students) for key, students in groups.items()]
        store.add_submissions(tmp_path, "folder", "latest", made)
        yield run


@pytest.mark.parametrize(
    "text, ids",
    [
        ("s_2\n", {"s_2"}),
        ("\n  007 \n\n", {"s_3"}),
        ("BO@X.edu\ns_2\n", {"s_1", "s_2"}),
        ("name,email\nAda,ada@x.edu\n,\n", {"s_3"}),
        ("student,reason\n007,x\n", {"s_3"}),
    ],
)
def test_those_who_are_named_are_found(choose, text, ids):
    assert choose(text) == ids


@pytest.mark.parametrize(
    "text, fault",
    [
        ("s_2\ns_9\n", "line 2: 's_9' matches no"),
        ("sid\n7\n", "line 2: '7' matches nobody, but Ada Byron .* with leading zeros"),
        ("", "is empty"),
        ("name,grade\nAda,7\n", "line 1: 'name,grade' matches no"),
    ],
)
def test_a_list_that_names_nobody_is_refused(choose, text, fault):
    with pytest.raises(UsageError, match=fault):
        choose(text)
