"""Judges of the hidden tests. Staff only: never shipped to students.

A hidden test observes the submission, and its judge, called TOPIC_TEST, decides. It is in the
module named after the test's folder in src/questions/, and `autograder.judging` binds it by its
name. The sentence given to `case.expect` is all that a student reads, so it is fixed and contains
no values; got, expected and the like are for staff.
"""

from .evidence import expect_own_answers as expect_own_answers
