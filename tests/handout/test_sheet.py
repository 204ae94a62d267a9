"""Each edition's sheet says what the tables say; every mistake in a table is one line."""

import re
import shlex
from decimal import Decimal

import pytest

from autograder.description import editions
from tests import pinned
from tests.handout.conftest import EDITIONS, edited, headings, words
from tests.project import ROOT
from tests.snapshots import check
from tools.commands import pipelines_of
from tools.handout import build, description, templates
from tools.handout.sheet import Sheet

XCS224N = pinned.load().edition("xcs224n").questions


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_question_stands_in_its_place_with_its_points(rendered, edition):
    text, sheet = rendered(edition)
    practice = headings(rendered(edition, document="practice")[0])
    spaces = re.findall(r"\\answerspace(?:\[no points\])?\{([\w-]+)\}", text)
    assert [slot.id for slot in sheet.slots] == spaces
    # Where a model is trained, its accuracies are reported, without points.
    trained = ["no_pretraining", "pretraining", "synthesizer", *["rope"] * (edition == "current")]
    assert [slot.topic for slot in sheet.slots if not slot.points] == trained
    shown = headings(text) + practice
    questions = in_order(pinned.load().edition(edition).questions)
    for question, (number, title, worth) in zip(questions, shown, strict=True):
        assert (number, title) == (question.number, question.title)
        assert (worth == "Practice") == question.is_practice == ((number, title, worth) in practice)
        said = re.findall(r"([\d.]+) points? \((Coding|Written)(, Extra Credit)?\)", worth)
        points = {kind: Decimal(value) for value, kind, _ in said}
        assert points.get("Coding", 0) == question.coding
        assert points.get("Written", 0) == question.written
        assert any(extra for *_, extra in said) == question.is_extra_credit
        slots = [slot for slot in sheet.slots if slot.topic == question.topic and slot.points]
        parts = question.written_parts if question.written else []
        assert [slot.points for slot in slots] == [part for part in parts if part]
        if len(parts) > 1:
            ids = [f"{number}-{roman}" for roman in description.ROMAN]
            assert [slot.id for slot in slots] == [i for i, p in zip(ids, parts, strict=False) if p]


def in_order(questions):
    """Return the questions of both documents, practice at the end."""
    return sorted(questions, key=lambda question: question.is_practice)


ERRATUM = """
[[erratum]]
release = 2
date = 2027-02-03
question = "1e"
sentence = "A span may be 0 % long."
tests = ["1e-3-basic"]
"""


