"""Which package may import which: import-linter's contracts, and what it can't see."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib

import environment
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


# What breaks each of the contracts.
STRAYS = {
    "src/grading/errors.py": "from autograder import solutions",
    "src/grading/wire.py": "from . import pool",
    "src/questions/rope/tests.py": "from submission import model",
    "src/pretraining/fast.py": "if TYPE_CHECKING:\n    from submission.model import GPT",
    "src/submission/model.py": "def f():\n    import grading.wire",
    "solutions/hidden/rope.py": "from autograder import replay",
    "classroom/times.py": "from questions import course",
}


def lint(tree):
    """Check the contracts in a copy of the project."""
    command = "from importlinter.cli import lint_imports_command as lint; lint()"
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(("src", "solutions"))}
    words = [sys.executable, "-c", command, "contracts.toml", "--no-cache"]
    return subprocess.run(words, env=variables, cwd=tree, capture_output=True, encoding="utf-8")


def test_every_contract_is_kept_and_could_be_broken(tmp_path):
    for folder in ("src", "autograder", "classroom", "tools", "solutions/hidden"):
        ignored = shutil.ignore_patterns("data", "__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    topics = {f'"questions.{path.parent.name}",' for path in ROOT.glob("src/questions/*/*.py")}
    own = '    "questions",'
    (tmp_path / "contracts.toml").write_text(PROJECT.replace(own, own + "".join(topics)), "utf-8")
    for code in ("src", "solutions"):  # students' code, and then the reference in its place
        package = ROOT / code / "submission"
        shutil.copytree(package, tmp_path / "src/submission", dirs_exist_ok=True)
        checked = lint(tmp_path)
        assert checked.returncode == 0, checked.stdout + checked.stderr
    for path, statement in STRAYS.items():
        with (tmp_path / path).open("a", encoding="utf-8") as file:
            file.write(f"\n{statement}\n")
    said = lint(tmp_path).stdout
    assert "Contracts: 0 kept" in said, said


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
