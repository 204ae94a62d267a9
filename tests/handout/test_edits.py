"""An instructor's edit changes every artefact that mentions it, and no other."""

import re
from datetime import timedelta

import pytest

from autograder.description import load_course
from tests import pinned
from tests.handout.conftest import edited
from tests.project import ROOT
from tools import archive, autograder, starter, student
from tools.commands import pipelines_of
from tools.handout import description
from tools.handout.build import outline
from tools.handout.sheet import Sheet

EDITION = "xcs224n"
DUE = load_course(ROOT).dates.due.date()
TOML, COURSE, CODE = "assignment.toml", "course.toml", "solutions/submission/dataset.py"
ANSWER = "solutions/written/attention_copying.tex.j2"
SHEETS = {"sheet", "web page"}
# A file, what is replaced there, by what, artefacts that change.
EDITS = (
    (TOML, 'corruption", coding = 16', 'corruption", coding = 17', SHEETS | {"autograder"}),
    (COURSE, f"due = {DUE}", f"due = {DUE + timedelta(7)}", SHEETS | {"README.md"}),
    (ANSWER, "\\begin{solution}\n", "\\begin{solution}\nFirst of all,\n", set()),
    (CODE, "= self.data[idx]", "= (self.data[idx])", {"autograder"}),
    (CODE, "Worked example.", "Worked one.", {"autograder", "starter"}),
    ("solutions/hidden/training.py", "import", "import ", {"autograder"}),
)


def artefacts(repo):
    """Return what students and Gradescope get of an edition, by name, as LaTeX instead of PDF."""
    sheet, pages = Sheet(repo, description.describe(repo, EDITION)), student.pages(repo, EDITION)
    return {
        "starter": starter.starter_files(repo),
        "sheet": sheet.render(),
        "submission.tex": sheet.submission(),
        "outline": outline(sheet.slots),
        "web page": sheet.render("web"),
        **{name: pages[name] for name in ("README.md", "AGENTS.md")},
        "autograder": autograder.contents(repo, EDITION),
    }


def test_an_edit_changes_what_mentions_it_and_nothing_else(course):
    autograder.keep_secret(course)
    before = artefacts(course)
    for name, old, new, expected in EDITS:
        with edited(course / name, old, new):
            after = artefacts(course)
        assert {key for key in before if before[key] != after[key]} == expected, (name, new)


@pytest.mark.parametrize("edition", pinned.NAMES)
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
