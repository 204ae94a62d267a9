"""`make question` begins a question in our style, or refuses in one line and writes nothing."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.description import load_assignment
from tests.project import ROOT, contents
from tests.test_guides import project
from tools import question


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    return project(tmp_path_factory.mktemp("fresh"))


@pytest.mark.parametrize("topic", ["x", "a_name_of_twenty_let"])
def test_any_name_gives_code_in_our_style(topic, tmp_path):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in question.new_files(question.names_of(topic)).items():
        if name.endswith(".py") and "golden" not in name:
            ast.parse(text)
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    for words in (("check",), ("format", "--diff")):
        command = [sys.executable, "-m", "ruff", *words, "--no-cache", "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stdout


BADLY_SPELT = ("Rope", "two__words", "lambda", "", "../up")
REFUSED = dict.fromkeys(BADLY_SPELT, "should consist of words of a to z") | {
    "rope": "assignment.toml already has a topic rope",
    "x" * 21: "at most 20 letters",
    "rope_scaling": "the topic rope begin with the same words",
    "helper": "the name helper is taken by src/submission/helper.py",
    "shared": "the name shared is taken by src/questions/shared/",
}
VERDICTS = "tests/golden/verdicts.toml"
# What is in the way of a question `beam_width`: a file, what is replaced in it, and the answer.
IN_THE_WAY = [
    ("solutions/hidden/beam_width.py", "", "", "the name beam_width is taken"),
    ("handout/topics/beam_width.tex.j2", "", "", "handout/topics/beam_width.tex.j2 exists"),
    ("src/questions/beam_width", "", "", "nothing was changed: "),  # where a folder would go
    (VERDICTS, "\n", '\n["beam_width/wrong/x"]\n', "still has entries of beam_width"),
    ("assignment.toml", "[parts]\n", "[part]\n", "unknown key 'part'"),
    (
        "assignment.toml",
        '  { number = "3e", topic',
        '  {number = "3e", topic',
        "no line and table to put the new ones after",
    ),
]


def refuse(tree: Path, topic: str, capsys, words: str) -> None:
    """Run the command, which must answer with one line and change nothing."""
    before = contents(tree)
    assert question.main([topic], tree) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert words in err and contents(tree) == before


@pytest.mark.parametrize(("topic", "words"), REFUSED.items())
def test_a_bad_name_is_refused(fresh, capsys, topic, words):
    refuse(fresh, topic, capsys, words)


@pytest.mark.parametrize(("name", "old", "new", "words"), IN_THE_WAY)
def test_what_is_in_the_way_is_refused_and_nothing_is_written(fresh, capsys, name, old, new, words):
    path = fresh / name
    content = path.read_text(encoding="utf-8") if old else ""
    assert old in content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content.replace(old, new, 1), encoding="utf-8")
    try:
        refuse(fresh, "beam_width", capsys, words)
    finally:
        path.unlink()
        if old:
            path.write_text(content, encoding="utf-8")


def test_a_number_is_free_in_the_editions_that_get_the_question(tmp_path, capsys):
    """`current` inherits the question and has a 3f; `cs224n`, whose 3f is another's, doesn't."""
    tree = project(tmp_path)
    path = tree / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    before, current, after = text.partition("[editions.current]")
    assert '{ number = "5a"' in after and '{ number = "3f"' in before
    path.write_text(before + current + after.replace('"5a"', '"3f"', 1), encoding="utf-8")
    assert question.main(["beam_width"], tree) == 0
    assert "Question 3g works" in capsys.readouterr().out
    editions = load_assignment(tree).editions.values()
    numbers = {e.name: [q.number for q in e.questions if q.topic == "beam_width"] for e in editions}
    assert numbers == {"xcs224n": ["3g"], "current": ["3g"], "cs224n": []}
