"""The fixtures with which the harness's tests grade a broken submission."""

from tests.harness.conftest import (  # noqa: F401
    grade,
    grade_hastily,
    pools,
    run,
    runner,
    submission,
    write_query,
)
