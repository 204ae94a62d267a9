"""What hidden tests assert. Staff only: never shipped to students.

One function a hidden test, named TOPIC_TEST, in the module of its topics; the test's method in
src/grading/questions/ has observed the submission and calls it. A sentence given to `case.expect`
is all that a student reads, so it is fixed and holds no value; got, expected and the like are for
staff.
"""

from .attention import *  # noqa: F403
from .blocks import *  # noqa: F403
from .evidence import expect_own_answers as expect_own_answers
from .rotary import *  # noqa: F403
from .span_corruption import *  # noqa: F403
from .synthesizer import *  # noqa: F403
from .training import *  # noqa: F403
