"""Fixtures of other tests: a submission to break and to grade, a student's finished work."""

from tests.harness.conftest import (  # noqa: F401
    grade,
    grade_hastily,
    hasty_runner,
    pools,
    runner,
    runner_in_haste,
    submission,
    write_query,
)
from tests.student.conftest import desk  # noqa: F401
