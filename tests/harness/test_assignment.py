"""assignment.toml is the truth: it loads, its points are exact, its mistakes have one line."""

from decimal import Decimal

import pytest

from grading import paths
from grading.assignment import load_assignment, share_points
from grading.cases import GradedTestCase, bind, graded
from grading.errors import UsageError
from questions.attention_exploration.tests_weights import AttentionCopying
from questions.course import Course
from questions.shared.trained_files import model_configs

MINIMAL = """
[assignment]
title = "A"
default_edition = "e"
default_dataset = "d"
gradescope_python = "3.12"
[datasets.d]
title = "D"
thresholds = { vanilla = 0.5 }
recipe = "r"
evidence = { p = 1e-6, cosine = 0.7, loss = { vanilla = 0.8 } }
[recipes.r]
[parts]
p = "P"
[topics.t]
title = "T"
part = "p"
[topics.t.tests]
one = { kind = "basic", weight = 1 }
two = { kind = "hidden", weight = 3 }
[editions.e]
title = "E"
required_files = []
questions = [{ number = "1a", topic = "t", coding = 10 }]
[editions.e.gradescope]
hidden_tests = "visible"
"""


@pytest.fixture(scope="module")
def assignment():
    return load_assignment(paths.ASSIGNMENT)


@pytest.mark.parametrize(
    ("edition", "coding", "written"), [("xcs224n", 53, 10), ("cs224n", 33, 28), ("current", 61, 13)]
)
def test_points_are_those_of_the_sheets(assignment, edition, coding, written):
    questions = assignment.editions[edition].questions
    assert sum(q.coding for q in questions) == coding
    assert sum(q.written for q in questions) == written


def test_sub_parts_sum_to_their_question(assignment):
    questions = assignment.editions["cs224n"].questions
    assert [q.written_parts for q in questions if q.topic == "attention_single_head"] == [(2, 3)]
    for edition in assignment.editions.values():
        for question in edition.questions:
            assert sum(question.written_parts) == question.written


def test_shares_sum_exactly_in_every_edition(assignment):
    for edition in assignment.editions.values():
        for question in edition.questions:
            if question.tests:
                assert sum(t.max_score for t in question.tests) == question.coding


def test_basic_tests_carry_at_most_a_third(assignment):
    for edition in assignment.editions.values():
        for question in edition.questions:
            basic = sum(t.max_score for t in question.tests if t.kind == "basic")
            assert 3 * basic <= question.coding


def test_editions_renumber_the_same_tests(assignment):
    by_edition = {
        name: {(t.topic, t.name): t.test_id for t in edition.tests}
        for name, edition in assignment.editions.items()
    }
    key = ("span_corruption", "vocabulary")
    assert by_edition["xcs224n"][key] == "1e-0-basic"
    assert by_edition["cs224n"][key] == "2e-0-basic"
    assert by_edition["xcs224n"].keys() == by_edition["cs224n"].keys()
    more = by_edition["current"].keys() - by_edition["xcs224n"].keys()
    assert {topic for topic, _ in more} == {"rotary"}


def test_the_public_example_exists(assignment):
    assert "3a-0-basic" in {t.test_id for t in assignment.edition(None).tests}


@pytest.mark.parametrize(
    ("points", "weights"),
    [("10", [1, 1, 1]), ("0.05", [1, 1, 1]), ("11", [1] * 24), ("1", [0, 3, 3, 1]), ("0", [1, 2])],
)
def test_shares_are_exact_hundredths(points, weights):
    shares = share_points(Decimal(points), weights)
    assert sum(shares) == Decimal(points)
    assert all(share * 100 == int(share * 100) for share in shares)
    total = sum(weights)
    for share, weight in zip(shares, weights, strict=True):
        assert abs(share - Decimal(points) * weight / total) < Decimal("0.01")


