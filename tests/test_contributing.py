"""CONTRIBUTING.md, docs/add-a-test.md and docs/change-a-message.md, followed word for word."""

import re
import shutil
from pathlib import Path

import pytest

from tests import follow
from tests.project import ROOT, commit_all, copy_of_the_project, git, make

DOCUMENT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NOTICES = "python -m pytest tests/student/test_collect.py -k complete"
# Only `make -n`, since these run the tests of which this is one.
DRY = (
    "make test-quick",
    'make test ARGS="tests/test_starter.py -k region"',
    "make test",
    "make test-long",
    "make coverage",
    "make lint",
)
# These tests run in `make test`, too, and take most of a minute.
ELSEWHERE = "python -m pytest tests/snapshots --fix"
GUIDES = ("add-a-test", "change-a-message")
pytestmark = [pytest.mark.requires_tool("make"), pytest.mark.requires_tool("git")]


def clone(tree: Path) -> Path:
    """Fill a folder with a clone, as a beginner has it, with the shipped assignment.toml."""
    copy_of_the_project(tree)
    shutil.copy2(ROOT / "assignment.toml", tree)
    commit_all(tree, "All")
    return tree


@pytest.mark.long
def test_in_the_first_hour_a_test_notices_the_message_and_nothing_is_changed_at_the_end(tmp_path):
    copy, fails = clone(tmp_path), iter([1, 0])  # the message is changed, and restored
    assert ELSEWHERE in follow.commands_of(DOCUMENT)
    for command, answer in follow.follow(copy, DOCUMENT, but=(*DRY, ELSEWHERE)):
        expected = next(fails) if command == NOTICES else 0
        assert answer.returncode == expected, (command, answer.stdout, answer.stderr)
    assert next(fails, None) is None
    assert git(copy, "status", "--porcelain", "--untracked-files=no").stdout == ""


@pytest.mark.parametrize("command", DRY)
def test_a_command_that_takes_long_is_one_of_make(command):
    assert command in follow.commands_of(DOCUMENT)
    target, *words = re.findall(r'[^\s"]+="[^"]*"|\S+', command.removeprefix("make "))
    done = make(ROOT, "-n", target, *(word.replace('"', "") for word in words))
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("guide", GUIDES)
def test_each_command_ends_as_the_guide_says(guide, tmp_path):
    """A comment that begins with "fails" announces that; all other commands succeed."""
    text = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
    fails = {line.strip() for line in re.findall(r"^(.*?)\s+# fails", text, re.M)}
    tree = clone(tmp_path)
    # `make lint` checks everything: here, ruff alone checks what the guide changed.
    quick = text.replace("\nmake lint", "\npython -m ruff check src solutions")
    for command, answer in follow.follow(tree, quick):
        said = answer.stdout + answer.stderr
        assert (answer.returncode != 0) == (command in fails), (command, said)
        assert "Traceback" not in said
        if command.startswith("git diff --stat"):
            assert "1 file changed" in said, said
    assert fails
