"""The shipped description with fixed editions, so that tests may name numbers and points.

Topics, tests, data sets and recipes are those of assignment.toml, but no test is dropped; the
editions are those of tests/small/editions.toml. So a course can change points, numbers and order,
and drop a test, and tests don't change.
"""

import re
import tempfile
from functools import cache
from pathlib import Path

from autograder.description import StaffAssignment, load_assignment

ROOT = Path(__file__).resolve().parent.parent
EDITIONS = ROOT / "tests" / "small" / "editions.toml"
STRING = r"""(?:"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""  # of TOML, on one line
NAMES = ["xcs224n", "cs224n", "current"]


def text() -> str:
    """Return the content of such an assignment.toml."""
    shipped = (ROOT / "assignment.toml").read_text(encoding="utf-8")
    chosen = f'default_edition = "{NAMES[0]}"'
    shipped = re.sub(r'^default_edition = ".*?"', chosen, shipped, count=1, flags=re.MULTILINE)
    shipped = without_dropped(shipped)
    # What follows an edition's table begins with a table or a comment at the beginning of a line.
    tables = [*re.finditer(r"^\[editions\..*\n(?:(?![\[#]).*\n)*", shipped, re.MULTILINE)]
    before, rest = shipped[: tables[0].start()], shipped[tables[-1].end() :]
    return before + EDITIONS.read_text(encoding="utf-8") + "\n" + rest


def without_dropped(text: str) -> str:
    """Return an assignment.toml in which no test is dropped."""
    return re.sub(rf"dropped *= *{STRING} *, *| *, *dropped *= *{STRING}", "", text)


@cache
def load() -> StaffAssignment:
    """Return the loaded description."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "assignment.toml"
        path.write_text(text(), encoding="utf-8")
        return load_assignment(path.parent)
