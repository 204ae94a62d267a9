"""Calls the student's function."""

from typing import Any

from grading.worker import Context


def double_each(context: Context, numbers: list[int]) -> dict[str, Any]:
    """Call double for each number."""
    from submission.doubling import double

    return {"answers": [double(number) for number in numbers]}
