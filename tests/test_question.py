"""`make question` begins a question in our style, or refuses in one line and writes nothing."""

import ast
import shutil
import subprocess
import sys

from autograder.description import load_assignment
from tests.project import ROOT, contents
from tests.test_guides import project
from tools import question


def test_the_longest_name_gives_code_in_our_style(tmp_path):
    topic = "a_name_of_twenty_let"
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


REFUSED = dict.fromkeys(("Rope", "lambda", "../up"), "should consist of words of a to z") | {
    "rope": "assignment.toml already has a topic rope",
    "x" * 21: "at most 20 letters",
    "rope_scaling": "the topic rope begin with the same words",
    "helper": "the name helper is taken by src/submission/helper.py",
}
# What is in the way of a question `beam_width`: a file, what is replaced in it, and the answer.
IN_THE_WAY = [
    ("handout/topics/beam_width.tex.j2", "", "", "handout/topics/beam_width.tex.j2 exists"),
    ("src/questions/beam_width", "", "", "nothing was changed: "),  # where a folder would go
    (question.TABLES[0], "\n", '\n["beam_width/wrong/x"]\n', "still has entries of beam_width"),
    ("assignment.toml", '  { number = "3e"', '  {number = "3e"', "no line and table to put"),
]


def test_what_is_refused_is_one_line_and_nothing_is_written(tmp_path, capsys):
    tree = project(tmp_path)
    before = contents(tree)

    def refuse(topic: str, words: str) -> None:
        assert question.main([topic], tree) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("error: ") and err.count("\n") == 1
        assert words in err

    for topic, words in REFUSED.items():
        refuse(topic, words)
    for name, old, new, words in IN_THE_WAY:
        text = before.get(name, b"").decode()
        assert old in text
        (tree / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        refuse("beam_width", words)
        (tree / name).unlink()
        if old:
            (tree / name).write_bytes(before[name])
    assert contents(tree) == before


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
