"""Parts of a question that are practice, and how the sheet explains points."""

import re
from decimal import Decimal

import pytest

from autograder.description import load_assignment
from tests.handout.outlines import words
from tests.project import ROOT
from tools.handout import build

LINE = 'topic = "attention_single_head", written = [1, 1]'


def test_a_part_without_points_is_practice(rendered, tmp_path):
    text, sheet = rendered("xcs224n")
    assert r"\subquestion{iii}{Practice}{q:3c-iii}" in text
    assert "3c-iii" not in [slot.id for slot in sheet.slots]
    numbers = build.compute_numbers(ROOT, tmp_path / "figures")
    solutions, _ = rendered("xcs224n", "solutions", numbers=numbers)
    assert r"\renewcommand{\solutionof}{3(c)-iii}" in solutions


def test_an_edition_can_give_it_points(rendered, change):
    change("assignment.toml", LINE, LINE.replace("[1, 1]", "[1, 1, 0.5]"))
    text, sheet = rendered("xcs224n")
    assert r"\subquestion{iii}{0.5 points}{q:3c-iii}" in text
    (slot,) = (slot for slot in sheet.slots if slot.id == "3c-iii")
    assert slot.points == Decimal("0.5") and r"\answerspace{3c-iii}" in text


def test_a_part_whose_points_are_0_is_practice(rendered, change):
    change("assignment.toml", LINE, LINE.replace("[1, 1]", "[1, 1, 0]"))
    text, _ = rendered("xcs224n")
    assert r"\subquestion{iii}{Practice}{q:3c-iii}" in text


def test_the_synthesizer_has_parts_only_where_it_has_two(rendered):
    xcs, cs = rendered("xcs224n")[0], rendered("cs224n")[0]
    assert "{q:1g-i}" not in xcs
    assert r"\subquestion{i}{8 points}{q:2g-i}" in cs
    assert r"\subquestion{ii}{2 points}{q:2g-ii}" in cs


@pytest.mark.parametrize("recipe", ["laptop", "real", "original"])
def test_the_plateau_is_told_of_where_it_occurs(rendered, change, recipe):
    change("assignment.toml", 'recipe = "laptop"', f'recipe = "{recipe}"')
    text, _ = rendered("xcs224n", dataset="world")
    assert ("may stop falling for a while" in words(text)) == (recipe == "original")


def test_any_edition_counts_the_experiments_or_not_by_one_line(tmp_path):
    """The shipped description, since the line and the points are the course's."""
    line = re.compile(r"^counts = \{ experiments = \d+ \}.*\n", re.MULTILINE)
    shipped, count = line.subn("", (ROOT / "assignment.toml").read_text(encoding="utf-8"))
    assert count == 1, "expected where one edition counts them"

    def points(text: str, edition: str) -> tuple[Decimal, Decimal, dict[str, str]]:
        (tmp_path / "assignment.toml").write_text(text, encoding="utf-8")
        read = load_assignment(tmp_path).edition(edition).questions
        experiments = {q.topic: q.number for q in read if q.number.startswith("7")}
        return sum(q.coding for q in read), sum(q.written for q in read), experiments

    for edition in ("xcs224n", "cs224n", "current"):
        coding, written, none = points(shipped, edition)
        counted = shipped.replace(
            f"\n[editions.{edition}]\n", f"\n[editions.{edition}]\ncounts = {{ experiments = 7 }}\n"
        )
        assert none == {} and points(counted, edition) == (
            coding + 1,
            written + 9,
            {"experiment_trace": "7a", "induction_scores": "7b", "experiment_choice": "7c"},
        )
