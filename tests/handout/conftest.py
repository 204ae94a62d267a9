"""Copies of the handout's sources, to be edited."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import pinned
from tests.interpreter import captured
from tests.project import ROOT, copy_of_the_project, edit
from tools import world
from tools.handout import description, sheet

EDITIONS = pinned.NAMES
# The sources of the sheet.
SOURCES = (
    "assignment.toml",
    "course.toml",
    "errata.toml",
    "handout",
    "solutions/written",
    "src/questions",
    "src/submission",
)

# An edition that is typeset soon.
SHORT = """
[editions.short]
title = "Short Course"
questions = [
  { number = "1a", topic = "demo" },
  { number = "1b", topic = "no_pretraining", coding = 4 },
  { number = "1c", topic = "consider_accuracy", written = 1 },
  { number = "1d", topic = "attention_copying", written = 1 },
]
[editions.short.gradescope]
hidden_tests = "visible"
"""


def headings(text: str) -> list[tuple[str, ...]]:
    """Return the number, the title and the points in words of each question of a sheet."""
    found = re.findall(r"^\\question\{(\w+)\}\{(\w+)\}\{(.*)\}\{(.*)\}\{q:\w+\}$", text, re.M)
    return [(part + letter, title, worth) for part, letter, title, worth in found]


def words(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def text_of(pdf: Path, *options: str) -> str:
    """Return a PDF's text, as `pdftotext OPTION...` prints it."""
    return captured(["pdftotext", *options, pdf, "-"], pdf.parent, check=True).stdout


def copied_lines(pdf: Path) -> list[str]:
    """Return a PDF's lines as a person copies them; a backslash at the end joins two."""
    text = re.sub(r"\\\n\s*", "", text_of(pdf, "-layout").replace("\f", "\n"))
    return [" ".join(line.split()) for line in text.splitlines()]


@contextlib.contextmanager
def edited(path: Path, before: str, after: str) -> Iterator[None]:
    """Replace a text in a file until the end of the block."""
    text = path.read_text(encoding="utf-8")
    edit(path, before, after)
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A copy of the whole project, with a smoke world."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("course"))
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0
    return tree


@pytest.fixture
def repo(tmp_path) -> Path:
    """A copy of the sheet's sources, with the editions that tests know."""
    repo = tmp_path / "repo"
    (repo / "solutions").mkdir(parents=True)
    (repo / "src").mkdir()
    for name in SOURCES:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, repo / name)
    (repo / "assignment.toml").write_text(pinned.text(), encoding="utf-8")
    return repo


@pytest.fixture
def change(repo):
    """change(file, before, after) edits a file of the copy, wherever it has `before`."""

    def change(name, before, after):
        text = (repo / name).read_text(encoding="utf-8")
        assert before in text, (name, before)
        (repo / name).write_text(text.replace(before, after), encoding="utf-8")

    return change


@pytest.fixture
def rendered(repo):
    """rendered(edition, target, dataset): a document's LaTeX text, and the sheet that made it."""

    def rendered(edition="xcs224n", target="print", dataset="world", document="sheet"):
        described = description.describe(repo, edition, dataset)
        made = sheet.Sheet(repo, described)
        return made.render(target, document), made

    return rendered
