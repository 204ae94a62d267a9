"""The files for GitHub and pre-commit have the right form, and each command in them works.

What runs only on GitHub's machines can't be tested here.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.project import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
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


@pytest.mark.long
@pytest.mark.requires_tool("bash")
def test_what_students_run_works_step_by_step(tree, released, tmp_path):
    """Run the steps where only the artifact of the job before is; nothing is installed."""
    for name in ("dist", "build/reference"):
        shutil.copytree(tree / name, tmp_path / name)
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    job = ci["jobs"]["students"]
    inside = job["defaults"]["run"]["working-directory"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for step in job["steps"]:
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
