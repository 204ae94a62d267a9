"""Each fact about each graded question is found if it is planted where students would read it.

A mark is put into the sources: an answer to practice, the title of a question, the starter's
docstrings. For each edition, the students' files are built from these, and the mark is replaced by
each example of each fact that counts there.
"""

import re
import shutil
from dataclasses import dataclass

import pytest

from autograder.description import editions
from tests.project import ROOT
from tools import leaks, starter
from tools.handout import description
from tools.handout.sheet import Sheet
from tools.leaks.facts import read

MARK = "XPLANTEDX"
# The file, and the text after which the mark is put.
PLANTED = {
    "handout/answers/blocks_heads.tex.j2": "\\emph{The cost.}",
    "handout/topics/consider_recall.tex.j2": "stood with it:",
    "assignment.toml": 'title = "Splitting and merging heads',
    "solutions/submission/building_blocks.py": "Return scaled dot-product attention",
    "handout/student/README.md.j2": "or as a web page",
}
TAKEN = (
    "assignment.toml", "course.toml", "handout", "solutions/submission", "solutions/written",
    "src/submission", "src/pretraining", "src/questions",
)  # fmt: skip
AROUND = 300  # characters; more would take longer, and facts are found at the mark


@dataclass(frozen=True)
class Place:
    """A stretch of a file that students get, around a mark."""

    file: str
    before: str
    after: str

    def holding(self, text: str) -> bytes:
        """Return the stretch with a text in place of the mark."""
        return f"{self.before}{text}{self.after}".encode()


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """A copy of the sources, with marks."""
    repo = tmp_path_factory.mktemp("marked")
    for name in TAKEN:
        source, target = ROOT / name, repo / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target)
    for name, behind in PLANTED.items():
        text = (repo / name).read_text(encoding="utf-8")
        assert behind in text, f"{name} lacks {behind!r}"
        (repo / name).write_text(text.replace(behind, f"{behind} {MARK}", 1), encoding="utf-8")
    return repo


def made(repo, edition):
    """Return the marked files as an edition's students get them, by name."""
    sheet = Sheet(repo, description.describe(repo, edition, "world"), "letter")
    files = {"practice.tex": sheet.render(document="practice")}
    words = {"title": "", "due_plain": "", "python": "", "unseen": "", "release": ""}
    files["README.md"] = sheet.page("student/README.md.j2", pipelines={}, experiments=[], **words)
    package = starter.package_of(repo, edition)
    name = "building_blocks.py"
    return files | {f"src/submission/{name}": package[name].decode("utf-8")}


@pytest.fixture(scope="module")
def places(repo):
    """places(edition): where the marks stand in what its students get."""

    def places(edition):
        found = []
        for name, text in made(repo, edition).items():
            for mark in re.finditer(MARK, text):
                before = text[max(mark.start() - AROUND, 0) : mark.start()]
                after = text[mark.end() : mark.end() + AROUND].replace(MARK, "")
                found.append(Place(name, before.replace(MARK, ""), after))
        return found

    return places


def named(lines):
    """Return the facts in the check's lines: their slots and texts."""
    return {line.partition("answers a graded question, ")[2] for line in lines}


@pytest.mark.parametrize("edition", editions(ROOT))
def test_each_graded_fact_is_found_wherever_it_is_planted(places, edition):
    """In the sheet's practice, its answers, a title, the starter and the README."""
    facts = leaks.facts_of(ROOT, edition)
    found = places(edition)
    files = [place.file for place in found]
    # The title stands in the practice twice: above the question, and above its answer.
    assert files.count("practice.tex") >= 3 and len(set(files)) == 3
    planted = 0
    for place in found:
        assert leaks.find(place.file, place.holding(""), [], facts) == [], place.file
        for fact in facts:
            for example in fact.examples:
                lines = leaks.find(place.file, place.holding(example), [], facts)
                assert f"{fact.slot}: {fact.says}" in named(lines), (place.file, example, lines)
                planted += 1
    assert planted >= 5 * sum(len(fact.examples) for fact in facts) > 100


def test_the_facts_planted_are_those_of_every_graded_slot():
    """Those on position embeddings, too, graded only by `current`; every fact counts somewhere."""
    of_editions = {name: {f.slot for f in leaks.facts_of(ROOT, name)} for name in editions(ROOT)}
    positions = {s for s in of_editions["current"] if s.startswith("positions_")}
    assert len(positions) == 4 and not positions & of_editions["xcs224n"]
    assert {fact.slot for fact in read(ROOT)} == set.union(*of_editions.values())
