"""What an example shows of a submission: the lines around a line, or a function."""

import pytest

from classroom.exports import read_export
from classroom.report.causes import MOST_BYTES, MOST_LINES, quote

CODE = '''import x

class Data:
    def get(self):
        return 0

    def get(self, index):
        """Return

        something long.
        """
        a = 1
        return a

def last(): return {}
'''


@pytest.fixture
def submission(tmp_path):
    def hand_in(text: str):
        path = tmp_path / "class" / "one" / "submission" / "dataset.py"
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        (found,) = read_export(tmp_path / "class").submissions
        return found

    return hand_in


def test_around_a_place(submission):
    found = quote(submission(CODE), "submission/dataset.py:5", "")
    assert found.splitlines()[:5] == [
        "     1  import x",
        "     2  ",
        "     3  class Data:",
        "     4      def get(self):",
        ">    5          return 0",
    ]
    assert len(found.splitlines()) == 9


def test_a_function_is_shown_without_its_docstring_as_it_was_defined_last(submission):
    look_at = "Data.get in submission/dataset.py"
    found = quote(submission(CODE), "", look_at)
    assert [line.split()[0] for line in found.splitlines()] == ["7", "12", "13"]
    assert "    def get(self, index):" in found and "something" not in found


def test_a_long_function_is_cut(submission):
    text = "def f():\n" + "    x = 1\n" * 500
    found = quote(submission(text), "", "f in submission/dataset.py")
    assert len(found.splitlines()) == MOST_LINES


@pytest.mark.parametrize(
    "where, look_at",
    [
        ("submission/other.py:3", ""),
        ("../../etc/passwd:1", ""),
        ("", "missing in submission/dataset.py"),
        ("", "Data.missing in submission/dataset.py"),
        ("", "submission/dataset.py"),
        ("", ""),
    ],
)
def test_what_is_not_there_is_not_shown(submission, where, look_at):
    assert quote(submission(CODE), where, look_at) == ""


@pytest.mark.parametrize(
    "text", ["def f(:\n", "x" * 10 + "\0", "(" * 5_000, "def f(): 1\n#" + "x" * MOST_BYTES]
)
def test_what_is_no_python_has_no_functions(submission, text):
    assert quote(submission(text), "", "f in submission/dataset.py") == ""
