"""An instructor's edit changes every artefact that mentions it, and no other."""

import re
from datetime import timedelta

import pytest

from autograder.description import editions, load_course
from tests import pinned
from tests.handout.conftest import edited
from tests.project import ROOT
from tools import archive, autograder, starter, student
from tools.commands import pipelines_of
from tools.handout import description
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
SUBMISSIONS, SOLUTIONS = of_editions("submission.tex"), of_editions("solutions.tex")
DUE = load_course(ROOT).dates.due.date()
TOML, COURSE, CODE = "assignment.toml", "course.toml", "solutions/submission/dataset.py"
DEMO, ROPE = (f"handout/topics/{topic}.tex.j2" for topic in ("demo", "rope"))
ANSWER = "solutions/written/attention_copying.tex.j2"
(SMOKE,) = re.findall(
    r"^\[datasets\.smoke\].*?^thresholds = \{ vanilla = [0-9.]+", pinned.text(), re.S | re.M
)
EDITS = {
    # what: (file, what is replaced, by what, artefacts that change)
    # `current` goes on from xcs224n.
    "coding points": (TOML, 'corruption", coding = 16', 'corruption", coding = 17', XCS | CURRENT),
    "a threshold": (TOML, SMOKE, re.sub("[0-9.]+$", "0.47", SMOKE), ALL),
    "a title": (
        *(TOML, 'title = "An average of two', 'title = "The mean of two'),
        ALL | SUBMISSIONS | of_editions("outline.csv"),
    ),
    "the name of a course": (
        *(TOML, 'course = "CS 224N: ', 'course = "CS 224: '),
        CS | {"cs224n/practice.tex"},
    ),
    "a date": (
        *(COURSE, f"due = {DUE}", f"due = {DUE + timedelta(7)}"),
        ALL | of_editions("README.md"),
    ),
    "the policy on AI tools": (
        *(COURSE, 'ai_tools = "tutor"', 'ai_tools = "forbidden"'),
        ALL | SUBMISSIONS | of_editions("AGENTS.md"),
    ),
    "a question's text": (DEMO, "on the characters of a text", "on it", ALL),
    "a question of one edition": (ROPE, "Values are not rotated.", "Values stay.", CURRENT),
    "an answer": (ANSWER, "\\begin{solution}\n", "\\begin{solution}\nFirst of all,\n", SOLUTIONS),
    "the reference": (CODE, "= self.data[idx]", "= (self.data[idx])", AUTOGRADERS),
    "what is given around it": (CODE, "Worked example.", "Worked one.", AUTOGRADERS | {"starter"}),
    "a hidden test": ("solutions/hidden/training.py", "import", "import ", AUTOGRADERS),
}


def artefacts(repo, numbers):
    """Return the contents, by name, of everything built from the sources (LaTeX instead of PDF)."""
    found = {"starter": starter.starter_files(repo)}
    for edition in editions(repo):
        described = description.describe(repo, edition)
        sheet = Sheet(repo, described, numbers=numbers)
        found[f"{edition}/practice.tex"] = sheet.render(document="practice")
        found[f"{edition}/sheet.tex"] = sheet.render()
        found[f"{edition}/submission.tex"] = sheet.submission()
        found[f"{edition}/outline.csv"] = outline(sheet.slots)
        found[f"{edition}/web.tex"] = sheet.render("web")
        found[f"{edition}/solutions.tex"] = sheet.render("solutions")
        pages = student.pages(repo, edition)
        found |= {f"{edition}/{name}": pages[name] for name in ("README.md", "AGENTS.md")}
        found[f"{edition}/autograder"] = autograder.contents(repo, edition)
    return found


@pytest.fixture(scope="module")
def before(course, numbers):
    autograder.keep_secret(course)
    return artefacts(course, numbers)


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.sampled(8)
def test_an_edit_changes_what_mentions_it_and_nothing_else(course, numbers, before, edit):
    name, old, new, expected = EDITS[edit]
    with edited(course / name, old, new):
        after = artefacts(course, numbers)
    assert after.keys() == before.keys()
    expected = expected | AUTOGRADERS if name == TOML else expected  # they hold the description
    assert {key for key in before if before[key] != after[key]} == expected


@pytest.mark.parametrize("edition", EDITIONS)
def test_the_students_readme_has_the_sheets_commands_on_one_line_each(course, edition):
    """They run and read files that students get."""
    given = {*archive.files_of(course, student.TAKEN), "mingpt-demo/play_char.ipynb"}
    text = student.pages(course, edition)["README.md"]
    first = "1a" if edition == "cs224n" else "1c"
    assert f"Your first task is {first}." in text and "Release 2027-winter.1, due " in text
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    lines = commands.splitlines()
    assert not any(line.endswith("\\") or "'" in line or "$" in line for line in lines)
    for todo in pipelines_of(course, [edition]).values():
        assert {*map(str, todo)} <= {*lines}
    files = re.findall(r"(?:python|uv run|notebook|-[rcf]) (\S+\.\w+)", commands)
    assert len(files) > 20 and {*files} <= given
