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


@pytest.mark.parametrize(
    "where, look_at, numbers",
    [
        ("submission/dataset.py:5", "", "1 2 3 4 > 6 7 8 9"),  # the lines around
        # A function is shown without its docstring, as it was defined last.
        ("", "Data.get in submission/dataset.py", "7 12 13"),
        ("submission/other.py:3", "", ""),
        ("../../etc/passwd:1", "", ""),
        ("", "missing in submission/dataset.py", ""),
        ("", "Data.missing in submission/dataset.py", ""),
        ("", "submission/dataset.py", ""),
        ("", "", ""),
    ],
)
def test_what_is_shown_is_what_was_asked_for(submission, where, look_at, numbers):
    lines = quote(submission(CODE), where, look_at).splitlines()
    assert [line.split()[0] for line in lines] == numbers.split()
    assert not where.endswith("set.py:5") or lines[4] == ">    5          return 0"


@pytest.mark.parametrize(
    "text, count",
    [
        ("def f():\n" + "    x = 1\n" * 500, MOST_LINES),
        *(("def f(:\n", 0), ("x" * 10 + "\0", 0), ("(" * 5_000, 0)),
        ("def f(): 1\n#" + "x" * MOST_BYTES, 0),
    ],
)
def test_what_is_long_is_cut_and_what_is_no_python_has_no_functions(submission, text, count):
    assert quote(submission(text), "", "f in submission/dataset.py").count("\n") == max(
        0, count - 1
    )
