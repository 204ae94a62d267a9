"""course.toml is read into a typed object, and each mistake is one line that names its place."""

import pytest

from autograder.description import load_course
from grading.errors import UsageError
from tests.harness.test_description import check

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


COURSE_SLIPS = {
    "a key": ("contact =", "contacts =", ["unknown key 'contacts'", "did you mean 'contact'?"]),
    "no term": ('term = "T"\n', "", ["'term' is missing"]),
    "a table": ("[dates]", "[date]", ["unknown key 'date'", "'dates'?"]),
    "a term that is a number": ('"T"', "5", ["term = 5 should be a text"]),
    "the course's name": ("term =", 'name = "C"\nterm =', ["unknown key 'name'"]),
    "a slip of a policy on AI tools": (
        '"tutor"',
        '"tutr"',
        ["[policies]: ai_tools = 'tutr' should be one of forbidden, tutor, disclosure; did you"],
    ),
    "a policy on AI tools in one's own words": (
        '"tutor"',
        '"Ask me first."',
        ["[policies]: ai_tools = 'Ask me first.' should be one of forbidden, tutor, disclosure"],
    ),
    "a date in quotes": ("2027-01-18", '"soon"', ["[dates]: published = 'soon' should be a date"]),
    "a due date without a time": ("2027-01-31T23:59:00-08:00", "2027-01-31", ["date with a time"]),
    "dates in the wrong order": ("2027-01-18", "2027-02-18", ["is after due = 2027-01-31"]),
    "a due date without an offset": ("23:59:00-08:00", "23:59:00", ["an offset, such as -08:00"]),
    "a blank contact": ('"the forum"', '" "', ["contact = ' '", "one line, not blank"]),
    "a policy": ("late =", "lates =", ["[policies]: unknown key 'lates'", "'late'?"]),
}


@pytest.mark.parametrize("slip", COURSE_SLIPS)
def test_each_mistake_in_the_course_is_one_line(tmp_path, slip):
    old, new, words = COURSE_SLIPS[slip]
    assert old in COURSE
    (tmp_path / "course.toml").write_text(COURSE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_course(tmp_path)
    check(str(caught.value), "course.toml", words)


def test_a_course_is_read(tmp_path):
    (tmp_path / "course.toml").write_text(COURSE, encoding="utf-8")
    course = load_course(tmp_path)
    assert (course.term, course.dates.due.hour, course.policies.late) == ("T", 23, "l")
