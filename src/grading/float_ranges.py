"""Detects what an older Python accepts: random.randint(4, block_size * 7 / 8).

Up to Python 3.11, randint and randrange accept a float with an integer value, 112.0, with a warning
that nobody sees; from 3.12 on they raise a TypeError. A submission that was written with the older
Python would fail where it is graded, so the grader repeats the warning, with its place.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SINCE = (3, 12)
WARNING = "non-integer arguments to randrange"


@contextmanager
def noticed(place_of: Callable[[FrameType], str]) -> Iterator[list[str]]:
    """Record the first place that draws from a range with a float.

    Python raises the warning only once for each line of its module random, so this costs nothing;
    with a newer Python there is nothing to watch.

    Args:
        place_of: describes a frame: "submission/dataset.py:57", or "" if it isn't the student's.
    """
    places: list[str] = []
    if sys.version_info >= SINCE:
        yield places
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("default", WARNING, DeprecationWarning)
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if not (issubclass(category, DeprecationWarning) and WARNING in str(message)):
                before(message, category, *more)
            elif not places:
                places.extend(_innermost(sys._getframe(1), place_of))

        warnings.showwarning = show  # type: ignore[assignment]
        yield places


def _innermost(frame: FrameType | None, place_of: Callable[[FrameType], str]) -> list[str]:
    while frame is not None:
        if place := place_of(frame):
            return [place]
        frame = frame.f_back
    return []


def advice(place: str, graded_with: str) -> str:
    """Return a sentence or two on what a student should change.

    Args:
        graded_with: the Python version used for grading: "3.12".
    """
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        f"{place}: randint or randrange gets a float here. Your Python, {here}, accepts it; "
        f"Gradescope runs Python {graded_with}, where it is a TypeError. Use integers: "
        "int(...), or // instead of /."
    )
