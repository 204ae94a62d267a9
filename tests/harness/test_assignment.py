"""Properties of the shipped assignment.toml, whatever its points, numbers and order are."""

from dataclasses import fields

import pytest

import grading
from autograder.description import Model, Stage, load_assignment
from grading.cases import GradedTestCase, bind, graded
from grading.edition import FIELDS
from grading.errors import UsageError
from questions.attention_exploration.tests import AttentionCopying
from questions.shared.trained_files import model_configs
from questions.training.tests import expected_settings


@pytest.fixture(scope="module")
def assignment():
    return load_assignment(grading.ROOT)


def test_shares_sum_exactly_in_every_edition(assignment):
    for edition in assignment.editions.values():
        for question in edition.questions:
            if question.tests:
                assert sum(t.max_score for t in question.tests) == question.coding


class Disagreeing(GradedTestCase):
    topic = "attention_copying"

    @graded(timeout=99)
    def test_perpendicular(self):
        """claims another time limit"""


class Lacking(GradedTestCase):
    topic = "attention_copying"


class Extra(AttentionCopying):
    @graded()
    def test_more(self):
        """nobody knows this one"""


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([Disagreeing], "timeout_s = 99"),
        ([], "no class in src/questions/ has the topic 'attention_copying'"),
        ([Lacking], "Lacking has no graded method test_perpendicular"),
        ([Extra], "test_more"),
        ([AttentionCopying, Extra], "Extra and .*AttentionCopying both have the topic"),
    ],
)
def test_tests_and_description_that_disagree_are_an_error_at_load(assignment, cases, words):
    specs = tuple(t for t in assignment.edition(None).tests if t.topic == "attention_copying")
    with pytest.raises(UsageError, match=words):
        bind(specs[:1] if cases == [Disagreeing] else specs, cases)


def test_every_recipe_is_what_submissions_read(assignment):
    """The grader passes recipes on unchanged: a key that Recipe lacks would fail everybody."""
    from pretraining.recipes import STAGES, Recipe, trainer_settings

    for name, table in assignment.recipes.items():
        recipe = Recipe(name=name, **table)
        assert recipe.title
        for variant in assignment.variants:
            graded_as = model_configs(assignment, assignment.datasets["real"], variant)
            assert graded_as[name] == recipe.model_of(variant)
        for stage in STAGES:
            for variant in assignment.variants:
                used = trainer_settings(recipe, stage, 7, 5, variant)
                asked = expected_settings(assignment, name, stage, variant, 7, 5)
                assert used | {"betas": list(used["betas"])} == asked


def test_recipes_hold_fields_of_the_configurations():
    from submission.model import GPTConfig
    from submission.trainer import TrainerConfig

    assert Model.model_fields.keys() < {f.name for f in fields(GPTConfig)}
    assert set(FIELDS) < {f.name for f in fields(TrainerConfig)}
    assert {*FIELDS} - {"final_tokens"} == Stage.model_fields.keys() - {"final_epochs"}
