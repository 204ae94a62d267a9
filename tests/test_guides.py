"""The guides for those who change the project, followed word for word, and what they lead to.

They describe the shipped assignment.toml, so these tests use that one.
"""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests import follow
from tests.interpreter import python
from tests.project import ROOT, commit_all, contents, copy_of_the_project, git
from tools import starter
from tools.handout import description
from tools.handout.sheet import Sheet

# These run the tests of which this is one, or some of `make test` that take most of a minute, or
# they need LaTeX, and the sheet's text is rendered below. test_docs.py knows the targets.
LEFT_OUT = (
    "make test-quick",
    'make test ARGS="tests/test_starter.py -k region"',
    "make test",
    "make test-long",
    "make coverage",
    "make lint",
    "python -m pytest tests/snapshots --fix",
    "make handout EDITION=xcs224n",
    "make handout EDITION=current",
)
GENERATED = {"src/submission/attention.py", "src/submission/helper.py"}
pytestmark = [pytest.mark.requires_tool("make"), pytest.mark.requires_tool("git")]


def guide(name: str) -> str:
    """Return a guide, in which ruff alone checks what it has changed, in place of `make lint`."""
    ruff = "".join(
        f"\npython -m ruff {words} src solutions" for words in ("check", "format --check")
    )
    path = ROOT / "CONTRIBUTING.md" if name == "CONTRIBUTING" else ROOT / "docs" / f"{name}.md"
    text = path.read_text(encoding="utf-8")
    return text.replace("\nmake lint", ruff)


def project(target: Path) -> Path:
    """Copy the project to a folder, with the assignment.toml that is shipped."""
    tree = copy_of_the_project(target)
    shutil.copy2(ROOT / "assignment.toml", tree)
    return tree


def changed(tree: Path, before: dict[str, bytes]) -> dict[str, bytes]:
    return {name: text for name, text in contents(tree).items() if before.get(name) != text}


@pytest.mark.long
@pytest.mark.parametrize("name", ["CONTRIBUTING", "add-a-test", "change-a-message"])
def test_in_a_clone_each_command_ends_as_the_guide_says(name, tmp_path):
    tree = project(tmp_path)
    commit_all(tree, "All")
    for command, said in follow.follow(tree, guide(name), but=LEFT_OUT):
        assert not command.startswith("git diff --stat") or "1 file changed" in said
    if name == "CONTRIBUTING":  # all that its first hour changes is restored
        assert git(tree, "status", "--porcelain", "--untracked-files=no").stdout == ""


@pytest.mark.long
def test_a_question_is_added_that_works_and_nothing_is_left_to_edit(tmp_path):
    tree = project(tmp_path)
    before, text = contents(tree), guide("add-a-question")
    answers = follow.follow(tree, text, but=LEFT_OUT)
    reference, starters, again = (said for command, said in answers if "grader.py 3f" in command)
    assert "3 / 3     points in all" in reference and "3 / 3     points in all" in again
    assert "0 / 3     points in all" in starters and "not written yet" in starters
    written = changed(tree, before)
    assert {step[0] for step in follow.steps(text) if not isinstance(step, str)} < written.keys()
    assert not [name for name, content in written.items() if b"EDIT:" in content]
    verdicts, killers = (
        tomllib.loads((tree / f"tests/golden/{name}.toml").read_text(encoding="utf-8"))
        for name in ("verdicts", "killers")
    )
    ours = {name: v for name, v in verdicts.items() if name.startswith("repeated_tokens")}
    assert ours == {"repeated_tokens/wrong/a_mistake": {"failed": ["example", "random"]}}
    caught_by = {entry["test"] for entry in killers.values()}
    assert {"repeated_tokens.example", "repeated_tokens.random"} <= caught_by
    question, _ = rendered(tree, None, "repeated_tokens")
    assert r"{3}{f}{Repeated tokens}{3 points (Coding)}" in question
    assert r"\code{\# [repeated tokens]}" in question and "@" not in question


def rendered(tree: Path, edition: str | None, topic: str) -> tuple[str, str]:
    """Return the LaTeX of a question, and of the sheet."""
    described = description.describe(tree, edition)
    sheet = Sheet(tree, described, numbers={})
    return sheet.render_question(described.questions[topic]), sheet.page("sheet.tex.j2")


@pytest.fixture(scope="module")
def edited(tmp_path_factory) -> Path:
    """Return a copy of the project with the guide's edits, and the starter that follows."""
    tree = project(tmp_path_factory.mktemp("edited"))
    before = contents(tree)
    prepares, *steps = follow.steps(guide("add-a-variant"))
    edits = [step for step in steps if not isinstance(step, str)]
    follow.run(tree, prepares)
    for edit in edits:
        follow.edit(tree, *edit)
    starter.write_starter(tree, starter.starter_files(tree))
    assert changed(tree, before).keys() == {file for file, *_ in edits} | GENERATED
    return tree


def test_a_variants_edition_alone_asks_for_it_with_its_commands(edited):
    question, page = rendered(edited, "current", "nope")
    assert r"{1}{i}{Do without positions}{6 points (Coding)}" in question
    # The commands are a table, where MODEL stands for the variants of the questions beside it.
    assert re.search(r"q:1i\]\{1\(i\)\} & \\file\{pretrain MODEL\}", page)
    assert r"\code{\# [nope]}" in question and "30" in question
    modules = starter.package_of(edited, "cs224n")
    assert not [name for name, text in modules.items() if b"[nope]" in text]


@pytest.mark.long
def test_a_variants_reference_has_all_points_and_a_model_with_positions_has_not(edited, tmp_path):
    """Run the guide's commands; three models besides the new one are trained."""
    _, *commands = follow.commands_of(guide("add-a-variant"))
    commands = "\n".join(commands)
    result = tmp_path / "graded.json"
    commands = commands.replace("build/reference", f"build/reference --json {result}")
    follow.follow(edited, f"```sh\n{commands}\n```\n", but=LEFT_OUT)
    graded = json.loads(result.read_text(encoding="utf-8"))
    assert graded["score"] == graded["max_score"]
    ours = [test for test in graded["tests"] if test["test_id"].startswith("1i-")]
    assert {test["outcome"] for test in ours} == {"passed"}
    assert sum(test["max_score"] for test in ours) == pytest.approx(6)
    shutil.copytree(edited / "build" / "reference" / "src" / "submission", tmp_path / "submission")
    right = "encodes_positions = True\n    replaceable"
    follow.edit(tmp_path, "submission/attention.py", right, "replaceable")
    words = ("1i-2-hidden", "--edition", "current", "--submission", str(tmp_path))
    wrong = python(edited, "src/grader.py", *words)
    assert wrong.returncode == 1 and "parameters are not those of the given GPT" in wrong.stdout
