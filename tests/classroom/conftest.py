"""Fixtures of other modules, and the commands."""

from collections.abc import Callable

import pytest

from classroom.__main__ import main
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


@pytest.fixture
def command(capsys) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs `python -m classroom WORD...` in this process.

    It returns the exit code, and what is written to standard output and to standard error.
    """

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run
