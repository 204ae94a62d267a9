"""The leak check finds what answers a graded question, in any words that facts.toml foresees.

Many of the examples there were once in students' files: in docstrings of the starter, titles and
messages of tests, comments and code of the grader, and the sheet.
"""

import re
from html import escape
from types import SimpleNamespace

import pytest

from autograder.description import UsageError, editions
from tests.leaks.leaking import in_utf16, pdf, stream, zipped
from tests.project import ROOT
from tools import leaks
from tools.handout import description
from tools.handout.sheet import Sheet
from tools.leaks import facts


@pytest.fixture(scope="module")
def all_facts():
    return leaks.facts_of(ROOT)


def slots(found):
    """Return the slots that the check's lines name."""
    words = re.compile(r"answers a graded question, ([\w-]+):")
    return {named[1] for named in map(words.search, found) if named}


def test_examples_of_facts_are_found_in_the_forms_in_which_students_get_them(all_facts):
    for fact in all_facts:
        for example in fact.examples:
            wrapped = example.replace(" ", "\n    # ")
            for name, content in {
                "src/submission/part.py": f"def f():\n    # {wrapped}\n    pass\n".encode(),
                "a.zip": zipped("src/part.py", example),
                "handout.html": f"<p>{escape(example)}</p>".encode(),
                "a.pdf": pdf(objects=[stream(example.encode())]),
                "b.pdf": pdf(info=f"/Keywords {in_utf16(example)}"),
            }.items():
                found = leaks.find(name, content, [], [fact])
                assert slots(found) == {fact.slot}, (name, example)


def test_greek_letters_and_tex_read_alike():
    for text in (r"\(s\,(\mu_a + \mu_{b})\)", "s(μ_a + μ_b)", "s (𝜇a + 𝜇b)", "s*(mu_a+mu_b)"):
        assert leaks.flat(text).replace("*", "") == "s(mua+mub)"
    assert leaks.flat(r"P^\top\! P = I") == "ptopp=i"
    assert leaks.flat("Σ_a, α and 2π") == "sigmaaalphaand2pi"
    every = "".join(chr(code) for code in range(0x300, 0x600))  # some contain no letters at all
    assert "omegaalpha" in leaks.flat("Ω α" + every) and "sigmasigma" in leaks.flat(every)


# ---------------------------------------------------------------- what is graded where


def edition(*questions):
    rows = [
        SimpleNamespace(topic=topic, written=sum(parts), written_parts=parts)
        for topic, parts in questions
    ]
    return SimpleNamespace(questions=rows)


def test_a_fact_counts_where_its_answer_has_points():
    given = edition(("one", (2,)), ("two", (1, 0, 1)), ("none", ()))
    graded = ["one", "one-ii", "two", "two-i", "two-iii"]
    for slot in [*graded, "two-ii", "two-iv", "none", "none-i", "other"]:
        assert facts.is_graded(slot, given) == (slot in graded), slot


def test_editions_differ_in_what_must_not_be_said():
    known = {name: {f.slot for f in leaks.facts_of(ROOT, name)} for name in editions(ROOT)}
    assert "synthesizer-ii" in known["cs224n"] - known["xcs224n"]
    assert "positions_sinusoids-ii" in known["current"] - known["cs224n"]
    assert {f.slot for f in facts.read(ROOT)} == set.union(*known.values())
    with pytest.raises(UsageError, match="no edition 'spring'"):
        leaks.facts_of(ROOT, "spring")


def rendered(name, dataset="world"):
    made = Sheet(ROOT, description.describe(ROOT, name, dataset), "letter")
    return made.render(document="practice") + made.render(), made


@pytest.mark.parametrize("name", editions(ROOT))
def test_every_graded_answer_has_facts(name):
    _, sheet = rendered(name)
    graded = {
        slot.topic + (f"-{slot.id.rpartition('-')[2]}" if "-" in slot.id else "")
        for slot in sheet.slots
        if slot.points
    }
    assert graded == {fact.slot for fact in leaks.facts_of(ROOT, name)}


# ---------------------------------------------------------------- the project as it is


@pytest.mark.parametrize("dataset", ["world", "real"])
@pytest.mark.parametrize("name", editions(ROOT))
def test_no_sheet_answers_its_questions(name, dataset):
    text, _ = rendered(name, dataset)
    assert leaks.find("handout.tex", text.encode(), [], leaks.facts_of(ROOT, name)) == []


# ---------------------------------------------------------------- mistakes in the file


GOOD = """[[part]]\nsays = "it"\npatterns = ['an? answer']\nexamples = ["an answer"]\n"""


@pytest.mark.parametrize(
    "before, after, words",
    [
        ("[[part]]", "[[part", "line 1"),
        ("[[part]]", "[[parts]]", "parts: there is no parts.tex.j2 beside it"),
        ("[[part]]", "[part]", "part Input should be a valid list"),
        ('says = "it"', "says = 3", "part.0.says Input should be a valid string"),
        ('["an answer"]', "[]", "part.0.examples Tuple should have at least 1 item"),
        ("'an? answer'", "'an? (answer'", "part.0.patterns.0 Input should be a valid regular"),
        ("'an? answer'", "'the answer'", "part.0 Value error, no pattern finds the example 'an a"),
        ('says = "it"', 'says = "it"\nsaid = 1', "part.0.said Extra inputs are not permitted"),
        ("'an? answer'", "'an? answer', 'reply'", "part.0 Value error, the pattern 'reply' finds"),
    ],
)
def test_each_mistake_is_one_line(tmp_path, before, after, words):
    folder = tmp_path / "solutions" / "written"
    folder.mkdir(parents=True)
    (folder / "part.tex.j2").touch()
    path = folder / "facts.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert [fact.slot for fact in facts.read(tmp_path)] == ["part"]
    path.write_text(GOOD.replace(before, after), encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        facts.read(tmp_path)
    line = str(raised.value)
    assert line.startswith("solutions/written/facts.toml") and words in line and "\n" not in line


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(UsageError, match="solutions/written/facts.toml: .*No such file"):
        facts.read(tmp_path)
