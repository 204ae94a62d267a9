"""The written solutions' templates: all exist and render, and rubrics distribute all points."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from tools.handout.description import ROMAN
from tools.handout.templates import Templates, percent

ROOT = Path(__file__).resolve().parent.parent.parent
REPORTS = ("no_pretraining", "pretraining", "synthesizer", "rope")
GRADED = (
    "synthesizer-ii",
    "consider_accuracy",
    "consider_indeterminacy",
    "consider_unseen",
    "attention_copying",
    "attention_averaging",
    "attention_single_head-i",
    "attention_single_head-ii",
    "attention_two_heads-i",
    "attention_two_heads-ii",
    "attention_key_query_value-i",
    "attention_key_query_value-ii",
    "positions_permutation-i",
    "positions_permutation-ii",
    "positions_sinusoids-i",
    "positions_sinusoids-ii",
    "experiment_trace",
    "induction_scores",
    "experiment_choice",
)
# Worked answers, for staff, to coding questions without written points.
WORKED = tuple(
    path.name.removesuffix(".tex.j2") + (f"-{ROMAN[int(part) - 1]}" if part else "")
    for path in sorted((ROOT / "handout" / "topics").glob("*.tex.j2"))
    for part in re.findall(r"<< worked_answer\((\d*)\) >>", path.read_text(encoding="utf-8"))
    if not (ROOT / "handout" / "answers" / path.name).exists()
)
TOPICS = {slot.partition("-")[0] for slot in (*REPORTS, *GRADED)}


def template(root, slot: str) -> str:
    return (root / "solutions" / "written" / f"{slot}.tex.j2").read_text(encoding="utf-8")


def rubric(text: str) -> str:
    (inside,) = re.findall(r"\\begin\{rubric\}(.*?)\\end\{rubric\}", text, re.DOTALL)
    return inside


def test_every_slot_has_a_file_and_no_file_is_without_a_slot(root):
    files = {p.name for p in (root / "solutions" / "written").glob("*.tex.j2")}
    assert files == {f"{slot}.tex.j2" for slot in (*REPORTS, *GRADED, *WORKED, "slips")}


@pytest.mark.parametrize("slot", (*REPORTS, *GRADED))
def test_a_slot_has_solution_rubric_and_mistakes_in_this_order(root, slot):
    found = re.findall(r"\\(begin|end)\{(solution|rubric|mistakes)\}", template(root, slot))
    wanted = ("solution", "rubric", "mistakes")
    assert found == [(word, name) for name in wanted for word in ("begin", "end")]


@pytest.mark.parametrize("slot", GRADED)
def test_shares_of_a_rubric_sum_to_one(root, slot):
    inside = rubric(template(root, slot))
    shares = re.findall(r'\\criterion\{<< points\("(\d+/\d+)"\) >>\}', inside)
    assert len(shares) == inside.count("\\criterion") >= 2
    assert template(root, slot).count("points(") == len(shares)
    assert sum(map(Fraction, shares)) == 1


@pytest.mark.parametrize("slot", WORKED)
def test_a_worked_answer_carries_no_points(root, slot):
    text = template(root, slot)
    assert re.findall(r"\\begin\{(solution|rubric|mistakes)\}", text) == ["solution"]
    assert "points(" not in text


@pytest.mark.parametrize("slot", REPORTS)
def test_reported_numbers_carry_no_points(root, slot):
    assert "\\criterion" not in template(root, slot) and "points(" not in template(root, slot)


def render(root, slot: str, numbers: dict, fictional: bool, topics: set[str]) -> str:
    """Render a template like the build; a reference to a missing topic fails."""

    def ref(topic: str, part: int | None = None) -> str:
        assert topic in topics and part in (None, 1, 2, 3)
        return f"{topic}{part or ''}"

    thresholds = {"vanilla": 0.3, "synthesizer": 0.15, "rope": 0.3}
    values = {
        "numbers": numbers,
        "data": {"fictional": fictional, "thresholds": thresholds},
        "percent": percent,
        "points": lambda share: f"{share} of them",
        "has": lambda topic: topic in topics,
        "ref": ref,
    }
    return Templates(root, ("solutions/written",)).render(f"{slot}.tex.j2", values)


@pytest.mark.parametrize("slot", (*REPORTS, *GRADED, *WORKED, "slips"))
def test_templates_render_for_any_data_numbers_and_edition(root, slot, numbers, with_trained):
    """Render them alone and among all topics; braces must be balanced."""
    known = json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))
    texts = set()
    for found in (numbers, known):
        for fictional in (True, False):
            for topics in (TOPICS, {slot.partition("-")[0]}):
                text = render(root, slot, found, fictional, topics)
                assert "<<" not in text and "<%" not in text and "  ." not in text
                plain = re.sub(r"\\[{}]", "", text)
                assert plain.count("{") == plain.count("}")
                assert text.count("\\(") == text.count("\\)")
                texts.add(text)
    uses = {"numbers.confidence", "numbers.accuracy", "data.fictional", "has("}
    assert len(texts) >= (2 if any(word in template(root, slot) for word in uses) else 1)


def test_unseen_people_are_explained_as_the_data_have_it(root, numbers):
    fictional, real = (
        render(root, "consider_unseen", numbers, kind, TOPICS) for kind in (True, False)
    )
    for text in (fictional, real):
        assert "Priors." in text and "Look-alike names." in text  # both are accepted
        assert "most frequent places" in rubric(text) and "look-alike names" in rubric(text)
    assert "names and places are independent" in fictional
    assert "names do carry information" in real


def test_without_training_the_reader_is_told_to_train(root, numbers):
    for slot in (*REPORTS, "consider_indeterminacy", "consider_unseen"):
        assert "make reference" in render(root, slot, numbers, True, TOPICS)
