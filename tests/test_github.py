"""The files for GitHub and pre-commit have the right form, and each command in them works.

What runs only on GitHub's machines can't be tested here.
"""

import os
import re
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
TEMPLATE = ROOT / ".github" / "PULL_REQUEST_TEMPLATE.md"
# How GitHub runs `shell: bash`.
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")


def steps(job: str) -> list[str]:
    """Return the commands of a job, one text per step."""
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


# -- their form -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
    ],
)
def test_they_have_the_form_that_github_reads(schema, files):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_asks_each_thing_once(form):
    body = yaml.safe_load(form.read_text(encoding="utf-8"))["body"]
    fields = [field for field in body if field["type"] != "markdown"]
    for key in (lambda f: f["id"], lambda f: f["attributes"]["label"]):
        assert len({key(field) for field in fields}) == len(fields)


def test_only_githubs_own_actions_are_used():
    used = {step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step}
    assert used == {"actions/checkout@v6", "actions/setup-python@v6"}


def test_long_tests_run_each_week_where_all_others_pass():
    """YAML 1.1, which PyYAML reads, takes the key `on` for true."""
    triggers = BY_NAME["long"][True]
    assert triggers.keys() == {"schedule", "workflow_dispatch"}
    (schedule,) = triggers["schedule"]
    minute, hour, day, month, weekday = schedule["cron"].split()
    assert (day, month) == ("*", "*") and weekday.isdigit() and minute.isdigit() and hour.isdigit()
    *others, last = steps("everything")
    assert last == "make test" and steps("long") == [*others, "make test-long"]
    for key in ("container", "env", "runs-on"):
        assert JOBS["long"][key] == JOBS["everything"][key]


def test_every_python_that_is_supported_is_tried():
    tried = set(JOBS["quick"]["strategy"]["matrix"]["python"])
    tried |= set(re.findall(r"python:(3\.\d+)-", JOBS["everything"]["container"]["image"]))
    assert tried == {"3.11", "3.12", "3.13", "3.14"}
    assert set(JOBS["students"]["strategy"]["matrix"]["python"]) <= tried


# -- its commands ---------------------------------------------------------------------------------


@pytest.mark.requires_tool("make")
@pytest.mark.parametrize(
    "command", [c for job in ("everything", "quick", "long") for c in steps(job) if "make " in c]
)
def test_make_knows_the_targets(command):
    done = make(ROOT, "-n", command.split()[1])
    assert done.returncode == 0, done.stderr


def test_the_students_job_needs_no_make():
    assert not [command for command in steps("students") if re.search(r"\bmake\b", command)]


@pytest.mark.long
@pytest.mark.requires_tool("bash")
def test_what_students_run_works_step_by_step(tree, demo, tmp_path):
    """Run them in a copy whose reference is already trained; nothing is installed."""
    copy = tmp_path / "checkout"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns(".venv", "__pycache__"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    install, *others = steps("students")
    assert install == "python -m pip install -r requirements.txt -c constraints.txt"
    for command in others:
        done = subprocess.run(
            [*BASH, command],
            cwd=copy,
            env=os.environ | {"PATH": path},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert (copy / "assignment5.zip").is_file()


def test_hooks_are_local_and_pass_here():
    """Check the form documented by pre-commit.com, and run each hook's command on its files."""
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local" and len(repository["hooks"]) == 3
    for hook in repository["hooks"]:
        assert {"id", "name", "entry", "language"} <= hook.keys() and hook["language"] == "system"
        program, *words = shlex.split(hook["entry"])
        assert program == ".venv/bin/python"
        files = ["tools/question.py"] if hook.get("pass_filenames", True) else []
        done = python(ROOT, *words, *files)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_hook_runs_for_each_file_that_decides_the_starter():
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    pattern = re.compile(next(h["files"] for h in repository["hooks"] if h["id"] == "starter"))
    for name in (
        "solutions/submission/helper.py",
        "src/submission/helper.py",
    ):
        assert (ROOT / name).is_file() and pattern.search(name)


@pytest.mark.parametrize("file", [*FORMS, TEMPLATE], ids=lambda file: file.name)
def test_commands_and_files_that_a_form_names_exist(file):
    text = re.sub(r"\s+", " ", file.read_text(encoding="utf-8"))
    for name in re.findall(r"\b(?:src|tests|solutions)/[\w./]*\w", text):
        assert Path(ROOT / name).exists(), name
    options = python(ROOT, "src/grader.py", "--help").stdout
    commands = [span for span in re.findall(r"`([^`]*)`", text) if not span.startswith("python --")]
    for option in re.findall(r"--\w+", " ".join(commands)):
        assert option in options
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([\w-]+)`", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
