"""Which package may import which: import-linter's contracts, and what it can't see."""

import ast
import os
import re
import shutil
import sys
import tomllib

import environment
from tests.interpreter import python
from tests.project import ROOT

# The libraries that modules may import besides Python's own; the first pattern that matches counts.
STUDENTS = {"_typeshed"} | set(
    re.findall(r"^\w+", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
)
LIBRARIES = {
    r"(src|solutions/submission|solutions/hidden)/": STUDENTS,
    r"autograder/description\.py": {"pydantic", "pydantic_core"},
    r"autograder/": STUDENTS | {"jsonschema"},
}
COMMANDS = {path.stem: path for path in (ROOT / "src").glob("*.py")}
PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")
PACKAGES = {*tomllib.loads(PROJECT)["tool"]["importlinter"]["root_packages"]}


def test_every_contract_is_kept(tmp_path):
    topics = {f'"questions.{path.parent.name}",' for path in ROOT.glob("src/questions/*/*.py")}
    own, contracts = '    "questions",', tmp_path / "contracts.toml"
    contracts.write_text(PROJECT.replace(own, own + "".join(topics)), "utf-8")
    command = "from importlinter.cli import lint_imports_command as lint; lint()"
    variables = os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), "src", "solutions"))}
    for code in ("src", "solutions"):  # students' code, and then the reference in its place
        package = ROOT / code / "submission"
        shutil.copytree(package, tmp_path / "submission", dirs_exist_ok=True)
        ran = python(ROOT, "-c", command, contracts, "--no-cache", env=variables)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def imported(path):
    """Return the first words of what a module imports, except from its own package."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_a_command_runs_students_code_or_grades_it():
    runs = {"experiments", "submission", "pretraining"}
    for name, path in COMMANDS.items():
        ours = {*imported(path)} & PACKAGES
        assert not ours & {"autograder", "hidden", "tools"}, name
        assert "submission" not in ours or ours <= runs, name


def test_libraries_are_those_that_are_installed_there():
    for place in ("src", "solutions/submission", "solutions/hidden", "autograder"):
        for path in (ROOT / place).rglob("*.py"):
            name = path.relative_to(ROOT).as_posix()
            allowed = next(LIBRARIES[each] for each in LIBRARIES if re.match(each, name))
            others = {*imported(path)} - PACKAGES - sys.stdlib_module_names - COMMANDS.keys()
            assert others <= allowed, name


def test_modules_that_commands_import_are_never_hidden_by_the_submissions():
    names = {name for path in COMMANDS.values() for name in imported(path)}
    assert names & {"experiments", *COMMANDS} == {*environment.OURS}
