"""The leak check finds what answers a graded question, in any words that facts.toml foresees.

Many of the examples there were once in students' files: in docstrings of the starter, titles and
messages of tests, comments and code of the grader, and the sheet.
"""

from html import escape

import pytest

from autograder.description import UsageError, editions
from tests.project import ROOT
from tools import leaks
from tools.handout.description import describe
from tools.handout.sheet import Sheet
from tools.leaks import facts
from tools.leaks import texts as texts_of


def test_examples_of_facts_are_found_in_the_forms_in_which_students_get_them():
    for fact in leaks.facts_of(ROOT):
        for example in fact.examples:
            wrapped = example.replace(" ", "\n    # ")
            for name, content in {
                "part.py": f"def f():\n    # {wrapped}\n    pass\n",
                "handout.html": f"<p>{escape(example)}</p>",
            }.items():
                (line,) = leaks.Search([], [fact]).find(name, content.encode())
                assert line.startswith(f"{name}: answers a graded question, {fact.slot}: ")


def test_a_text_is_read_once_for_all_editions_and_each_has_its_own_facts(monkeypatch):
    known, texts = leaks.facts_of(ROOT), []
    one = known[0]
    search = leaks.Search([], known)
    monkeypatch.setattr(leaks, "flat", lambda text: texts.append(text) or texts_of.flat(text))
    content, words = one.examples[0].encode(), f"answers a graded question, {one.slot}: {one.says}"
    assert f"a.md: {words}" in search.find("a.md", content)
    read = len(texts)
    assert read and search.find("b.md", content, []) == []
    assert search.find("c.md", content, leaks.facts_of(ROOT)[:1]) == [f"c.md: {words}"]
    assert {*texts[read:]} <= {"b.md (name)", "b.md", "c.md (name)", "c.md"}


def test_greek_letters_and_tex_read_alike():
    known = leaks.facts_of(ROOT)
    for text in (r"\(s\,(\mu_a +\! \mu_{b})\)", "s(μ_a + μ_b)", "s (𝜇a + 𝜇b)", "s*(mu_a+mu_b)"):
        assert leaks.Search([], known).find("a.md", text.encode())
    assert texts_of.flat("Σ_a, α and 2π") == "sigmaaalphaand2pi"


def test_editions_differ_in_what_must_not_be_said():
    known = {name: {f.slot for f in leaks.facts_of(ROOT, name)} for name in editions(ROOT)}
    assert "synthesizer-ii" in known["cs224n"] - known["xcs224n"]
    assert "positions_sinusoids-ii" in known["current"] - known["cs224n"]
    assert {f.slot for f in facts.read(ROOT)} == set.union(*known.values())


@pytest.mark.parametrize("dataset", ["world", "real"])
@pytest.mark.parametrize("name", editions(ROOT))
def test_every_graded_answer_has_facts_and_no_sheet_states_them(name, dataset):
    sheet, known = Sheet(ROOT, describe(ROOT, name, dataset)), leaks.facts_of(ROOT, name)
    text = sheet.render(document="practice") + sheet.render()
    graded = {
        slot.topic + (f"-{slot.id.rpartition('-')[2]}" if "-" in slot.id else "")
        for slot in sheet.slots
        if slot.points
    }
    assert graded == {fact.slot for fact in known}
    assert leaks.Search([], known).find("handout.tex", text.encode()) == []


GOOD = """[[part]]\nsays = "it"\npatterns = ['an? answer']\nexamples = ["an answer"]\n"""


@pytest.mark.parametrize(
    "before, after, words",
    [
        ("[[part]]", "[[part", "line 1"),
        ("[[part]]", "[[parts]]", "parts: there is no parts.tex.j2 beside it"),
        ("'an? answer'", "'the answer'", "part.0 Value error, no pattern finds the example 'an a"),
        ("'an? answer'", "'an? answer', 'reply'", "part.0 Value error, the pattern 'reply' finds"),
    ],
)
def test_each_mistake_is_one_line(tmp_path, before, after, words):
    folder = tmp_path / "solutions" / "written"
    folder.mkdir(parents=True)
    (folder / "part.tex.j2").touch()
    (folder / "facts.toml").write_text(GOOD, encoding="utf-8")
    assert [fact.slot for fact in facts.read(tmp_path)] == ["part"]
    (folder / "facts.toml").write_text(GOOD.replace(before, after), encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        facts.read(tmp_path)
    line = str(raised.value)
    assert line.startswith("solutions/written/facts.toml") and words in line and "\n" not in line
