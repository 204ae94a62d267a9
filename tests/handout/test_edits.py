"""An instructor's edit changes every artefact that mentions it, and no other."""

import hashlib
import re
from datetime import timedelta

import pytest

from autograder.description import load_course
from tests import pinned
from tests.project import ROOT, copy_of_the_project
from tools import autograder, starter, student, world
from tools.handout import build, description
from tools.handout.build import outline
from tools.handout.sheet import Sheet

EDITIONS = pinned.NAMES
SHEETS = ("sheet.tex", "web.tex", "solutions.tex")


def of_editions(*names, editions=EDITIONS):
    """Return the artefacts of these names in all editions."""
    return {f"{edition}/{name}" for edition in editions for name in names}


XCS, CS, CURRENT = (of_editions(*SHEETS, editions=[edition]) for edition in EDITIONS)
ALL = of_editions(*SHEETS)
AUTOGRADERS = of_editions("autograder")
DESCRIPTIONS = AUTOGRADERS | {"toml"}
SUBMISSIONS = of_editions("submission.tex")
DUE = load_course(ROOT).dates.due.date()
TOML, COURSE, CODE = "assignment.toml", "course.toml", "solutions/submission/dataset.py"
ANSWER = "solutions/written/attention_copying.tex.j2"
SMOKE = re.search(
    r"\[datasets\.smoke\].*?^thresholds = \{ vanilla = (?=([0-9.]+))", pinned.text(), re.S | re.M
)
EDITS = {
    # what: (file, what stands before, what is replaced, by what, artefacts that change)
    # `current` goes on from xcs224n.
    "coding points": (
        TOML,
        '"span_corruption", coding = ',
        "16",
        "17",
        XCS | CURRENT | DESCRIPTIONS,
    ),
    "written points": (
        *(TOML, '"attention_two_heads", written = ', "[1, 2]", "[1, 3]"),
        CS | DESCRIPTIONS | {"cs224n/outline.csv"},
    ),
    "a threshold": (TOML, SMOKE[0], SMOKE[1], "0.47", ALL | DESCRIPTIONS),
    "a title": (
        *(TOML, 'title = "', "An average of two", "The mean of two"),
        ALL | DESCRIPTIONS | SUBMISSIONS | of_editions("outline.csv"),
    ),
    "a topic's time": (TOML, "hours = ", "1.5", "2.5", ALL | {"toml"}),
    "the name of a course": (
        *(TOML, 'course = "', "CS 224N: ", "CS 224: "),
        CS | DESCRIPTIONS | {"cs224n/practice.tex"},
    ),
    "a date": (COURSE, "due = ", f"{DUE}", f"{DUE + timedelta(7)}", ALL | of_editions("README.md")),
    "the policy on AI tools": (
        *(COURSE, "ai_tools = ", '"tutor"', '"forbidden"'),
        ALL | SUBMISSIONS | of_editions("AGENTS.md"),
    ),
    "a question's text": (
        "handout/topics/demo.tex.j2",
        "on ",
        "the characters of a text",
        "it",
        ALL,
    ),
    "a question of one edition": (
        *("handout/topics/rope.tex.j2", "Values ", "are not rotated.", "stay."),
        CURRENT,
    ),
    "an answer": (
        ANSWER,
        "\\begin{solution}\n",
        "",
        "First of all,\n",
        of_editions("solutions.tex"),
    ),
    "the reference": (
        CODE,
        "        document = ",
        "self.data[idx]",
        "(self.data[idx])",
        AUTOGRADERS,
    ),
    "what is given around it": (
        CODE,
        "Worked ",
        "example.",
        "instance.",
        AUTOGRADERS | {"starter"},
    ),
    "a hidden test": ("solutions/hidden/training.py", "import", "", " ", AUTOGRADERS),
    "the style": ("handout/handout.sty", "margin=", "1in", "1.1in", {"handout.sty"}),
}


def artefacts(repo, numbers):
    """Return the contents, by name, of everything built from the sources (LaTeX instead of PDF)."""
    found = {"handout.sty": (repo / "handout/handout.sty").read_text(encoding="utf-8")}
    made = starter.starter_files(repo)
    found["toml"] = (repo / "assignment.toml").read_text(encoding="utf-8")
    found["starter"] = {n: hashlib.sha256(c).hexdigest() for n, c in made.items()}
    for edition in build.editions(repo):
        described = description.describe(repo, edition)
        sheet = Sheet(repo, described, "letter", numbers)
        found[f"{edition}/practice.tex"] = sheet.render(document="practice")
        found[f"{edition}/sheet.tex"] = sheet.render()
        found[f"{edition}/submission.tex"] = sheet.submission()
        found[f"{edition}/outline.csv"] = outline(sheet.slots)
        found[f"{edition}/web.tex"] = sheet.render("web")
        found[f"{edition}/solutions.tex"] = sheet.render("solutions")
        found[f"{edition}/README.md"] = student.readme(repo, edition, "letter")
        found[f"{edition}/AGENTS.md"] = student.agents(repo, edition, "letter")
        found[f"{edition}/autograder"] = autograder.contents(repo, edition)
    return found


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    repo = copy_of_the_project(tmp_path_factory.mktemp("project"))
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(repo)]) == 0
    autograder.keep_secret(repo)
    return repo


@pytest.fixture(scope="module")
def before(project, numbers):
    return artefacts(project, numbers)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.sampled(8)
def test_an_edit_changes_what_mentions_it_and_nothing_else(project, numbers, before, edit):
    name, context, old, new, expected = EDITS[edit]
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert context + old in text, f"{name} lacks {context + old!r}"
    try:
        path.write_text(text.replace(context + old, context + new, 1), encoding="utf-8")
        after = artefacts(project, numbers)
    finally:
        path.write_text(text, encoding="utf-8")
    assert after.keys() == before.keys()
    assert {key for key in before if before[key] != after[key]} == expected
