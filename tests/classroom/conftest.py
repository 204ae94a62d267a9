"""A class that is made once, and fixtures of other modules."""

import pytest

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
from tests.classroom.make_class import MadeClass, make_class
from tests.classroom.scripted import workers  # noqa: F401
from tests.classroom.tiny import course, temporary  # noqa: F401


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> MadeClass:
    """Return a class of 24, with each kind of content."""
    return make_class(tmp_path_factory.mktemp("made"), 24)
