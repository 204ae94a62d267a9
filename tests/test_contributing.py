"""CONTRIBUTING.md's first hour works in a copy of the project; what it says about tests is true."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import follow
from tests.project import ROOT, copy_of_the_project, make

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
pytestmark = [pytest.mark.requires_tool("make"), pytest.mark.requires_tool("git")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """Return a clone, as a beginner has it."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("clone"))
    own = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*own, "commit", "--quiet", "-m", "All")):
        subprocess.run(["git", *words], cwd=tree, check=True)
    return tree


@pytest.fixture(scope="module")
def answers(copy) -> list[tuple[str, subprocess.CompletedProcess]]:
    """Return what each command answered, with the edits made in between."""
    found = []
    for step in follow.steps(DOCUMENT):
        if not isinstance(step, str):
            follow.edit(copy, *step)
        elif step not in (*DRY, ELSEWHERE):
            found.append((step, follow.run(copy, step)))
    return found


@pytest.mark.long
def test_a_test_notices_the_message_and_all_else_succeeds(answers):
    assert ELSEWHERE in follow.commands_of(DOCUMENT)
    fails = iter([1, 0])  # changed, and restored
    for command, answer in answers:
        expected = next(fails) if command == NOTICES else 0
        assert answer.returncode == expected, (command, answer.stdout, answer.stderr)
    assert next(fails, None) is None


@pytest.mark.long
def test_nothing_is_changed_at_the_end(copy, answers):
    command = ["git", "status", "--porcelain", "--untracked-files=no"]
    assert subprocess.run(command, cwd=copy, capture_output=True, check=True).stdout == b""


@pytest.mark.parametrize("command", DRY)
def test_a_command_that_takes_long_is_one_of_make(copy, command):
    assert command in follow.commands_of(DOCUMENT)
    target, *words = re.findall(r'[^\s"]+="[^"]*"|\S+', command.removeprefix("make "))
    done = make(copy, "-n", target, *(word.replace('"', "") for word in words))
    assert done.returncode == 0, done.stderr
