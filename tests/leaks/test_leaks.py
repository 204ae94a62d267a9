"""The leak check passes the files that students get, and everyday code; its command and pieces."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.project import ROOT
from tools import leaks, starter
from tools.leaks import __main__ as command
from tools.leaks import secrets


def committed(*names):
    command = ["git", "ls-files", "-z", *names]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode("utf-8").split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_what_students_get_today_passes():
    """The starter, as generated, and what is committed for students."""
    known, facts = leaks.secrets_of(ROOT), leaks.facts_of(ROOT)
    assert len(known) > 300
    for name, content in starter.starter_files(ROOT).items():
        assert leaks.find(name, content, known, facts) == []
    shared = ("src", "assignment.toml", "mingpt-demo", "handout/student", "handout/figures.toml")
    files = committed(*shared)
    assert len(files) > 100 and leaks.check(files, known, facts) == []
    # Others are of some editions: test_leaks_of_facts.py looks for facts in their sheets.
    assert leaks.check(sorted({*committed("handout")} - {*files}), known) == []


@pytest.mark.long
def test_everyday_code_is_no_leak():
    """No line of the solutions' code is in PyTorch's modules."""
    known = [s for s in leaks.secrets_of(ROOT, allowed={}) if ".py, line" in s.source]
    assert len(known) > 1000
    files = list(Path(sysconfig.get_path("purelib"), "torch/nn").glob("*.py"))
    code = "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
    assert len(files) > 7 and leaks.find("library.py", code.encode(), known) == []


def test_every_exception_is_needed():
    """An exception whose line is gone, or no longer given to students, would only hide leaks."""
    paths = committed("src", "handout")
    read = leaks.bare("\n".join(path.read_text(encoding="utf-8") for path in paths))
    known = {secret.text for secret in leaks.secrets_of(ROOT, allowed={})}
    for line in "".join(secrets.ALLOWED.values()).splitlines():
        text = leaks.bare(line.partition("  #")[0])
        assert text in known or not text, f"{line} is not searched for at all"
        assert text in read, f"{line} is in no file for students"


def test_compiled_code_beside_its_source_is_passed_over(tmp_path):
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"\0")
    assert leaks.check([tmp_path], []) == []
    (tmp_path / "a.pyc").write_bytes(b"\0")
    assert leaks.check([tmp_path], []) == [f"{tmp_path / 'a.pyc'}: compiled Python"]


def test_the_command(tmp_path, capsys):
    page = tmp_path / "page.txt"
    page.write_text("a model takes a sentence for a bag of words", encoding="utf-8")
    judge = ROOT / "solutions/hidden/training.py"
    fact = "positions_permutation-ii"
    for words, code, said in (
        ([page, judge], 1, [fact, "holds solutions/hidden/training.py, line"]),
        (["--edition", "cs224n", page], 0, []),
        ([tmp_path / "none"], 2, ["error: ", "none: No such file"]),
    ):
        assert command.main([str(word) for word in words]) == code
        out, err = capsys.readouterr()
        assert all(part in (err if code == 2 else out) for part in said)
        assert (bool(out), err.count("\n")) == (code == 1, code == 2)


def test_what_is_looked_for_is_what_stands_in_print():
    """No letters of commands, formulas or jinja are included, and none in between are left out."""
    source = r"""
Short. Shorter. % A comment, which is never printed, holds nothing that could be found.
A reader of this \emph{first sentence} would pass 100\% of it on to \textbf{all \emph{the} others}.
Short again, which is not enough. And this one, too. It is cut short by what \(E = m c^2\)
stands for, and then by
something else of that kind <<by.jinja>> but for all that there are letters enough to look for here,
and at last by \unknown{something that sets \textit{its own} argument elsewhere} and goes on

The cell on the left of this table's row stands here
& and its second cell stands over there on its right \\
while another row has a cell that is long enough, too
\begin{align*}
  a &= b_1 + b_2 + b_3 + b_4 + b_5 + b_6 + b_7,  % why \\
  \label{eq:name} c &= d \\
    &= e_1 + e_2 << "jinja" >> + e_3 + e_4 + e_5 + e_6 + e_7 + e_8 + e_9. \\
\end{align*}
"""
    prose = [
        (3, "A reader of this first sentence would pass of it on to all the others"),
        (4, "Short again which is not enough And this one too It is cut short by what"),
        (5, "stands for and then by something else of that kind"),
        (6, "but for all that there are letters enough to look for here and at last by"),
        (7, "something that sets its own argument elsewhere"),
        (9, "The cell on the left of this table's row stands here"),
        (10, "and its second cell stands over there on its right"),
        (11, "while another row has a cell that is long enough too"),
    ]
    formulas = [(13, "a=b1+b2+b3+b4+b5+b6+b7"), (15, "+e3+e4+e5+e6+e7+e8+e9.")]
    expected = [(line, leaks.letters(text)) for line, text in prose] + formulas
    found = [(secret.source, secret.text) for secret in secrets.of_latex(source, "x")]
    assert found == [(f"x, line {line}", text) for line, text in expected]
