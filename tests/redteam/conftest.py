"""A copy of the repository that may be damaged, a user who attacks it, and the arena."""

import functools
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import grading
from autograder.description import load_assignment
from autograder.isolation import leftovers
from tests import pinned
from tests.harness.conftest import submission  # noqa: F401
from tests.interpreter import python
from tests.project import copy_of_the_grader

from . import arena

USER = os.getuid() or 54_321  # who attacks; as root, somebody who has no name and no files
# The default edition here: its few tests, numbered as in xcs224n, are quickly graded and written.
ATTACKED = """
[editions.attacked]
title = "What attacks are made on"
questions = [
  { number = "3a", topic = "attention_copying" },
  { number = "3b", topic = "attention_averaging" },
]
gradescope = { hidden_tests = "visible" }
"""
ASKED = "3a-0-basic"
FILE = "submission/attention_exploration.py"
RIGHT = (grading.SOLUTIONS / FILE).read_bytes()


def folder_for_everybody() -> Path:
    """Return a new folder that tests' own users can pass through, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="redteam-"))
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def make_tree() -> Iterator[Callable[..., Path]]:
    """A function that copies what grading needs to a fresh folder."""
    made = []

    def make() -> Path:
        base = folder_for_everybody()
        made.append(base)
        copy_tree(base / "tree")
        (base / "home").mkdir(mode=0o700)
        (base / "tmp").mkdir(mode=0o755)
        return base / "tree"

    yield make
    for base in made:
        leftovers.remove_tree(base)


def give(tree: Path) -> None:
    """Make USER the owner of a tree, and of what lies beside it."""
    subprocess.run(["chown", "-R", f"{USER}:{USER}", tree.parent], check=True)


def copy_tree(tree: Path) -> None:
    """Copy what grades, and this folder; only their owner can read answers."""
    copy_of_the_grader(tree)
    shutil.copytree(grading.ROOT / "tests/redteam", tree / "tests/redteam")
    text = pinned.text() + ATTACKED
    # The attacked tests take 20 ms, so their limit can be short.
    for old, new in (("timeout_s = 2,", "timeout_s = 0.4,"), ('= "xcs224n"', '= "attacked"')):
        assert old in text
        text = text.replace(old, new)
    (tree / "assignment.toml").write_text(text, encoding="utf-8")
    (tree / "out").mkdir(mode=0o700)
    (tree / "solutions").chmod(0o700)


def plant(tree: Path) -> str:
    """Hide a secret among the answers; return it."""
    secret = f"{arena.PLANTED}-{secrets.token_hex(8)}"
    for name in ("hidden/training.py", "submission/dataset.py"):
        with open(tree / "solutions" / name, "a", encoding="utf-8") as writer:
            writer.write(f'\nPLANTED = "{secret}"  # expected answers\n')
    for folder in ("solutions", "src"):
        (tree / folder / "data").mkdir()
    (tree / "src/data/birth_dev.tsv").write_text("Where was it born?\tHere\n", encoding="utf-8")
    for path in ("solutions/data/seed.txt", "solutions/data/birth_test.tsv", "out/earlier.json"):
        (tree / path).write_text(secret, encoding="utf-8")
    (tree.parent / "home" / "secret").write_text(secret, encoding="utf-8")
    return secret


@pytest.fixture(scope="session")
def reports(request, make_tree) -> Callable[[str], dict[str, dict]]:
    """Return a function that runs a mode's selected attacks once, and returns reports by attack."""

    @functools.cache
    def run(mode: str) -> dict[str, dict]:
        items = [item for item in request.session.items if "reports" in item.fixturenames]
        chosen = [item.callspec.params for item in items]
        attacks = [each["attack"] for each in chosen if each["mode"] == mode]
        as_root, _ = arena.MODES[mode]
        tree, become = make_tree(), {}
        temporary, report = tree.parent / "tmp", tree.parent / "tmp" / "report.jsonl"
        environment = {
            "PATH": os.defpath,
            "GRADER_SECRET": plant(tree),
            "HOME_SECRET": str(tree.parent / "home" / "secret"),
            "TMPDIR": str(temporary),
        }
        if not as_root and os.getuid() == 0:  # only root may become somebody else
            give(tree)
            become = {"user": USER, "group": USER, "extra_groups": []}
        command = ["-B", tree / "tests/redteam/arena.py", tree, mode, report, *attacks]
        ran = python(temporary, *command, env=environment, errors="replace", **become)
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        died = [f"died: {ran.stderr[-3000:]}"] if ran.returncode else []
        found = {line["attack"]: line for line in map(json.loads, lines)}
        return found | {"the arena": {"faults": died}}

    return run


@pytest.fixture(scope="package")
def tree(make_tree) -> Path:
    """A copy of the repository for the command itself."""
    return make_tree()


@pytest.fixture
def upload(tmp_path) -> Path:
    """A right submission, to be broken."""
    package = tmp_path / "upload" / "submission"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "attention_exploration.py").write_bytes(RIGHT)
    return package.parent


def command(tree: Path, upload: Path, *more: str | Path) -> list:
    """The grader's command line in a tree."""
    return [sys.executable, tree / "src" / "grader.py", "--submission", upload, *more]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    folder = folder_for_everybody()
    yield folder
    leftovers.remove_tree(folder)


@pytest.fixture
def grade(tree, open_folder):
    """Run the grader with a temporary folder of its own; check that it leaves nothing there."""

    def run(upload: Path, *more, **keywords):
        environment = {"PATH": os.defpath, "TMPDIR": str(keywords.pop("tmpdir", open_folder))}
        words = command(tree, upload, *(more or (ASKED,)))[1:]
        return python(tree, *words, env=environment, errors="replace", **keywords)

    yield run
    assert list(open_folder.iterdir()) == []


def whole(path: Path, tree: Path, edition: str | None = None) -> dict:
    """Return the results, whose file must be valid and contain every test of the edition."""
    results = json.loads(path.read_text(encoding="utf-8"))
    expected = [test.test_id for test in load_assignment(tree).edition(edition).tests]
    assert [test["test_id"] for test in results["tests"]] == expected
    return results


@pytest.fixture(scope="session")
def grader(tmp_path_factory):
    """Return a grader whose workers' answers are given; see fuzzing.py."""
    from . import fuzzing  # imports torch

    course = fuzzing.lay_out(tmp_path_factory.mktemp("course"))
    return fuzzing.Grader(tmp_path_factory.mktemp("work"), course)
