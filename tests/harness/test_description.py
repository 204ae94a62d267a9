"""Descriptions are read into typed objects, and each mistake is one line that names its place.

The tests edit the text of tests/small/assignment.toml, of a course and of its errata; the shipped
description may change.
"""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from autograder.description import StaffAssignment, load_assignment, share_points
from grading.edition import Erratum
from grading.errors import UsageError
from tests import pinned

SMALL = Path(__file__).resolve().parent.parent / "small" / "assignment.toml"
DESCRIBED = SMALL.read_text(encoding="utf-8")
# Python's names of types, which an instructor need not know.
PYTHON = re.compile(
    r"\b(str|int|float|bool|dict|tuple|NoneType|Decimal|datetime|None|True|False)\b"
)


COURSE = """\
term = "T"
contact = "the forum"
[dates]
published = 2027-01-18
due = 2027-01-31T23:59:00-08:00
[policies]
collaboration = "c"
late = "l"
ai_tools = "tutor"
"""
ERRATUM = """\
[[erratum]]
release = 2
date = 2027-02-03
question = "1a"
sentence = "The hint was wrong."
tests = ["1a-1-hidden"]
"""


@pytest.fixture
def small() -> StaffAssignment:
    return load_assignment(SMALL.parent)


def load_course(folder, errata="", release=2, described=DESCRIBED) -> StaffAssignment:
    """Return the small description, or another, with a course and its errata."""
    course = COURSE.replace('"T"', f'"Spring 2027"\nrelease = {release}')
    for name, text in (("assignment", described), ("course", course), ("errata", errata)):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return load_assignment(folder)


# -- editions -------------------------------------------------------------------------------------


def test_a_questions_points_are_shared_among_its_tests(small):
    tests = small.edition(None).tests
    assert [(t.test_id, t.max_score, t.timeout_s, t.torch) for t in tests] == [
        ("1a-0-basic", Decimal("2.5"), 20, True),
        ("1a-1-hidden", Decimal("7.5"), 60, True),
        ("1b-0-hidden", Decimal(4), 20, False),
    ]


def test_an_edition_takes_over_what_it_does_not_say(small):
    edition = small.edition("long")
    assert [(q.number, q.topic, q.coding, q.written) for q in edition.questions] == [
        ("1a", "counting", 5, 0),
        ("1b", "training", 4, 1),
        ("2a", "essay", 0, 2),
        ("2b", "more", 0, 2),
        ("3a", "taking_roots", 0, 0),
        ("3b", "squaring", 0, 1),
    ]
    assert edition.gradescope == small.edition("short").gradescope


def test_files_are_required_by_the_topics_of_an_edition(small):
    files = ("plain.pretrain.params", "plain.pretrain.dev.predictions")
    assert small.edition("short").required_files == files
    assert small.edition("long").required_files == files[1:]


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


# -- releases and errata -------------------------------------------------------------------------


def test_an_edition_has_its_releases_name_and_errata_with_its_own_numbers(tmp_path):
    errata = ERRATUM.replace("1a", "1e").replace("-1-hidden", "-3-basic")
    editions = load_course(tmp_path, errata, described=pinned.text()).editions
    assert {edition.release for edition in editions.values()} == {"2027-spring.2"}
    found = {name: edition.errata for name, edition in editions.items()}
    facts = (2, "2027-02-03", "The hint was wrong.")
    assert found["xcs224n"] == (Erratum(*facts[:2], "1e", ("1e-3-basic",), facts[2]),)
    assert found["cs224n"] == (Erratum(*facts[:2], "2e", ("2e-3-basic",), facts[2]),)


def test_errata_may_be_about_everything_or_about_a_question_of_another_edition(tmp_path):
    everything = '[[erratum]]\nrelease = 2\ndate = 2027-02-04\nsentence = "a"\nbreaking = "b"\n'
    other = everything.replace('sentence = "a"', 'edition = "long"\nquestion = "2b"')
    editions = load_course(tmp_path, everything + other).editions
    found = {name: [(e.question, e.sentence) for e in editions[name].errata] for name in editions}
    assert found == {"short": [("", "a b")], "long": [("", "a b"), ("2b", "b")]}
    first = load_course(tmp_path, everything, release=1)
    assert first.edition(None).errata == ()  # it is the next release's


# -- mistakes -------------------------------------------------------------------------------------

