"""docs/upgrading.md: a course with a question and a sentence of its own takes a new version."""

import subprocess
from pathlib import Path

import pytest

from autograder.description import load_assignment
from tests import follow
from tests.project import ROOT, append, commit_all, git, make, write_files
from tests.test_guides import project
from tools import question, starter, world

DOCUMENT = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")
TEXT = "handout/topics/consider_accuracy.tex.j2"
LEFT_OUT = "make test-quick"  # tests themselves are run by this suite
# What git doesn't know of, and is the course's.
KEPT = {"solutions/data/grading_secret": b"secret\n", "dist/notes.txt": b"mine\n"}
pytestmark = [pytest.mark.long, pytest.mark.requires_tool("make"), pytest.mark.requires_tool("git")]


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """Return the package as a repository with a first version."""
    tree = project(tmp_path_factory.mktemp("package"))
    commit_all(tree, "The first version")
    return tree


def new_version(tree: Path) -> None:
    """Commit a new version that changes what the document says, and the grader."""
    assert question.main(["beam_width"], tree) == 0
    before = ", and the model without pretraining does not."
    follow.edit(tree, TEXT, before, before.replace("and", "whereas"))
    append(tree / "src" / "grader.py", "# a new version\n")
    commit_all(tree, "The second version")


@pytest.fixture(scope="module")
def upgraded(package, tmp_path_factory) -> tuple[Path, list[tuple[str, str]]]:
    """Return the course's clone in which the document was followed, and what commands printed."""
    tree = tmp_path_factory.mktemp("course") / "course"
    git(package, "clone", "--quiet", "--origin", "upstream", ".", str(tree))
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0
    write_files(tree, KEPT)
    make(tree, "help")  # links its .venv

    def run(tree: Path, command: str) -> subprocess.CompletedProcess:
        if command.startswith("git fetch"):
            new_version(package)
        return follow.run(tree, command)

    return tree, follow.follow(tree, DOCUMENT, but=(LEFT_OUT,), run=run)


def test_the_course_has_its_question_its_sentence_and_the_new_version(package, upgraded):
    tree, answers = upgraded
    said = dict(answers)
    assert said["git merge upstream/main"].count("CONFLICT") == 4
    assert said["git status --short"] == said["git diff --check"] == ""
    numbers = {q.topic: q.number for q in load_assignment(tree).edition(None).questions}
    assert (numbers["common_prefix"], numbers["beam_width"]) == ("3f", "3g")
    text = (tree / TEXT).read_text(encoding="utf-8")
    assert "at most five sentences" in text and "whereas the model" in text
    assert "# a new version" in (tree / "src" / "grader.py").read_text(encoding="utf-8")
    differs = {*git(tree, "diff", "--name-only", "upstream/main").stdout.split()}
    others = {name for name in differs if "common_prefix" not in name}
    assert others == {TEXT, "assignment.toml", *question.TABLES}
    assert starter.stale(tree, starter.starter_files(tree)) == {}
    assert git(tree, "status", "--short").stdout == ""
    assert {name: (tree / name).read_bytes() for name in KEPT} == KEPT
    theirs = follow.run(tree, "python src/grader.py 3g --submission solutions")
    for graded in (said["python src/grader.py 3f --submission solutions"], theirs.stdout):
        assert "3 / 3     points in all" in graded
