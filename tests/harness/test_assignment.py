"""The shipped assignment.toml and the tests in src/questions/ agree, or loading them fails."""

from dataclasses import replace

import pytest

import grading
from autograder.description import load_assignment
from grading.cases import GradedTestCase, bind, graded
from grading.errors import UsageError
from questions.attention_exploration.tests import AttentionCopying
from questions.shared.trained_files import model_configs
from questions.training.tests import expected_settings


class Disagreeing(GradedTestCase):
    topic = "attention_copying"

    @graded(timeout=99)
    def test_perpendicular(self):
        """claims another time limit"""


class Misspelt(GradedTestCase):
    topic = "attention_coping"


class Extra(AttentionCopying):
    @graded()
    def test_more(self):
        """nobody knows this one"""


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([Disagreeing], "timeout_s = 99"),
        ([Misspelt], "'attention_copying'; did you mean 'attention_coping'"),
        ([Extra], "test_more"),
        ([AttentionCopying, Extra], "Extra and .*AttentionCopying both have the topic"),
    ],
)
def test_tests_and_description_that_disagree_are_an_error_at_load(cases, words):
    questions = load_assignment(grading.ROOT).edition(None).questions
    (question,) = (q for q in questions if q.topic == "attention_copying")
    if cases == [Disagreeing]:
        question = replace(question, tests=question.tests[:1])
    with pytest.raises(UsageError, match=words):
        bind([question], cases)


def test_every_recipe_is_what_submissions_read():
    """The grader passes recipes on unchanged: a key that Recipe lacks would fail everybody."""
    from pretraining.recipes import STAGES, Recipe, trainer_settings

    assignment = load_assignment(grading.ROOT)
    for name, table in assignment.recipes.items():
        recipe = Recipe(name=name, **table)
        for variant in assignment.variants:
            graded_as = model_configs(assignment, assignment.datasets["real"], variant)
            assert graded_as[name] == recipe.model_of(variant)
            for stage in STAGES:
                used = trainer_settings(recipe, stage, 7, 5, variant)
                asked = expected_settings(assignment, name, stage, variant, 7, 5)
                assert used | {"betas": list(used["betas"])} == asked