QUESTION_1A = "[editions.short], question 1a: "
FILES = '["plain.pretrain.params", "plain.pretrain.dev.predictions"]'
GRADESCOPE = '[editions.short.gradescope]\nhidden_tests = "visible"\n'
NOT_REQUIRED = 'not_required = ["plain.pretrain.params"]'
USUAL = "{ lowest = 0.5, median = 0.4, highest = 0.6, runs = 3 }"
SLIPS = [
    # (before, after, words of the message): one for each kind of value and each rule
    ("[times]", "[time]", "unknown key 'time'", "did you mean 'times'"),
    ('title = "A small assignment"\n', "", "[assignment]: 'title' is missing"),
    (GRADESCOPE, "", "[editions.short]: 'gradescope' is missing"),
    ('practice = "exercises"\n', "", "[editions.short]: practice has a number, but no part"),
    ("[times]", "[times", "is not valid TOML", "line"),
    ("timeout_s = 60", f"timeout_s = {'[' * 5000}", "is not valid TOML"),
    # texts and names
    ('"3.12"', '"3"', "gradescope_python = '3'", 'a version like "3.12"'),
    ('"A small assignment"', '" "', "[assignment]: title = ' '", "one line, not blank"),
    ("[editions.short]", '[editions."sh/ort"]', "the name 'sh/ort' should consist of letters"),
    ('"visible"', '"visibel"', "visible, after_due_date", "mean 'visible'?"),
    # references
    ('= "short"\n', '= "shirt"\n', "default_edition = 'shirt'", "'short'?"),
    ('["adding"]', '["ading"]', "without = 'ading'", "'adding'?"),
    # points and questions
    ("coding = 10", 'coding = "10"', QUESTION_1A, "coding = '10'", "number"),
    ("coding = 10", "coding = -1", QUESTION_1A, "coding = -1 should be 0"),
    ("coding = 10", "coding = nan", QUESTION_1A, "coding = nan"),
    ("coding = 10", "coding = 10.125", QUESTION_1A, "at most two decimals"),
    ("written = [0.5, 1.5]", "coding = 1", "question 2a has 1 coding points, but essay has no"),
    ('number = "2a"', 'number = "2"', "number = '2' should be a number and a letter"),
    ('number = "2a"', 'number = "1b"', "two questions are numbered 1b: training, essay"),
    ('number = "2b", topic = "more"', 'number = "2b", topic = "counting"', "asked twice: 1a, 2b"),
    ('number = "1b"', 'number = "2b"', "question 2a comes after 2b"),
    ('extends = "short"', 'extends = "long"', "extends leads in a circle, from long to long"),
    (NOT_REQUIRED, NOT_REQUIRED.replace("ms", "m"), "[editions.long]: not_required", "params'?"),
    ('"visible"', '"visible"\nleaderboard = 1', "leaderboard = 1 should be true or false"),
    # topics and tests
    ("[topics.counting.tests]", "[topics.counted.tests]", "'part' and 'title'", "'counting'?"),
    ("weight = 1 }", "weight = 2 }", "counting carry", "more than a third"),
    ("timeout_s = 60", "timeout_s = 271", "[topics.counting.tests.two]: timeout_s = 271", "270"),
    (FILES, FILES.replace("ms", "m"), "[topics.training]: required_files", "ends in .params or"),
    ("plain.pretrain.dev.predictions", "plain.pretrain.params", "required_files has", "twice"),
    (f"required_files = {FILES}", 'required_files = "a.params"', "should be a list"),
    # data sets and recipes
    (", local = 0.25", "", "[datasets.tiny.thresholds]: 'local' is missing"),
    ("plain = 0.5", "plain = 50", "[datasets.tiny.thresholds]: plain = 50", "between 0 and 1"),
    ("train = 40", "train = 41", "people = 60, but the splits have 61 together"),
    ("cosine = 0.7", "cosine = 0.7, strong = { p = 0.1, loss = 2.0 }", "strong should be below p"),
    ("max_epochs = 5", "max_epochs = 0", "max_epochs = 0 should be 1 or more"),
    ("0.2, 0.1]", "0.2]", "[recipes.quick]: expected_loss", "ten numbers"),
    ("also_for", f"usual = {{ plain = {USUAL} }}\nalso_for", "usual.plain]", "in this order"),
    ("n_head = 2", "n_head = 3", "n_embd = 8", "multiple of the second"),
    ("{ training = 3 }", "{ training = [3, 4, 5] }", "[3, 4, 5] should be a list of 2"),
]


COURSE_SLIPS = [
    # (before, after, words of the message): one for each kind of value and each rule
    ('"T"', '"--"', "term = '--' should be a text with a letter"),
    ('"tutor"', '"tutr"', "[policies]: ai_tools = 'tutr' should be one of forbidden, tutor", "did"),
    ("2027-01-18", '"soon"', "[dates]: published = 'soon' should be a date"),
    ("2027-01-18", "2027-02-18", "[dates]: published = 2027-02-18 is after due = 2027-01-31"),
    ("T23:59:00-08:00", "", "due = 2027-01-31 should be a date with a time"),
    ("23:59:00-08:00", "23:59:00", "an offset, such as -08:00"),
    ("[policies]", "[grading]\npercent_per_day = 101\n[policies]", "[grading]", "from 0 to 100"),
]
ERRATA_SLIPS = [
    ('"1a"', '"9z"', "erratum 1: question = '9z'", "has no such question"),
    ("1a-1-", "1a-7-", "'1a-7-hidden'", "did you mean '1a-1-hidden'?"),
    ("= 2\n", "= 4\n", "release = 4, but course.toml has release = 2"),
]
FILES_WITH_SLIPS = {
    "assignment.toml": (DESCRIBED, SLIPS),
    "course.toml": (COURSE, COURSE_SLIPS),
    "errata.toml": (ERRATUM, ERRATA_SLIPS),
}
CASES = [(file, *slip) for file, (_, slips) in FILES_WITH_SLIPS.items() for slip in slips]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[2][:40])
def test_each_mistake_is_one_line_that_names_it(tmp_path, case):
    file, old, new, *words = case
    text, _ = FILES_WITH_SLIPS[file]
    assert old in text
    load_course(tmp_path, ERRATUM)
    (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_assignment(tmp_path)
    message = str(caught.value)
    assert "\n" not in message and not PYTHON.search(message), message
    assert message.startswith(file), message
    for word in words:
        assert word in message, message
