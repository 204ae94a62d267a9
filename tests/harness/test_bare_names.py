"""Modules of `submission` import each other by bare names too, as public code does."""

import re
from pathlib import Path

import pytest

from grading.verdicts import Outcome
from tests.harness.conftest import POOLS
from tests.interpreter import python
from tests.student.folder import students_copy

ID = "3a-0-basic"
RELATIVE = re.compile(r"^( *)from \.(\w+) import", re.MULTILINE)
COMMANDS = ("attention_exploration", "dataset", "london_baseline", "run")


def with_bare_names(package: Path) -> int:
    """Rewrite `from .utils import` to `from utils import`; return how often."""
    count = 0
    for path in package.glob("*.py"):
        text, number = RELATIVE.subn(r"\1from \2 import", path.read_text(encoding="utf-8"))
        path.write_text(text, encoding="utf-8")
        count += number
    return count


MODULES = {
    "token": "raise KeyError('not a library')\n",
    "first": "COUNT = [1]\nimport second\nCOUNT.append(2)\n",
    "second": "import first\nfrom submission import first as other\n"
    "NAMES = first.COUNT + other.COUNT\n",
}
BODIES = [
    # Whichever name comes first, the module is run once.
    "import utils; import submission.utils; assert utils is submission.utils",
    # Circles: the first imports the second, which imports the first.
    "import first; from submission import second; assert second.NAMES == [1, 1]",
    # Libraries come first: the names of these modules are taken.
    "import token; assert token.NAME == 1",
]


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("body", BODIES)
def test_a_bare_name_is_the_packages_module(body, way, write_query, grade):
    upload = write_query(f"{body}\nreturn 100.0 * keys[j]\n")
    for name, text in MODULES.items():
        (upload / "submission" / f"{name}.py").write_text(text, encoding="utf-8")
    result = grade(upload, ID, way=way)[ID]
    assert result.outcome is Outcome.PASSED, result.detail


UTF16 = ":1: not valid Python: saved as UTF-16, expected UTF-8: in VS Code"
FAULTY = {  # what mine.py is, how the test ends, and what is said of it
    b"import a_\n": (Outcome.IMPORT_ERROR, ":1: import failed: No module named 'a_'"),
    "x = 1\n".encode("utf-16"): (Outcome.SYNTAX_ERROR, UTF16),
}


@pytest.mark.parametrize("way", POOLS)
def test_a_module_with_a_bare_name_is_named_with_its_line(way, write_query, grade):
    upload = write_query("return keys", before="import mine\n")
    for content, (outcome, words) in FAULTY.items():
        (upload / "submission" / "mine.py").write_bytes(content)
        result = grade(upload, ID, way=way)[ID]
        assert result.outcome is outcome and f"submission/mine.py{words}" in result.message


# A student's copy ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.sampled(4)
def test_commands_find_bare_names_too_and_name_a_module_in_utf16(command, tree, tmp_path):
    """Three commands have the names of modules of the submission, and run.py may have, too."""
    checkout = students_copy(tree, tmp_path / "copy")
    package = checkout / "src" / "submission"
    assert with_bare_names(package) > 5
    with open(package / "helper.py", "a", encoding="utf-8") as file:
        file.write("from dataset import NameDataset as Same\nassert Same is NameDataset\n")
    (package / "run.py").write_text("raise KeyError('not the command')\n", encoding="utf-8")
    ran = python(checkout, f"src/{command}.py", "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    path = package / "trainer.py"
    path.write_text(path.read_text(encoding="utf-8"), encoding="utf-16")
    ran = python(checkout, f"src/{command}.py", "--help")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert ran.stderr.startswith(f"{command}.py: src/submission/trainer.py ")
