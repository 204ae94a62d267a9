"""The first page states the points, tests and times of the description."""

import re

from tests import pinned
from tests.snapshots import check
from tools.handout import __main__ as command


def summary(text):
    """Return what a sheet says about what is submitted, its points, and how long it takes."""
    start = text.index("What you submit")
    items = " ".join(text[start : text.index("\\end{shortlist}", start)].split())
    table = re.search(r"\\begin\{overview\}.*?\\hline\n(.*?)\\end\{overview\}", text, re.DOTALL)
    rows = [*table[1].splitlines(), *re.findall(r"^\d\(\w\): .*[.;]$", text, re.MULTILINE)]
    takes = re.findall(r"this takes about [^;]*", text)
    return "\n".join(map(str.strip, [*items.split("\\item ")[1:], *rows, *takes]))


UNSEEN = '{ number = "3c", topic = "consider_unseen", written = 2'
# Edition, data set, and what is replaced in assignment.toml.
PAGES = {
    "xcs224n": ("xcs224n", "world", "", ""),
    "cs224n": ("cs224n", "world", "", ""),
    "current": ("current", "world", "", ""),
    "an estimate for the second processor": (
        *("xcs224n", "world"),
        *("pretraining = [3, 7]", "pretraining = [3, 0]"),
    ),
    "times of the public course": (
        *("xcs224n", "real"),
        *('recipe = "real"', 'recipe = "original"'),
    ),
    "extra credit beside required answers": (
        *("cs224n", "world"),
        *(f"{UNSEEN} }}", f"{UNSEEN}, extra_credit = true }}"),
    ),
}


def test_the_first_page_says_what_is_required_what_it_is_worth_and_how_long_it_takes(
    repo, rendered
):
    path = repo / "assignment.toml"
    original = path.read_text(encoding="utf-8")
    found = {}
    for title, (edition, dataset, before, after) in PAGES.items():
        assert before in original
        path.write_text(original.replace(before, after) if before else original, encoding="utf-8")
        found[title] = summary(rendered(edition, dataset=dataset)[0])
    check("handout_first_page", found)


def test_an_edition_without_tested_questions_is_rejected_in_one_line(repo, monkeypatch, capsys):
    words = """
[editions.words]
title = "Words"
questions = [{ number = "2a", topic = "consider_accuracy", written = 1 }]
[editions.words.gradescope]
hidden_tests = "visible"
"""
    (repo / "assignment.toml").write_text(pinned.text() + words, encoding="utf-8")
    monkeypatch.setattr(command, "REPO", repo)
    assert command.main(["--edition", "words", "--dataset", "world"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: assignment.toml: [editions.words]: got no question with tests")
