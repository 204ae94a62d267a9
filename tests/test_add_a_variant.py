"""docs/add-a-variant.md leads to a variant that can be trained, and whose reference is right."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests import follow
from tests.interpreter import python
from tests.project import ROOT
from tests.test_add_a_question import contents, project
from tools import starter
from tools.handout import description
from tools.handout.sheet import Sheet

DOCUMENT = (ROOT / "docs" / "add-a-variant.md").read_text(encoding="utf-8")
PREPARES, *STEPS = follow.steps(DOCUMENT)
EDITS = [step for step in STEPS if not isinstance(step, str)]
COMMANDS = [step for step in STEPS if isinstance(step, str)]
# Not run here: `make handout` needs LaTeX (the question is rendered below), and `make lint` checks
# everything (ruff alone is run below).
LEFT_OUT = ("make lint", "make handout EDITION=current")
GENERATED = {"src/submission/attention.py", "src/submission/helper.py"}


@pytest.fixture(scope="module")
def edited(tmp_path_factory) -> Path:
    """Return a copy of the project with the document's edits, and the starter that follows."""
    tree = project(tmp_path_factory.mktemp("edited"))
    before = contents(tree)
    follow.run(tree, PREPARES)
    for edit in EDITS:
        follow.edit(tree, *edit)
    changed = {name for name, content in contents(tree).items() if before.get(name) != content}
    assert changed == {file for file, *_ in EDITS}
    assert len(changed) <= 6
    starter.write_starter(tree, starter.starter_files(tree))
    changed = {name for name, content in contents(tree).items() if before.get(name) != content}
    assert changed == {file for file, *_ in EDITS} | GENERATED
    return tree


def test_the_sheet_has_the_question_and_the_commands(edited):
    sheet = Sheet(edited, description.describe(edited, "current"), "letter", {})
    question = sheet._described.questions["nope"]
    page = sheet.page("sheet.tex.j2")
    text = sheet.render_question(question)
    assert r"{1}{i}{Do without positions}{6 points (Coding)}" in text
    # The commands are a table, where MODEL stands for the variants of the questions beside it.
    assert re.search(r"q:1i\]\{1\(i\)\} & \\file\{pretrain MODEL\}", page)
    assert r"\code{\# [nope]}" in text and "30" in text


def test_what_was_written_is_in_our_style(edited):
    files = sorted({file for file, *_ in EDITS if file.endswith(".py")} | GENERATED)
    for words in (("check",), ("format", "--check")):
        done = python(edited, "-m", "ruff", *words, *files)
        assert done.returncode == 0, done.stdout


def test_other_editions_do_not_ask_for_it(edited):
    modules = starter.package_of(edited, "cs224n")
    assert not [name for name, text in modules.items() if b"[nope]" in text]


@pytest.fixture(scope="module")
def trained(edited) -> Path:
    """Run the document's commands; three models besides the new one are trained."""
    for command in COMMANDS:
        if command not in LEFT_OUT:
            asked = command + " --json graded.json" * command.startswith("python src/grader.py")
            answer = follow.run(edited, asked)
            assert answer.returncode == 0, (command, answer.stdout, answer.stderr)
    return edited


@pytest.mark.long
@pytest.mark.requires_tool("make")
def test_the_trained_reference_has_all_points(trained):
    result = json.loads((trained / "graded.json").read_text(encoding="utf-8"))
    assert result["score"] == result["max_score"]
    ours = [test for test in result["tests"] if test["test_id"].startswith("1i-")]
    assert {test["outcome"] for test in ours} == {"passed"}
    assert sum(test["max_score"] for test in ours) == pytest.approx(6)


@pytest.mark.long
def test_a_model_with_positions_is_caught(trained, tmp_path):
    shutil.copytree(trained / "build" / "reference" / "src" / "submission", tmp_path / "submission")
    follow.edit(
        tmp_path,
        "submission/attention.py",
        "encodes_positions = True\n    replaceable",
        "replaceable",
    )
    words = ("1i-2-hidden", "--edition", "current", "--submission", str(tmp_path))
    graded = python(trained, "src/grader.py", *words)
    assert graded.returncode == 1 and "parameters are not those of the given GPT" in graded.stdout
