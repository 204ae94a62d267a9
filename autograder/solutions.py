"""What of the solutions judges need; students have none of it."""

import os

from grading import SOLUTIONS
from grading.errors import UsageError

HIDDEN = SOLUTIONS / "hidden"
ANSWERS = SOLUTIONS / "data"


def refuse_closed() -> None:
    """Raise a UsageError if there is a folder of solutions that this user can't enter."""
    if os.path.isdir(SOLUTIONS) and not os.access(SOLUTIONS, os.R_OK | os.X_OK):
        raise UsageError(
            f"{SOLUTIONS.name}/ exists, but this user can't read it: grade as its owner, or in "
            "a copy without it"
        )
