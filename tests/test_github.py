"""The files for GitHub and pre-commit have the right form, and each command in them works.

What runs only on GitHub's machines can't be tested here.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.interpreter import python
from tests.project import ROOT, make

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
BY_NAME = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in WORKFLOWS}
JOBS = BY_NAME["ci"]["jobs"] | BY_NAME["long"]["jobs"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
HOOKS = ROOT / ".pre-commit-config.yaml"
# How GitHub runs `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")


def test_they_have_the_form_that_github_reads():
    for schema, files in {
        "vendor.github-workflows": WORKFLOWS,
        "custom.github-workflows-require-timeout": WORKFLOWS,
        "vendor.github-issue-forms": FORMS,
    }.items():
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.requires_tool("make")
def test_make_knows_the_targets():
    commands = [step.get("run", "").split() for job in JOBS.values() for step in job["steps"]]
    for target in {words[1] for words in commands if words[:1] == ["make"]}:
        done = make(ROOT, "-n", target)
        assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.requires_tool("bash")
def test_what_students_run_works_step_by_step(tree, released, tmp_path):
    """Run the steps where only the artifact of the job before is; nothing is installed."""
    shutil.copytree(tree / "dist", tmp_path / "dist")
    shutil.copytree(tree / "build" / "reference", tmp_path / "build" / "reference")
    inside = JOBS["students"]["defaults"]["run"]["working-directory"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in JOBS["students"]["steps"]:
        if "run" not in step or "pip install" in step["run"]:
            continue
        done = subprocess.run(
            [*BASH, step["run"]],
            cwd=tmp_path / step.get("working-directory", inside),
            env=os.environ | {"PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, (step, done.stdout, done.stderr)
    assert (tmp_path / inside / "vanilla.predictions").is_file()


def test_hooks_pass_here():
    """Run the command of each on its files."""
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    for hook in repository["hooks"]:
        program, *words = shlex.split(hook["entry"])
        assert program == ".venv/bin/python"
        files = ["tools/question.py"] if hook.get("pass_filenames", True) else []
        done = python(ROOT, *words, *files)
        assert done.returncode == 0, done.stdout + done.stderr
