"""The fixtures with which the harness's tests grade a broken submission."""

from tests.harness.conftest import (  # noqa: F401
    grade,
    grade_hastily,
    hasty_runner,
    pools,
    runner,
    submission,
    write_query,
)
