"""What `make question` refuses: test_guides.py follows it through docs/add-a-question.md."""

from tests.project import contents
from tests.test_guides import project
from tools import question

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
