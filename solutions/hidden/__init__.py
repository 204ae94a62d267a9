"""What hidden tests assert. Staff only: never shipped to students.

One judge for each hidden test, called TOPIC_TEST, in the module that has the name of the folder of
src/questions/ whose test calls it; the harness finds it there, and refuses a judge of no test. The
test has observed the submission. A sentence given to `case.expect` is all that a student reads, so
it is fixed and holds no value; got, expected and the like are for staff.
"""

from .evidence import expect_own_answers as expect_own_answers
