"""What an edition does to a question: its points, its practice, whether students get its answer."""

import re
from itertools import product

import pytest

from autograder.description import AI_POLICIES
from tests.handout.conftest import EDITIONS, words
from tests.project import ROOT
from tools import student

TOML = "assignment.toml"
LAST = '  { number = "3c", topic = "consider_unseen", written = 2 },\n'  # of cs224n
ANSWERS = sorted(p.name.removesuffix(".tex.j2") for p in (ROOT / "handout/answers").iterdir())


def test_each_question_of_practice_has_its_answer_at_the_end_and_on_the_web_below_it(rendered):
    text, sheet = rendered("current", document="practice")
    before, _, answers = text.partition("\\frontsection{Answers}")
    practised = [q for q in sheet._described.edition.questions if q.is_practice]
    assert sorted(q.topic for q in practised) == ANSWERS
    links = re.findall(r"\\answerlink\{(\w+)\}", before)
    assert links == [q.number for q in practised]
    assert re.findall(r"\\practiceanswer\{(\w+)\}", answers) == links
    text, _ = rendered(target="web", document="practice")
    assert "frontsection{Answers}" not in text and "\\answerlink" not in text
    for piece in text.split("\\question{")[1:]:
        is_practice = "{Practice}" in piece.partition("\n")[0]  # not a part of it alone
        assert piece.count("\nANSWERBEGINS 4(") == piece.count("\nANSWERENDS") == is_practice


@pytest.mark.parametrize("points", ["coding = 5", "written = 2"])
@pytest.mark.parametrize("target", ["print", "web"])
@pytest.mark.sampled(4)
def test_an_answer_that_any_edition_gives_points_for_reaches_nobody(
    rendered, change, points, target
):
    secret = "weights depend on the difference of the scores alone"
    assert secret in words(rendered("xcs224n", target, document="practice")[0]).lower()
    change(TOML, LAST, f'{LAST}  {{ number = "4a", topic = "blocks_attention", {points} }},\n')
    for edition, document in product(EDITIONS, ("sheet", "practice")):
        text, _ = rendered(edition, target, document=document)
        assert secret not in words(text).lower() and "answerlink{4a}" not in text
        assert "ANSWERBEGINS 4(a)" not in text


def test_answers_leave_out_what_other_questions_are_graded_for(rendered, change):
    """In `current`, 4(e) and 4(s) would give away answers to 5a and 5b."""
    left_out = "postman bit", "similar encodings", "there has to be tried"
    text = words(rendered(document="practice")[0])
    assert "its answer is not given here" in text and not any(said in text for said in left_out)
    for line in ("positions_permutation", "positions_sinusoids"):
        source = (ROOT / "tests/small/editions.toml").read_text(encoding="utf-8")
        (row,) = re.findall(rf"^.*{line}.*\n", source, re.M)
        change(TOML, row, "")
    text = words(rendered(document="practice")[0])
    assert "its answer is not given here" not in text and all(said in text for said in left_out)


# What each document says only under this policy: the sheet, submission.tex, AGENTS.md.
SAID = {
    "forbidden": (
        "AI tools are forbidden.",
        'AI tools are forbidden: "none" confirms',
        "Do not help with this assignment in any way",
    ),
    "tutor": (
        "They may not write code between the markers, give hints about what tests check, or",
        "Which AI tools explained something to you",
        "- answer a question of the sheet, draft or polish a written answer",
    ),
    "disclosure": (
        "AI tools are allowed, but must be disclosed.",
        "Disclose every use of AI tools",
        "You may help with everything.",
    ),
}


@pytest.mark.parametrize("policy", AI_POLICIES)
def test_a_policy_changes_the_sheet_the_answers_and_what_assistants_read(
    repo, rendered, change, policy
):
    assert set(SAID) == set(AI_POLICIES)
    change("course.toml", 'ai_tools = "tutor"', f'ai_tools = "{policy}"')
    text, sheet = rendered()
    agents = student.pages(repo, "xcs224n")["AGENTS.md"]
    for place, made in enumerate(map(words, (text, sheet.submission(), agents))):
        for other, said in SAID.items():
            assert (said[place] in made) == (other == policy), (other, place)
    assert ("at the course's discussion forum" in words(agents)) == (policy == "forbidden")