def test_a_minimal_description_loads(tmp_path):
    path = tmp_path / "assignment.toml"
    path.write_text(MINIMAL, encoding="utf-8")
    tests = load_assignment(path).edition(None).tests
    assert [(t.test_id, t.max_score) for t in tests] == [
        ("1a-0-basic", Decimal("2.5")),
        ("1a-1-hidden", Decimal("7.5")),
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "basic"', 'kind = "bassic"', ["one", "bassic"]),
        ("weight = 1 }", "weight = 2 }", ["third"]),
        ("weight = 1 }", "wieght = 1 }", ["one", "wieght"]),
        ("weight = 1 }", 'weight = "1" }', ["weight", "'1'"]),
        ('topic = "t"', 'topic = "u"', ["'u'"]),
        ("coding = 10", "coding = 10.123", ["1a", "10.123"]),
        ("coding = 10", "coding = -1", ["1a", "-1"]),
        ("coding = 10", "codin = 10", ["1a", "codin"]),
        ('default_edition = "e"', 'default_edition = "f"', ["default_edition"]),
        (
            'hidden_tests = "visible"',
            'hidden_tests = "hidden"',
            ["[gradescope]", "should be one of visible, after_due_date, after_published"],
        ),
        (
            'hidden_tests = "visible"',
            'hidden_tests = "visible"\nhidden_feedback_a_day = -1',
            ["[gradescope]", "hidden_feedback_a_day = -1 should not be negative"],
        ),
        ("vanilla = 0.5", "vanilla = 50.0", ["[d]", "thresholds"]),
        ("p = 1e-6, ", "", ["[evidence]", "'p' is missing"]),
        ("cosine = 0.7", "cosine = 7.0", ["[evidence]", "between 0 and 1"]),
        ("vanilla = 0.8", "synthesizer = 0.8", ["[evidence]", "each of vanilla"]),
        ("vanilla = 0.8", 'vanilla = "low"', ["[evidence]", "loss is a decimal"]),
        ("cosine = 0.7", "cosine = 0.7, cosin = 0.7", ["[evidence]", "'cosin'"]),
        ("[topics.t]", "[topics.t", ["TOML", "line"]),
        ('part = "p"', 'part = "q"', ["[topics] t", "'q'", "[parts]"]),
        ("coding = 10", "coding = 10, written = [1, -1]", ["1a", "written = -1"]),
        ('title = "A"', "", ["title", "missing"]),
    ],
)
def test_each_mistake_is_one_line_that_names_it(tmp_path, old, new, words):
    path = tmp_path / "assignment.toml"
    path.write_text(MINIMAL.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_assignment(path).edition(None)
    message = str(caught.value)
    assert "\n" not in message
    for word in [*words, "assignment.toml"]:
        assert word in message


def test_two_questions_of_one_number_are_refused(tmp_path):
    path = tmp_path / "assignment.toml"
    twice = '[{ number = "1a", topic = "t" }, { number = "1a", topic = "t" }]'
    text = MINIMAL.replace('[{ number = "1a", topic = "t", coding = 10 }]', twice)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="two questions"):
        load_assignment(path)


def test_a_decorator_that_disagrees_is_an_error_at_load(assignment):
    class Wrong(GradedTestCase):
        topic = "attention_copying"

        @graded(timeout=99)
        def test_perpendicular(self):
            """claims another time limit"""

    specs = tuple(t for t in assignment.edition(None).tests if t.topic == "attention_copying")
    with pytest.raises(UsageError, match="timeout_s = 99"):
        bind(specs[:1], [Wrong])


def test_a_method_that_no_table_describes_is_an_error(assignment):
    class Extra(AttentionCopying):
        @graded()
        def test_more(self):
            """nobody knows this one"""

    specs = tuple(t for t in assignment.edition(None).tests if t.topic == "attention_copying")
    with pytest.raises(UsageError, match="test_more"):
        bind(specs, [Extra])


def test_a_described_test_without_a_method_is_an_error(assignment):
    specs = assignment.edition(None).tests
    with pytest.raises(UsageError, match="no graded method"):
        bind(specs, [c for c in Course().cases() if c.topic != "synthesizer"])


def test_every_recipe_is_what_submissions_read(assignment):
    """The grader hands recipes over as they stand: a key that Recipe lacks would fail everybody."""
    from pretraining.recipes import Recipe

    for name, table in assignment.recipes.items():
        recipe = Recipe(name=name, **table)
        assert recipe.title
        for variant in ("vanilla", "synthesizer", "rope"):
            graded_as = model_configs(assignment, assignment.datasets["real"], variant)
            assert graded_as[name] == recipe.model_of(variant)
