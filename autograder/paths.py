"""Where staff's files are, which the harness doesn't know; students have none of them."""

from __future__ import annotations

import os

from grading.errors import UsageError
from grading.paths import DATA, QUESTIONS, ROOT, SOLUTIONS, SRC

HIDDEN = SOLUTIONS / "hidden"
ANSWERS = SOLUTIONS / "data"
DESCRIPTION = ROOT / "autograder" / "description.py"  # only in a checkout

__all__ = ["ANSWERS", "DATA", "DESCRIPTION", "HIDDEN", "QUESTIONS", "ROOT", "SOLUTIONS", "SRC"]


def refuse_closed_solutions() -> None:
    """Refuse to run with a folder of solutions that this user can't enter, and so can't use.

    Raises:
        UsageError: the folder belongs to somebody else.
    """
    if os.path.isdir(SOLUTIONS) and not os.access(SOLUTIONS, os.R_OK | os.X_OK):
        raise UsageError(
            f"{SOLUTIONS.name}/ exists, but this user can't read it: grade as its owner, or in "
            "a copy without it"
        )
