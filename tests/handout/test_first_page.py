"""The first page states the points, tests and times of the description."""

import re
from decimal import Decimal

import pytest

from tests import pinned
from tests.snapshots import check
from tools.handout import __main__ as command
from tools.handout import first_page


@pytest.mark.parametrize("edition", pinned.NAMES)
def test_the_rows_add_up_to_the_edition_and_say_what_points_for_code_are_for(rendered, edition):
    questions = pinned.load().edition(edition).questions
    text, _ = rendered(edition)
    table = re.search(r"\\begin\{overview\}.*?\\hline\n(.*?)\\end\{overview\}", text, re.DOTALL)[1]
    sections, sums = {}, {}
    for row in table.splitlines():
        number, _, points, *_ = row.split(" & ")
        if row.startswith("\\rule"):
            section = re.search(r"\{(\d)\}", number)[1]
            sections[section] = Decimal(re.search(r"[\d.]+", points)[0])
            sums[section] = Decimal(0)
        else:
            sums[section] += sum(map(Decimal, points.split(" + ")))
    code = dict(re.findall(r"^(\d\(\w\)): (.*)[.;]$", text, re.MULTILINE))
    assert sum(sums.values()) == sum(q.coding + q.written for q in questions) > 50
    assert sections == sums and "4" not in sections
    scored = [question for question in questions if question.coding]
    assert len(code) == len(scored) >= 4
    for question in scored:
        words = code[f"{question.number[:-1]}({question.number[-1]})"]
        told = {kind: Decimal(points) for kind, points in re.findall(r"(\w+)~([\d.]+)", words)}
        assert sum(told.values()) == question.coding
        scores = {test.name: test.max_score for test in question.tests}
        for name, purpose in first_page.PURPOSES.items():
            assert told.get(purpose) == scores.get(name)


def summary(text):
    """Return what a sheet says about what is submitted, and how long its questions take."""
    start = text.index("What you submit")
    items = " ".join(text[start : text.index("\\end{shortlist}", start)].split())
    rows = re.findall(r"^\\rule.*", text, re.MULTILINE)
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
