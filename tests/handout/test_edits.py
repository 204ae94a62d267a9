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
SMOKE = re.search(
    r"\[datasets\.smoke\].*?^thresholds = .*?$", pinned.text(), re.DOTALL | re.MULTILINE
)[0]
EDITS = {
    # what: (file, before, after, artefacts that change)
    "coding points": (
        "assignment.toml",
        'topic = "span_corruption", coding = 16',
        'topic = "span_corruption", coding = 17',
        XCS | CURRENT | DESCRIPTIONS,  # which goes on from it
    ),
    "written points": (
        "assignment.toml",
        'topic = "attention_two_heads", written = [1, 2]',
        'topic = "attention_two_heads", written = [1, 3]',
        CS | DESCRIPTIONS | {"cs224n/outline.csv"},
    ),
    "a threshold": (
        "assignment.toml",
        SMOKE,
        re.sub("vanilla = [0-9.]+", "vanilla = 0.47", SMOKE),
        ALL | DESCRIPTIONS,
    ),
    "a title": (
        "assignment.toml",
        'title = "An average of two"',
        'title = "The mean of two"',
        ALL | DESCRIPTIONS | SUBMISSIONS | of_editions("outline.csv"),
    ),
    "a question of one edition": (
        "handout/topics/rope.tex.j2",
        "Values are not rotated.",
        "Values stay.",
        CURRENT,
    ),
    "a date": (
        "course.toml",
        f"due = {DUE}",
        f"due = {DUE + timedelta(7)}",
        ALL | of_editions("README.md"),
    ),
    "the policy on AI tools": (
        "course.toml",
        'ai_tools = "tutor"',
        'ai_tools = "forbidden"',
        ALL | SUBMISSIONS | of_editions("AGENTS.md"),
    ),
    "the name of a course": (
        "assignment.toml",
        'course = "CS 224N: ',
        'course = "CS 224: ',
        CS | DESCRIPTIONS,
    ),
    "a topic's time": ("assignment.toml", "hours = 1.5", "hours = 2.5", ALL | {"toml"}),
    "a question's text": (
        "handout/topics/demo.tex.j2",
        "on the characters of a text",
        "on characters",
        ALL,
    ),
    "an answer": (
        "solutions/written/attention_copying.tex.j2",
        "\\begin{solution}\n",
        "\\begin{solution}\nFirst of all,\n",
        of_editions("solutions.tex"),
    ),
    "the reference": (
        "solutions/submission/dataset.py",
        "        document = self.data[idx]\n",
        "        document = str(self.data[idx])\n",
        AUTOGRADERS,
    ),
    "what is given around it": (
        "solutions/submission/dataset.py",
        "Worked example.",
        "An example.",
        AUTOGRADERS | {"starter"},
    ),
    "a hidden test": ("solutions/hidden/training.py", "import", "import ", AUTOGRADERS),
    "the style": ("handout/handout.sty", "margin=1in", "margin=1.1in", {"handout.sty"}),
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
    name, old, new, expected = EDITS[edit]
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{name} lacks {old!r}"
    try:
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        after = artefacts(project, numbers)
    finally:
        path.write_text(text, encoding="utf-8")
    assert after.keys() == before.keys()
    assert {key for key in before if before[key] != after[key]} == expected
