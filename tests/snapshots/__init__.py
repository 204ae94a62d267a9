"""What people read, pinned whole: a module for each family of texts, a file in stored/ for each.

.venv/bin/python -m pytest tests/snapshots --fix     writes stored/ anew

Read `git diff` before you commit it. No other test repeats these sentences.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from inline_snapshot import external_file

from tests.project import ROOT

STORED = Path(__file__).parent / "stored"


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
    pytest.fail("\n".join(changes), pytrace=False)


def in_lines(page: str) -> str:
    """Return a web page with one element a line, without styles, their hash and blank lines."""
    page = re.sub(r"<style>.*?</style>", "<style>...</style>", page, flags=re.DOTALL)
    page = re.sub(r'(Policy" content=)"[^"]*"', r'\1"..."', page)
    page = re.sub(r"\s*(<(?:p|h\d|table|t[rdh]|caption|details|pre|dl|dt|title)\b)", r"\n\1", page)
    return re.sub(r"\n\s*\n+", "\n", page)
