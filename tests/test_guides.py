"""docs/add-a-test.md and docs/change-a-message.md, followed word for word on what is shipped."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import follow
from tests.project import ROOT, copy_of_the_project

GUIDES = ("add-a-test", "change-a-message")
LINT = "make lint"  # it checks everything: here, ruff alone checks what the guide changed
pytestmark = [pytest.mark.long, pytest.mark.requires_tool("git")]


def clone(target: Path) -> Path:
    """Return a repository of its own, with the assignment.toml that is shipped."""
    tree = copy_of_the_project(target)
    shutil.copy2(ROOT / "assignment.toml", tree)
    own = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*own, "commit", "--quiet", "-m", "All")):
        subprocess.run(["git", *words], cwd=tree, check=True)
    return tree


@pytest.mark.parametrize("guide", GUIDES)
def test_each_command_ends_as_the_guide_says(guide, tmp_path):
    """A comment that begins with "fails" announces that; all other commands succeed."""
    text = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
    fails = {line.strip() for line in re.findall(r"^(.*?)\s+# fails", text, re.M)}
    tree = clone(tmp_path)
    for step in follow.steps(text):
        if not isinstance(step, str):
            follow.edit(tree, *step)
            continue
        command = "python -m ruff check src solutions" if step == LINT else step
        answer = follow.run(tree, command)
        said = answer.stdout + answer.stderr
        assert (answer.returncode != 0) == (step in fails), (step, said)
        assert "Traceback" not in said
        if step.startswith("git diff --stat"):
            assert "1 file changed" in said, said
    assert fails
