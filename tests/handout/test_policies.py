"""The course's policy on AI tools: the sheet, submission.tex and AGENTS.md say the same."""

import pytest

from autograder.description import AI_POLICIES
from tools import student

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
SHARED = ("AGENTS.md", "\\aitools{", "### START CODE HERE ###")


def texts(repo, rendered, policy, change):
    """Return the sheet, submission.tex and AGENTS.md under a policy, in one line each."""
    if policy != "tutor":
        change("course.toml", 'ai_tools = "tutor"', f'ai_tools = "{policy}"')
    text, sheet = rendered()
    made = (text, sheet.submission(), student.agents(repo, "xcs224n", "letter"))
    return [" ".join(each.split()) for each in made]


def test_there_are_words_for_each_policy():
    assert set(SAID) == set(AI_POLICIES)


@pytest.mark.parametrize("policy", AI_POLICIES)
def test_a_policy_changes_the_sheet_the_answers_and_what_assistants_read(
    repo, rendered, change, policy
):
    made = texts(repo, rendered, policy, change)
    for place, text in enumerate(made):
        assert SHARED[place] in text
        for other, said in SAID.items():
            assert (said[place] in text) == (other == policy), (other, place)
    assert "<<" not in made[2]
    assert ("welcome at the course's discussion forum" in made[2]) == (policy == "forbidden")


@pytest.mark.parametrize("edition", ["xcs224n", "cs224n", "current"])
@pytest.mark.parametrize("policy", AI_POLICIES)
def test_assistants_are_told_where_code_belongs_and_of_which_problem_set(
    repo, change, policy, edition
):
    if policy != "tutor":
        change("course.toml", 'ai_tools = "tutor"', f'ai_tools = "{policy}"')
    text = student.agents(repo, edition, "a4")
    assert "Self-Attention, Transformers and Pretraining" in text.splitlines()[0]
    assert all(len(line) <= 100 for line in text.splitlines()[1:])
    assert "`### START CODE HERE ###`" in text and "`src/submission/`" in text
