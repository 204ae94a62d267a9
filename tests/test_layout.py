"""Each file has one place: given code is only in src/, students' code only in the reference."""

import hashlib
import re
import subprocess

import pytest

from autograder.description import load_assignment
from autograder.judging import course_runner
from grading.cli import where_lines
from questions.course import Course

FOLDERS = ("src/submission", "src/pretraining", "solutions/submission")


def names(root, folder):
    return {path.name for path in (root / folder).glob("*.py")}


def test_no_file_exists_twice(root):
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).iterdir()):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found.setdefault(digest, []).append(path.relative_to(root).as_posix())
    assert len(found) > 20
    assert [places for places in found.values() if len(places) > 1] == []


def test_nothing_that_commands_write_is_committed(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, encoding="utf-8")
    names = listed.stdout.splitlines()
    written = (".zip", ".params", ".predictions", ".checkpoint", ".pdf")
    assert names and [name for name in names if name.endswith(written)] == []
    assert "src/edition.json" not in names


def test_a_module_of_submission_is_given_or_written_by_students(root):
    given, written = set(Course.provided.given), names(root, "solutions/submission")
    assert not given & written
    assert names(root, "src/submission") == given | written


def test_no_module_has_the_name_of_another_packages(root):
    assert names(root, "src/submission") & names(root, "src/pretraining") == {"__init__.py"}


MADE = ("solutions/data/", "src/data/", "build/", "dist/")


def test_the_architecture_names_files_that_exist(root):
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`([\w/.]+\.(?:py|toml|j2|sh|md)|[\w/]+/)`", text)
    tops = [root / name for name in ("autograder", "src", "solutions", "tools", "tests")]
    folders = [path for top in tops for path in (top, *_below(top))]
    (diagram,) = re.findall(r"^```mermaid\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    shown = re.findall(r'(?<!\()\["([\w/.]+)"\]', diagram)
    assert len(names) > 60 and len(shown) > 12
    names += shown
    for name in names:
        found = [root / name, *(folder / name for folder in folders)]
        made = "TOPIC" in name or name.startswith(
            ("solutions/data/", "src/data/", "build/", "dist/")
        )
        assert any(path.exists() for path in found) or made, name


# Where files are named by their paths, in tables that nothing else reads strictly.
TABLES = (
    "pyproject.toml",
    "tools/leaks/allowed.py",
    "tests/mutants.py",
    "CONTRIBUTING.md",
    "docs/grading-a-class.md",
)
TOPS = "autograder|src|solutions|tools|tests|docs|handout|benchmarks"
PATH = re.compile(rf"\b(?:{TOPS})(?:/[\w.-]+)+\.\w+")


@pytest.mark.parametrize("table", TABLES)
def test_tables_name_files_that_exist(root, table):
    text = (root / table).read_text(encoding="utf-8")
    names = {name for name in PATH.findall(text) if not name.startswith(MADE)}
    assert [name for name in sorted(names) if not (root / name).exists()] == []


def _below(folder):
    return [path for path in folder.rglob("*") if path.is_dir() and "__pycache__" not in path.parts]


def test_staff_find_the_test_its_probes_and_its_judge_by_where(root):
    runner = course_runner(load_assignment(root), Course())
    for edition in runner.assignment.editions.values():
        for test in runner.tests(edition):
            lines = where_lines(runner, test)
            files = {line.split()[1].partition(":")[0] for line in lines}
            assert 1 <= len(files) <= 4, (test.spec.test_id, files)
            assert all((root / file).is_file() for file in files)
            roles = [line.split()[0] for line in lines]
            assert roles[0] == "test" and ("judge" in roles) >= test.spec.is_hidden
