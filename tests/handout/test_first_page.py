"""The first page states the points, tests and times of the description."""

import re
from decimal import Decimal

import pytest

from tests import pinned
from tests.snapshots import check
from tools.handout import __main__ as command
from tools.handout import description, first_page


def rows(repo, edition, dataset="world"):
    return first_page.rows(description.describe(repo, edition, dataset))


@pytest.mark.parametrize("edition", pinned.NAMES)
def test_the_rows_of_questions_add_up_to_the_sections_and_to_the_edition(repo, edition):
    sections, sums = {}, {}
    for row in rows(repo, edition):
        if row.is_section:
            section = row.number
            sections[section] = Decimal(row.points.removesuffix(" extra"))
            sums[section] = Decimal(0)
        else:
            sums[section] += sum(map(Decimal, row.points.split(" + ")))
    questions = pinned.load().edition(edition).questions
    assert sum(sums.values()) == sum(q.coding + q.written for q in questions) > 50
    assert sections == sums and "4" not in sections


@pytest.mark.parametrize("edition", pinned.NAMES)
def test_points_for_code_are_told_apart_by_what_they_are_for(repo, edition):
    shown = {row.number: row.code for row in rows(repo, edition) if row.code}
    scored = [q for q in pinned.load().edition(edition).questions if q.coding]
    assert len(shown) == len(scored) >= 4
    for question in scored:
        words = shown[f"{question.number[:-1]}({question.number[-1]})"]
        told = {kind: Decimal(points) for kind, points in re.findall(r"(\w+)~([\d.]+)", words)}
        assert sum(told.values()) == question.coding
        scores = {test.name: test.max_score for test in question.tests}
        for name, purpose in first_page.PURPOSES.items():
            assert told.get(purpose) == scores.get(name)


@pytest.mark.parametrize("edition", pinned.NAMES)
@pytest.mark.parametrize("document", ["sheet", "practice"])
def test_in_two_hours_the_most_important_questions_are_done(repo, edition, document):
    described = description.describe(repo, edition, "world")
    practice = document == "practice"
    asked = [q for q in described.edition.questions if description.is_unscored(q) == practice]
    topics = described.assignment.tables.topics
    chosen = [topics[q.topic] for q in first_page.most_important(described, asked)]
    assert chosen and all(topic.importance == 3 for topic in chosen)
    assert 1 < sum(topic.hours for topic in chosen) <= 2


def summary(text):
    """Return what a sheet says about what is submitted, and how long its questions take."""
    start = text.index("What you submit")
    items = " ".join(text[start : text.index("\\end{shortlist}", start)].split())
    rows = re.findall(r"^\\rule.*", text, re.MULTILINE)
    takes = re.findall(r"this takes about [^;]*", text)
    return "\n".join(map(str.strip, [*items.split("\\item ")[1:], *rows, *takes]))


TITLE = 'title = "Define a span corruption function"\n'
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
    "other hours of work": ("xcs224n", "world", f"{TITLE}hours = 2", f"{TITLE}hours = 5"),
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
    path = repo / "assignment.toml"
    question = '{ number = "2a", topic = "consider_accuracy", written = 1 }'
    gradescope = "hidden_tests = 'visible'\nhidden_feedback_a_day = 0\nleaderboard = false\n"
    only_words = (
        f'\n[editions.words]\ntitle = "Words"\nquestions = [{question}]\n'
        f"\n[editions.words.gradescope]\n{gradescope}"
    )
    path.write_text(path.read_text(encoding="utf-8") + only_words, encoding="utf-8")
    monkeypatch.setattr(command, "REPO", repo)
    assert command.main(["--edition", "words", "--dataset", "world"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: assignment.toml: [editions.words]: got no question with tests")
