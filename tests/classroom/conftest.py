"""Fixtures of other modules."""

from tests.classroom.graded import (  # noqa: F401
    certificates,
    complete,
    dask,
    graded,
    release,
    six,
    start_grading,
    undisturbed,
)
from tests.classroom.scripted import workers  # noqa: F401
from tests.classroom.tiny import course, temporary  # noqa: F401
