"""course.toml and errata.toml are read, and each mistake is one line that names its place."""

import pytest

from autograder.description import load_assignment
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
    # (before, after, words of the message): one for each kind of value and each rule
    ("contact =", "contacts =", "unknown key 'contacts'", "did you mean 'contact'?"),
    ('"T"', "5", "term = 5 should be a text"),
    ('"T"', '"--"', "term = '--' should be a text with a letter"),
    ('"tutor"', '"tutr"', "[policies]: ai_tools = 'tutr' should be one of forbidden, tutor", "did"),
    ("2027-01-18", '"soon"', "[dates]: published = 'soon' should be a date"),
    ("2027-01-18", "2027-02-18", "[dates]: published = 2027-02-18 is after due = 2027-01-31"),
    ("T23:59:00-08:00", "", "due = 2027-01-31 should be a date with a time"),
    ("23:59:00-08:00", "23:59:00", "an offset, such as -08:00"),
]
ERRATA_SLIPS = [
    ("date", "dat", "erratum 1: unknown key 'dat'; did you mean 'date'?"),
    ('"1a"', '"9z"', "erratum 1: question = '9z'", "has no such question"),
    ("1a-1-", "1a-7-", "'1a-7-hidden'", "did you mean '1a-1-hidden'?"),
    ("date", 'edition = "shrt"\ndate', "edition = 'shrt'", "'short'?"),
    ('sentence = "The hint was wrong."\n', "", "'sentence' is missing"),
    ("= 2\n", "= 4\n", "release = 4, but course.toml has release = 2"),
    ("= 2\n", "= 1\n", "release = 1 should be 2 or more"),
]
SLIPS = [("course.toml", COURSE, *slip) for slip in COURSE_SLIPS]
SLIPS += [("errata.toml", ERRATUM, *slip) for slip in ERRATA_SLIPS]


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: slip[3][:40])
def test_each_mistake_is_one_line_that_names_it(tmp_path, slip):
    file, text, old, new, *words = slip
    assert old in text
    load(tmp_path, ERRATUM)
    (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_assignment(tmp_path)
    check(str(caught.value), file, words)


@pytest.mark.parametrize(
    ("term", "number", "name"),
    [
        ("2027", 1, "2027.1"),
        ("Été / Summer 2027, B", 10, "2027-été-summer-b.10"),
        ("T", 1, "t.1"),
    ],
)
def test_a_release_is_named_by_term_and_number(tmp_path, term, number, name):
    assert load(tmp_path, "", number, term=term).edition(None).release == name


def load(folder, errata, release=2, described=None, term="Spring 2027"):
    """Return the small description, or another, with a course and its errata."""
    described = described or SMALL.read_text(encoding="utf-8")
    (folder / "assignment.toml").write_text(described, encoding="utf-8")
    course = COURSE.replace('"T"', f'"{term}"\nrelease = {release}')
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
    assert load(tmp_path, everything, release=1).edition(None).errata == ()  # the next release's
