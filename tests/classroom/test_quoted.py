"""What an example shows of a submission: the lines around a line, or a function."""

import pytest

from tools.classroom.reports.failures import Failure
from tools.classroom.reports.quoted import MOST_LINES, quote
from tools.classroom.roster import read_class

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
        (found,) = read_class(tmp_path / "class").submissions
        return found

    return hand_in


def failure(**fields) -> Failure:
    return Failure("topic", "cause", **fields)


def test_around_a_place(submission):
    found = quote(submission(CODE), failure(where="submission/dataset.py:5"))
    assert found.numbered.splitlines()[:5] == [
        "  1  import x",
        "  2  ",
        "  3  class Data:",
        "  4      def get(self):",
        "> 5          return 0",
    ]
    assert len(found.lines) == 9 and found.file == "submission/dataset.py"


def test_the_first_and_the_last_line_are_places_too(submission):
    one = submission(CODE)
    first = quote(one, failure(where="submission/dataset.py:1"))
    assert first.numbered.startswith("> 1  import x\n")
    last = quote(one, failure(where="submission/dataset.py:15"))
    assert "> 15  def last(): return {}" in last.numbered


def test_a_function_is_shown_without_its_docstring_as_it_was_defined_last(submission):
    look_at = "Data.get in submission/dataset.py"
    found = quote(submission(CODE), failure(look_at=look_at))
    assert [number for number, _ in found.lines] == [7, 12, 13]
    assert "    def get(self, index):" in found.numbered and "something" not in found.numbered


def test_a_long_function_is_cut(submission):
    text = "def f():\n" + "    x = 1\n" * 500
    found = quote(submission(text), failure(look_at="f in submission/dataset.py"))
    assert len(found.lines) == MOST_LINES


@pytest.mark.parametrize(
    "fields",
    [
        {"where": "submission/other.py:3"},
        {"where": "../../etc/passwd:1"},
        {"look_at": "missing in submission/dataset.py"},
        {"look_at": "Data.missing in submission/dataset.py"},
        {"look_at": "submission/dataset.py"},
        {},
    ],
)
def test_what_is_not_there_is_not_shown(submission, fields):
    assert quote(submission(CODE), failure(**fields)) is None


@pytest.mark.parametrize("text", ["def f(:\n", "x" * 10 + "\0", "(" * 5_000])
def test_what_is_no_python_has_no_functions(submission, text):
    assert quote(submission(text), failure(look_at="f in submission/dataset.py")) is None


def test_without_files_nothing_is_shown():
    assert quote(None, failure(where="submission/dataset.py:1")) is None
