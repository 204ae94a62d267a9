"""The first page states the points, tests and times of the description."""

import re
from decimal import Decimal

import pytest

from tests import pinned
from tools.handout import __main__ as command
from tools.handout import first_page

WORLD = "where the processor has \\code{avx512\\_bf16} (recent servers)"


def rows(repo, edition, dataset="world"):
    from tools.handout.description import describe

    return first_page.rows(describe(repo, edition, dataset))


@pytest.mark.parametrize("edition", pinned.NAMES)
def test_the_rows_of_questions_add_up_to_the_sections_and_to_the_edition(repo, edition):
    found, sums = {}, {}
    for row in rows(repo, edition):
        if row.is_section:
            section = row.number
            found[section] = row.points
            continue
        values = [Decimal(value) for value in row.points.split(" + ")]
        sums[section] = sums.get(section, Decimal(0)) + sum(values)
    described = pinned.load().edition(edition)
    all_points = sum(q.coding + q.written for q in described.questions)
    assert sum(sums.values()) == all_points > 50
    for section, total in sums.items():
        assert found[section].removesuffix(" extra") == f"{total.normalize():f}"
    assert found["4"] == "practice" and "4" not in sums


@pytest.mark.parametrize("edition", pinned.NAMES)
def test_every_test_with_points_is_in_its_questions_row(repo, edition):
    """Each test's number is listed with its kind and points: parsed from the text."""
    shown = {row.number: row.how for row in rows(repo, edition) if not row.is_section}
    scored = [q for q in pinned.load().edition(edition).questions if q.coding]
    assert len(scored) >= 4
    for question in scored:
        words = shown[f"{question.number[:-1]}({question.number[-1]})"]
        told = {}
        for part in words.split("; "):
            kind, _, runs = part.partition(" ")
            for run in runs.split(", ") if kind in ("basic", "hidden") else ():
                places, _, value = run.partition(":~")
                first, _, last = places.partition("--")
                for place in range(int(first), int(last or first) + 1):
                    told[place] = (kind, Decimal(value))
        assert told == {
            place: (test.kind, test.max_score) for place, test in enumerate(question.tests)
        }


def test_times_are_given_for_both_processors(rendered, change):
    text = " ".join(rendered()[0].split())
    assert f"about 3 minutes {WORLD}, and 7 minutes where it has AVX2 only (most laptops)" in text
    assert "about 1 minute" in text and f"about 1 minute {WORLD}" not in text  # twice the same
    assert f"about 9 minutes {WORLD}, and 20 minutes" in text
    assert "computing: about 9 to 20 minutes" in text
    change("assignment.toml", "pretraining = [3, 7]", "pretraining = [3, 0]")
    text = " ".join(rendered()[0].split())
    assert f"about 3 minutes {WORLD}, and by our estimate 6 minutes where it has AVX2" in text
    assert f"about 9 minutes {WORLD}, and by our estimate 19 minutes" in text
    assert "computing: about 9 to 19 minutes" in text


@pytest.mark.parametrize("dataset", ["world", "real"])
def test_each_time_that_nobody_measured_is_called_an_estimate(rendered, dataset):
    """Estimates have a second number of 0 in assignment.toml; those of real have it."""
    described = pinned.load()
    recipe = described.datasets[dataset].recipe
    topics = {q.topic for q in described.edition("current").questions} & set(
        described.times[recipe]
    )
    wanted = {topic: not described.times[recipe][topic][1] for topic in topics}
    assert len(wanted) >= 2 and set(wanted.values()) == {dataset == "real"}
    text = " ".join(rendered("current", dataset=dataset)[0].split())
    said = re.findall(r"this takes about ([^;]*);", text)
    assert len(said) == len(wanted)
    assert sum("by our estimate" in words for words in said) == sum(wanted.values())


def test_the_public_courses_times_are_one_number(rendered, change):
    change("assignment.toml", 'recipe = "real"', 'recipe = "original"')
    text = " ".join(rendered(dataset="real")[0].split())
    assert "about 20 hours; before it starts" in text and "avx512" not in text
    assert "computing: about 41 hours" in text


def test_hours_of_work_come_from_the_topics_and_are_called_an_estimate(rendered, change):
    text, _ = rendered()
    assert "about 13 hours, and 10 hours more for all of the practice" in text
    assert "These hours are our own estimate" in " ".join(text.split())
    title = 'title = "Define a span corruption function"\n'
    change("assignment.toml", f"{title}hours = 2", f"{title}hours = 5")
    text, _ = rendered()
    assert "about 16 hours, and 10" in text and "about 10.5 hours of work" in text


@pytest.mark.parametrize(
    ("edition", "words"),
    [
        ("xcs224n", "not required:} all written answers are extra credit, 10 points in total."),
        ("cs224n", "required.} It is worth 28 points."),
        ("current", "not required:} all written answers are extra credit, 13 points in total."),
    ],
)
def test_the_first_page_says_whether_the_pdf_is_required(rendered, edition, words):
    text = " ".join(rendered(edition)[0].split())
    assert f"\\textbf{{A PDF with written answers, {words}" in text


def test_extra_credit_beside_required_answers_is_named(rendered, change):
    line = '  { number = "3c", topic = "consider_unseen", written = 2'
    change("assignment.toml", f"{line} }}", f"{line}, extra_credit = true }}")
    text = " ".join(rendered("cs224n")[0].split())
    assert "required.} It is worth 26 points and 2 points of extra credit." in text


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
