"""The shipped assignment.toml and the tests in src/questions/ agree, or loading them fails."""

from dataclasses import replace

import pytest

import grading
from autograder.description import load_assignment
from grading.cases import GradedTestCase, bind, graded
from grading.errors import UsageError
from questions.attention_exploration.tests import AttentionCopying


class Disagreeing(GradedTestCase):
    topic = "attention_copying"

    @graded(timeout=99)
    def test_perpendicular(self):
        """claims another time limit"""


class Lacking(GradedTestCase):
    topic = "attention_copying"


class Misspelt(GradedTestCase):
    topic = "attention_coping"


class Extra(AttentionCopying):
    @graded()
    def test_more(self):
        """nobody knows this one"""


class NoSuchTest(AttentionCopying):
    of_files = ("nothing",)


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([Disagreeing], "timeout_s = 99"),
        ([Misspelt], "'attention_copying'; did you mean 'attention_coping'"),
        ([Lacking], "Lacking has no graded method test_perpendicular"),
        ([Extra], "test_more"),
        ([NoSuchTest], "of_files names nothing"),
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
