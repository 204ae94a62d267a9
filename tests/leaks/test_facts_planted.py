"""Each fact about each graded question is found if it is planted where students would read it.

A mark is put into the sources: an answer to practice, the title of a question, the starter's
docstrings. For each edition, the students' files are built from these, and the mark is replaced by
the examples of each fact that counts there. (That each of them is found by itself is checked when
facts.toml is read.)
"""

import shutil
from itertools import pairwise

import pytest

from autograder.description import editions
from tests.project import ROOT
from tools import leaks, starter
from tools.handout import description
from tools.handout.sheet import Sheet

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
AROUND = 300  # characters around the mark


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
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
    words = dict.fromkeys(("title", "due_plain", "python", "unseen", "release"), "")
    readme = sheet.page("student/README.md.j2", pipelines={}, experiments=[], **words)
    code = starter.package_of(repo, edition)["building_blocks.py"].decode("utf-8")
    practice = sheet.render(document="practice")
    return {"practice.tex": practice, "README.md": readme, "src/building_blocks.py": code}


@pytest.mark.parametrize("edition", editions(ROOT))
def test_each_graded_fact_is_found_wherever_it_is_planted(marked, edition):
    """In the sheet's practice, its answers, a title, the starter and the README."""
    facts = leaks.facts_of(ROOT, edition)
    expected = {f"{fact.slot}: {fact.says}" for fact in facts}
    examples = "\n\n".join(example for fact in facts for example in fact.examples)
    places = [
        (name, before[-AROUND:], after[:AROUND])
        for name, text in made(marked, edition).items()
        for before, after in pairwise(text.split(MARK))
    ]
    # The title stands in the practice twice: above the question, and above its answer.
    assert len(expected) > 10 and len(places) >= 6 and len({name for name, *_ in places}) == 3
    for name, before, after in places:
        assert leaks.find(name, f"{before}{after}".encode(), [], facts) == [], name
        lines = leaks.find(name, f"{before}{examples}{after}".encode(), [], facts)
        assert {line.partition("graded question, ")[2] for line in lines} == expected, name
