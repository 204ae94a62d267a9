"""Documents and tables name files that exist, and nothing that commands write is committed."""

import re
import subprocess

import pytest

from tests.project import ROOT

# Where files are named by their paths, in tables that nothing else reads strictly.
TABLES = (
    "pyproject.toml",
    "tools/leaks/allowed.py",
    "tests/mutants.py",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/grading-a-class.md",
)
TOPS = "autograder|classroom|src|solutions|tools|tests|docs|handout|benchmarks"
PATH = re.compile(rf"\b(?:{TOPS})(?:/[\w.-]+)+\.\w+")
MADE = ("solutions/data/", "src/data/", "src/edition.json", "build/", "dist/")


@pytest.mark.parametrize("table", TABLES)
def test_files_that_are_named_exist(table):
    text = (ROOT / table).read_text(encoding="utf-8")
    names = {name for name in PATH.findall(text) if not name.startswith(MADE)}
    assert [name for name in sorted(names) if not (ROOT / name).exists()] == []


def test_nothing_that_commands_write_is_committed():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8")
    names = listed.stdout.splitlines()
    written = (".zip", ".params", ".predictions", ".checkpoint", ".pdf")
    assert names and [name for name in names if name.endswith(written)] == []
    assert "src/edition.json" not in names
