"""The leak check passes the files that students get; its command."""

from tests.interpreter import captured
from tests.project import ROOT
from tools import leaks, starter
from tools.leaks import __main__ as command
from tools.leaks import secrets, texts


def committed(*names):
    listed = captured(["git", "ls-files", "-z", *names], ROOT, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_what_students_get_today_passes():
    """The starter, as generated, and what is committed for students."""
    known, facts = leaks.secrets_of(ROOT), leaks.facts_of(ROOT)
    assert len(known) > 300
    for name, content in starter.starter_files(ROOT).items():
        assert leaks.Search(known, facts).find(name, content) == []
    shared = ("src", "assignment.toml", "mingpt-demo", "handout/student", "handout/figures.toml")
    files = committed(*shared)
    assert len(files) > 100 and leaks.Search(known, facts).check(files) == []
    # Others are of some editions: test_leaks_of_facts.py looks for facts in their sheets.
    assert leaks.Search(known).check(sorted({*committed("handout")} - {*files})) == []


def test_every_exception_is_needed():
    """An exception whose line is gone, or no longer given to students, would only hide leaks."""
    paths = committed("src", "handout")
    read = texts.bare("\n".join(path.read_text(encoding="utf-8") for path in paths))
    known = {secret.text for secret in leaks.secrets_of(ROOT, allowed={})}
    for line in "".join(secrets.ALLOWED.values()).splitlines():
        text = texts.bare(line.partition("  #")[0])
        assert text in known or not text, f"{line} is not searched for at all"
        assert text in read, f"{line} is in no file for students"


def test_the_command(tmp_path, capsys):
    page, compiled = tmp_path / "page.txt", tmp_path / "a.pyc"
    page.write_text("a model takes a sentence for a bag of words", encoding="utf-8")
    (tmp_path / "__pycache__").mkdir()
    for path in (compiled, tmp_path / "__pycache__/a.pyc"):  # the second is beside its source
        path.write_bytes(b"\0")
    judge = ROOT / "solutions/hidden/training.py"
    fact = "positions_permutation-ii"
    for words, code, said in (
        ([page, judge], 1, [fact, "holds solutions/hidden/training.py, line"]),
        ([tmp_path], 1, [f"{compiled}: compiled Python"]),
        (["--edition", "cs224n", page, tmp_path / "__pycache__"], 0, []),
        ([tmp_path / "none"], 2, ["error: ", "none: No such file"]),
    ):
        assert command.main([str(word) for word in words]) == code
        out, err = capsys.readouterr()
        assert all(part in (err if code == 2 else out) for part in said)
        assert (bool(out), err.count("\n")) == (code == 1, code == 2)
