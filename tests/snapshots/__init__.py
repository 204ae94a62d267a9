"""What people read, pinned whole: a test for each family of texts, a file in stored/ for each.

.venv/bin/python -m pytest tests/snapshots --fix     writes the files of the views and endings anew

What a command prints is pinned with its other tests, such as those in tests/student: a test that
fails names the command that writes its file. Read `git diff` before you commit it. No other test
repeats these sentences.
"""

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from inline_snapshot import external_file

from tests.project import ROOT

STORED = Path(__file__).parent / "stored"
PLACE = re.compile(r"^((?:.*?: )?)([\w./ -]+\.\w+):(\d+): ", re.MULTILINE)


def check(name: str, texts: Mapping[str, str], masks: Mapping[str, str] | None = None) -> None:
    """Fail unless stored/NAME.txt contains these texts, each below its title.

    Args:
        masks: what else to replace, such as a temporary folder's path, and by what.
    """
    __tracebackhide__ = True
    parts = [f"======== {title}\n{text.rstrip()}\n" for title, text in texts.items()]
    whole = "\n".join(parts)
    for long, short in {**(masks or {}), str(ROOT): "ROOT"}.items():
        whole = whole.replace(long, short)
    path = STORED / f"{name}.txt"
    if whole == external_file(path):
        return
    stored = path.read_text(encoding="utf-8").splitlines()
    changes = difflib.unified_diff(stored, whole.splitlines(), f"{name}.txt", "now", lineterm="")
    test = os.environ["PYTEST_CURRENT_TEST"].partition(" ")[0]
    advice = f"If this is meant: python -m pytest {test.partition('[')[0]} --fix"
    pytest.fail("\n".join([*changes, advice]), pytrace=False)


def in_lines(page: str) -> str:
    """Return a web page with one element a line, without styles, their hash and blank lines."""
    page = re.sub(r"<style>.*?</style>", "<style>...</style>", page, flags=re.DOTALL)
    page = re.sub(r'(Policy" content=)"[^"]*"', r'\1"..."', page)
    page = re.sub(r"\s*(<(?:p|h\d|table|t[rdh]|caption|details|pre|dl|dt|title)\b)", r"\n\1", page)
    return re.sub(r"\n\s*\n+", "\n", page)


def printed(code: int, out: str, err: str) -> str:
    return f"exit {code}\n{out}{err}"


def with_lines(text: str, root: Path) -> str:
    """Add to each place, such as `written/sheet.tex:5: `, the line that is there."""

    def add(match: re.Match[str]) -> str:
        before, name, number = match.groups()
        text = (root / name).read_text(encoding="utf-8-sig", errors="replace")
        line = text.split("\n")[int(number) - 1]
        return f"{before}{name}:{number} «{line.strip()}»: "

    return PLACE.sub(add, text)
