"""The shipped description with fixed editions, so that tests may name numbers and points.

Topics, tests, data sets and recipes are those of assignment.toml; the editions are those of
tests/small/editions.toml. So the shipped points, numbers and order can change, and tests don't.
"""

import re
import tempfile
from functools import cache
from pathlib import Path

from autograder.description import StaffAssignment, load_assignment

ROOT = Path(__file__).resolve().parent.parent
EDITIONS = ROOT / "tests" / "small" / "editions.toml"
NAMES = ["xcs224n", "cs224n", "current"]


def text() -> str:
    """Return the content of such an assignment.toml."""
    shipped = (ROOT / "assignment.toml").read_text(encoding="utf-8")
    chosen = f'default_edition = "{NAMES[0]}"'
    shipped = re.sub(r'^default_edition = ".*?"', chosen, shipped, count=1, flags=re.MULTILINE)
    before, _, after = shipped.partition("[editions.")
    # What follows the last edition begins with a table or a comment at the beginning of a line.
    last = list(re.finditer(r"^\[editions\..*\n(?:(?![\[#]).*\n)*", "[editions." + after, re.M))[-1]
    rest = ("[editions." + after)[last.end() :]
    return before + EDITIONS.read_text(encoding="utf-8") + "\n" + rest


@cache
def load() -> StaffAssignment:
    """Return the loaded description."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "assignment.toml"
        path.write_text(text(), encoding="utf-8")
        return load_assignment(path.parent)
