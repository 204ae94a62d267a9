"""Judges of the hidden tests. Staff only: never shipped to students.

Each hidden test has one judge, called TOPIC_TEST, in the module named after the folder of
src/questions/ that contains the test; the harness finds it there, and refuses a judge without a
test. The test observes the submission, and the judge decides. The sentence given to `case.expect`
is all that a student reads, so it is fixed and contains no values; got, expected and the like are
for staff.
"""

from .evidence import expect_own_answers as expect_own_answers