@pytest.mark.parametrize(
    ("edition", "number", "target"), [("xcs224n", "1", "print"), ("cs224n", "2", "web")]
)
def test_the_release_and_its_errata_are_at_the_top(rendered, change, edition, number, target):
    assert "Corrections" not in (first := rendered(edition, target)[0])
    assert r"Release 2027-winter.1}}" in first
    change("course.toml", "release = 1", "release = 2")
    change("errata.toml", "# tests = ", f"#\n{ERRATUM}\n# tests = ")
    text = rendered(edition, target)[0]
    assert r"Release 2027-winter.2}}" in text
    line = (
        rf"\item \textbf{{Release 2, 2027-02-03, question \hyperref[q:{number}e]{{{number}(e)}}, "
        rf"\code{{{number}e-3-basic}}:}} A span may be 0 \% long."
    )
    assert line in text.partition("What you submit")[0]


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_command_of_the_public_sheets_is_there(rendered, repo, edition):
    text, _ = rendered(edition)
    blocks = re.findall(r"\\begin\{shell\}\n(.*?)\n\\end\{shell\}", text, re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    printed = {tuple(shlex.split(line)) for line in lines if not line.startswith("#")}
    asked = pipelines_of(repo, [edition])
    wanted = {("python", *c.arguments) for todo in asked.values() for c in todo}
    assert len(wanted) > 10 and wanted <= printed
    assert any("rope" in words for words in printed) == (edition == "current")
    example = "1a-0-basic" if edition == "cs224n" else "1c-0-basic"
    others = "dataset.py namedata", "dataset.py charcorruption", "london_baseline.py"
    for command in (*others, "collect_submission.py", "grader.py", f"grader.py {example}"):
        assert tuple(f"python src/{command}".split()) in printed


def test_a_table_has_every_command_once_in_place_of_the_questions(rendered, change):
    change("assignment.toml", "[editions.current]\n", "[editions.current]\ncommand_table = true\n")
    text, sheet = rendered("current")
    table = re.search(r"\\begin\{commandtable\}.*?\\hline\n(.*?)\\end\{", text, re.DOTALL)[1]
    plain = re.sub(r"\\file\{(.*?)\}", r"\1", table).replace("\\_", "_")
    shown = {tuple(map(str.strip, row.split(" & ")[1:])) for row in plain.split("\\\\\n")}
    questions = {"no_pretraining": "vanilla", "pretraining": "MODEL", "rope": "MODEL"}
    for topic, name in questions.items():
        for command in sheet._commands[topic]:
            variant = topic if topic == "rope" else "vanilla"
            assert tuple(cell.replace(variant, name) for cell in command.row) in shown
    assert text.count("the commands are in the table") == 4
    assert text.count("run.py pretrain") == 1 and text.count("run.py finetune") == 0


def test_links_come_from_the_edition(rendered):
    for edition, number, shown in (("xcs224n", "3b", "3(b)"), ("cs224n", "1b", "1(b)")):
        text, _ = rendered(edition)
        assert rf"In question \hyperref[q:{number}]{{{shown}}} a single head" in text
        assert not re.search(r"[Qq]uestions? \d", text), "a number that was typed"


def test_the_data_set_decides_what_is_said_of_people_sizes_times_and_thresholds(rendered):
    made = {name: words(rendered(dataset=name)[0]) for name in ("world", "real")}
    phrases = {
        "world": ("fictional", "world that we made up", "(200 lines)", "9 to 20 minutes"),
        "real": ("Wikipedia article", "notable person", "(2{,}000 lines)", "54 minutes to 2 hours"),
    }
    for (own, said), other in zip(phrases.items(), ("real", "world"), strict=True):
        for phrase in said:
            assert phrase in made[own] and phrase not in made[other], phrase
        least = pinned.load().datasets[own].thresholds
        for variant in ("vanilla", "synthesizer"):
            assert f"at least {templates.percent(least[variant])}" in made[own]
    assert r"recipe \code{laptop}" in made["world"] and r"recipe \code{real}" in made["real"]


def test_a_data_set_without_measured_times_claims_none(rendered):
    text, _ = rendered(dataset="smoke")
    assert "total on two cores" not in text and "each run says how long it takes" in text


@pytest.mark.parametrize("target", ["print", "web"])
@pytest.mark.parametrize("question", XCS224N)
@pytest.mark.sampled(20)
def test_any_question_can_be_left_out(rendered, repo, question, target):
    path = repo / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    if question.is_practice:
        text = text.replace("practice = 4\n", f'practice = 4\nwithout = ["{question.topic}"]\n')
    else:
        start = text.index(f'  {{ number = "{question.number}"')
        text = text[:start] + text[text.index("\n", start) + 1 :]
    path.write_text(text, encoding="utf-8")
    texts = [rendered("xcs224n", target, document=name)[0] for name in ("sheet", "practice")]
    titles = [title for text in texts for _, title, _ in headings(text)]
    others = in_order(q for q in XCS224N if q != question)
    assert titles == [other.title for other in others]
    for text in texts:
        check_links(text)


@pytest.mark.parametrize("target", ["print", "web"])
@pytest.mark.parametrize("edition", editions(ROOT))
def test_the_shipped_description_is_rendered(edition, target):
    described = description.describe(ROOT, edition, "world")
    made = Sheet(ROOT, described)
    texts = [made.render(target, document) for document in ("sheet", "practice")]
    numbers = [number for text in texts for number, _, _ in headings(text)]
    assert sorted(numbers) == sorted(question.number for question in described.edition.questions)
    for text in texts:
        check_links(text)
    named = set(re.findall(r"\\code\{\\# (\[[a-z ]+\])\}", texts[0]))
    modules = (ROOT / "src/submission").glob("*.py")
    code = "".join(path.read_text(encoding="utf-8") for path in modules)
    assert len(named) >= 5 and all(f"# {marker}\n" in code for marker in named)


def check_links(text):
    """Every link and every reference leads to something."""
    links = set(re.findall(r"\\hyperref\[(q:[^]]+)\]", text))
    assert links <= set(re.findall(r"\{(q:[\w-]+)\}", text))
    referred = set(re.findall(r"\\(?:eq)?ref\{((?:eq|fig):[^}]+)\}", text))
    assert referred <= set(re.findall(r"\\label\{([^}]+)\}", text))


TYPED = {
    "course.toml": ("term", "contact", "collaboration", "late"),
    "assignment.toml": ("course", "title"),
}
SIGNS = "5 % & # $ _ ~ ^ {} "
IN_LATEX = r"5 \% \& \# \$ \_ \textasciitilde{} \textasciicircum{} \{\} "


def test_what_a_course_types_is_no_latex(rendered, change):
    for name, keys in TYPED.items():
        for key in keys:
            change(name, f'\n{key} = "', f'\n{key} = "{key} {SIGNS}')
    for target in ("print", "web"):
        sheet, practice = (rendered("cs224n", target, document=d)[0] for d in ("sheet", "practice"))
        for key in sum(TYPED.values(), ()):
            assert f"{key} {IN_LATEX}" in sheet
            assert f"{key} 5 %" not in sheet + practice


def test_submission_and_outline_have_a_place_for_each_answer(rendered):
    _, sheet = rendered("cs224n")
    text = sheet.submission()
    slots = [slot.id for slot in sheet.slots]
    assert re.findall(r"\\begin\{answer\}\{([\w-]+)\}", text) == slots
    for marker in ("START", "END"):
        assert text.count(f"% ### {marker} CODE HERE ###\n") == len(slots) + 2
    assert all(f": {slot.what}\n" in text for slot in sheet.slots)
    assert "\\collaborators{" in text and "\\aitools{" in text
    line = '1(c)-ii,"Drawbacks of single-headed attention, part ii",3\n'
    assert line in build.outline(sheet.slots)


def summary(text):
    """Return what a sheet says about what is submitted, its points, and how long it takes."""
    start = text.index("What you submit")
    items = " ".join(text[start : text.index("\\end{shortlist}", start)].split())
    table = re.search(r"\\begin\{overview\}.*?\\hline\n(.*?)\\end\{overview\}", text, re.DOTALL)
    rows = [*table[1].splitlines(), *re.findall(r"^\d\(\w\): .*[.;]$", text, re.MULTILINE)]
    takes = re.findall(r"this takes about [^;]*", text)
    return "\n".join(map(str.strip, [*items.split("\\item ")[1:], *rows, *takes]))


UNSEEN = '{ number = "3c", topic = "consider_unseen", written = 2'
# Edition, data set, and what is replaced in assignment.toml.
PAGES = {
    "xcs224n": ("xcs224n", "world", "", ""),
    "cs224n": ("cs224n", "world", "", ""),
    "current": ("current", "world", "", ""),
    "an estimate for the second processor": (
        *("xcs224n", "world"),
        *("pretraining = [3, 7]", "pretraining = [3, 0]"),
    ),
    "times of the public course": (
        *("xcs224n", "real"),
        *('recipe = "real"', 'recipe = "original"'),
    ),
    "extra credit beside required answers": (
        *("cs224n", "world"),
        *(f"{UNSEEN} }}", f"{UNSEEN}, extra_credit = true }}"),
    ),
}


def test_the_first_page_says_what_is_required_what_it_is_worth_and_how_long_it_takes(
    repo, rendered
):
    found = {}
    for title, (edition, dataset, *edit) in PAGES.items():
        with edited(repo / "assignment.toml", *edit):
            found[title] = summary(rendered(edition, dataset=dataset)[0])
    check("handout_first_page", found)
