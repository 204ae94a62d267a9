"""The harness, unchanged, grades another assignment: one question, as `make question` writes it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.description import load_assignment
from grading.edition import EDITION, to_json
from tests.interpreter import python
from tests.project import ROOT
from tools import question

ASSIGNMENT = """
[assignment]
title = "Spread"
default_edition = "only"
gradescope_python = "3.12"
[parts]
numbers = "Numbers"

{topic}
[topics.why]
part = "numbers"
title = "Why is the result never negative?"

[editions.only]
title = "Spread"
questions = [
{line}
  {{ number = "1b", topic = "why", written = 2 }},
]
[editions.only.gradescope]
hidden_tests = "visible"
"""
GRADER = """
import sys
from grading.cases import QuestionSet
from grading.cli import main
if __name__ == "__main__":
    sys.exit(main(QuestionSet()))
"""
WRONG = "def spread(tokens):\n    return 2 if len(tokens) < 4 else max(tokens)\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return the second assignment with both parts of the harness, and nothing else from here."""
    source = tmp_path / "autograder" / "source"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("src/grading", "autograder"):
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    shutil.copy(ROOT / "src/host.py", source / "src")
    names = question.names_of("spread") | {"PART": "numbers", "NUMBER": "1a"}
    parts = {name: question.template(f"{name}.toml.txt", names) for name in ("topic", "line")}
    files = {
        **question.new_files(names),
        "assignment.toml": ASSIGNMENT.format(**parts).replace("coding = 3", "coding = 6"),
        "src/grader.py": GRADER,
        "solutions/data/grading_secret": "secret\n",
    }
    packages = ("src/questions", "solutions/hidden", "solutions/submission")
    for name, text in (files | {f"{folder}/__init__.py": "" for folder in packages}).items():
        if name.startswith(("src/", "solutions/", "assignment")):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text, encoding="utf-8")
    shutil.rmtree(source / "src/submission")  # the starter
    return source


def hand_in(folder: Path) -> Path:
    (folder / "submission").mkdir(parents=True)
    (folder / "submission" / "__init__.py").touch()
    (folder / "submission" / "spread.py").write_text(WRONG, encoding="utf-8")
    return folder


def grade(tree: Path, upload: Path, *words: str | Path, **keywords) -> subprocess.CompletedProcess:
    return python(tree, "src/grader.py", "--submission", upload, *words, **keywords)


def test_run_autograder_grades_it(tree, tmp_path):
    """Run Gradescope's script in a plain folder."""
    root = tree.parent
    script = (ROOT / "tools" / "gradescope" / "run_autograder").read_text(encoding="utf-8")
    (root / "run_autograder").write_text(script.replace("@EDITION@", "only"), encoding="utf-8")
    (root / "results").mkdir()
    hand_in(root / "submission")
    home = tmp_path / "home"
    home.mkdir()
    (home / "venv").symlink_to(sys.prefix)
    ran = subprocess.run(
        ["sh", str(root / "run_autograder"), "--preview"],
        env=os.environ | {"PROBLEM_SET_HOME": str(home)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    results = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    assert [(test["score"], test["max_score"]) for test in results["tests"]] == [(2, 2), (0, 4)]


# ---------------------------------------------------------------- which of both commands runs


def test_staff_and_students_have_their_own_command_whatever_is_installed(tree, tmp_path):
    upload = hand_in(tmp_path / "upload")
    package = tmp_path / "installed" / "autograder" / "__init__.py"
    package.parent.mkdir(parents=True)
    package.write_text("raise SystemExit('another package')\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    ran = grade(tree, upload, env=environment)
    assert (ran.returncode, ran.stderr) == (1, "") and "2 / 6     points in all" in ran.stdout

    edition = to_json(load_assignment(tree).for_students("only", ()))
    (tree / EDITION).write_bytes(edition)
    (tree / "assignment.toml").unlink()
    shutil.rmtree(tree / "solutions")
    shutil.rmtree(tree / "autograder")
    ran = grade(tree, upload, "--json", tmp_path / "result.json", env=environment)
    assert (ran.returncode, ran.stderr) == (0, "")
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert [test["outcome"] for test in result["tests"]] == ["passed", "ran, not graded"]


def test_nothing_is_graded_beside_solutions_without_a_whole_autograder(tree, tmp_path):
    upload = hand_in(tmp_path / "upload")
    damaged = tree / "autograder" / "isolation" / "pool.py"
    damaged.write_text("import a_missing_library\n", encoding="utf-8")
    ran = grade(tree, upload)
    assert (ran.returncode, ran.stdout) == (3, "") and ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("grader.py: the grader failed: autograder/ can't be imported")
    shutil.rmtree(tree / "autograder")
    ran = grade(tree, upload)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and "no autograder/" in ran.stderr
