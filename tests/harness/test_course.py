"""course.toml and errata.toml are read, and each mistake is one line that names its place."""

import pytest

from autograder.description import load_assignment, load_course
from grading.edition import Erratum
from grading.errors import UsageError
from tests import pinned
from tests.harness.test_description import SMALL, check

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
COURSE_SLIPS = [
    # (before, after, words of the message)
    ("contact =", "contacts =", "unknown key 'contacts'", "did you mean 'contact'?"),
    ("[dates]", "[date]", "unknown key 'date'", "'dates'?"),
    ('term = "T"\n', "", "'term' is missing"),
    ('"T"', "5", "term = 5 should be a text"),
    ('"T"', '"--"', "term = '--' should be a text with a letter"),
    ("contact =", "release = 0\ncontact =", "release = 0 should be 1 or more"),
    ('"tutor"', '"tutr"', "[policies]: ai_tools = 'tutr' should be one of forbidden, tutor", "did"),
    ('"tutor"', '"Ask me."', "ai_tools = 'Ask me.' should be one of forbidden, tutor, disclosure"),
    ("2027-01-18", '"soon"', "[dates]: published = 'soon' should be a date"),
    ("2027-01-18", "2027-02-18", "[dates]: published = 2027-02-18 is after due = 2027-01-31"),
    ("T23:59:00-08:00", "", "due = 2027-01-31 should be a date with a time"),
    ("23:59:00-08:00", "23:59:00", "an offset, such as -08:00"),
]
ERRATA_SLIPS = [
    ("date", "dat", "erratum 1: unknown key 'dat'; did you mean 'date'?"),
    ("2027-02-03", '"soon"', "erratum 1: date = 'soon' should be a date"),
    ('"1a"', '"9z"', "erratum 1: question = '9z'", "has no such question"),
    ("1a-1-", "1a-7-", "'1a-7-hidden'", "did you mean '1a-1-hidden'?"),
    ("date", 'edition = "shrt"\ndate', "edition = 'shrt'", "'short'?"),
    ('sentence = "The hint was wrong."\n', "", "'sentence' is missing"),
    ("= 2\n", "= 4\n", "release = 4, but course.toml has release = 2"),
    ("= 2\n", "= 1\n", "release = 1 should be 2 or more"),
]


@pytest.mark.parametrize("slip", COURSE_SLIPS, ids=lambda slip: slip[1][:40])
def test_each_mistake_in_the_course_is_one_line(tmp_path, slip):
    old, new, *words = slip
    assert old in COURSE
    (tmp_path / "course.toml").write_text(COURSE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_course(tmp_path)
    check(str(caught.value), "course.toml", words)


@pytest.mark.parametrize("slip", ERRATA_SLIPS, ids=lambda slip: slip[1][:40])
def test_each_mistake_in_the_errata_is_one_line(tmp_path, slip):
    old, new, *words = slip
    assert old in ERRATUM
    with pytest.raises(UsageError) as caught:
        load(tmp_path, ERRATUM.replace(old, new, 1))
    check(str(caught.value), "errata.toml", words)


@pytest.mark.parametrize(
    ("term", "number", "name"),
    [
        ("Spring 2027", 2, "2027-spring.2"),
        ("2027", 1, "2027.1"),
        ("Été / Summer 2027, B", 10, "2027-été-summer-b.10"),
        ("T", 1, "t.1"),
    ],
)
def test_a_release_is_named_by_term_and_number(tmp_path, term, number, name):
    text = COURSE.replace('"T"', f'"{term}"\nrelease = {number}')
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")
    assert load_course(tmp_path).release_name == name


def load(folder, errata, release=2, described=None):
    """Return the small description, or another, with a course and its errata."""
    described = described or SMALL.read_text(encoding="utf-8")
    (folder / "assignment.toml").write_text(described, encoding="utf-8")
    course = COURSE.replace('"T"', f'"Spring 2027"\nrelease = {release}')
    (folder / "course.toml").write_text(course, encoding="utf-8")
    (folder / "errata.toml").write_text(errata, encoding="utf-8")
    return load_assignment(folder)


def test_an_edition_has_its_releases_name_and_errata_with_its_own_numbers(tmp_path):
    errata = ERRATUM.replace("1a", "1e").replace("-1-hidden", "-3-basic")
    editions = load(tmp_path, errata, described=pinned.text()).editions
    assert {edition.release for edition in editions.values()} == {"2027-spring.2"}
    found = {name: edition.errata for name, edition in editions.items()}
    facts = (2, "2027-02-03", "The hint was wrong.")
    assert found["xcs224n"] == (Erratum(*facts[:2], "1e", ("1e-3-basic",), facts[2]),)
    assert found["cs224n"] == (Erratum(*facts[:2], "2e", ("2e-3-basic",), facts[2]),)


def test_errata_may_be_about_everything_or_about_a_question_of_another_edition(tmp_path):
    everything = '[[erratum]]\nrelease = 2\ndate = 2027-02-04\nsentence = "a"\nbreaking = "b"\n'
    other = everything.replace('sentence = "a"', 'edition = "long"\nquestion = "2b"')
    editions = load(tmp_path, everything + other).editions
    found = {name: [(e.question, e.sentence) for e in editions[name].errata] for name in editions}
    assert found == {"short": [("", "a b")], "long": [("", "a b"), ("2b", "b")]}


def test_errata_of_the_next_release_are_not_in_this_one(tmp_path):
    assert load(tmp_path, ERRATUM, release=1).edition(None).errata == ()
