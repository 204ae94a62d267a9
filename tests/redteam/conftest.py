"""A copy of the repository that may be damaged, an ordinary user who attacks it, and the arena."""

import functools
import json
import os
import pwd
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
from tests.project import copy_of_the_grader

from . import arena

USER = "grading-redteam"
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


@pytest.fixture(scope="session")
def ordinary_user() -> Iterator[pwd.struct_passwd]:
    """A user without rights: created if we are root, else whoever runs the tests."""
    if os.getuid() != 0:
        yield pwd.getpwuid(os.getuid())
        return
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"  # root's PATH may lack them (cron, su)
    useradd, userdel = (shutil.which(name, path=path) for name in ("useradd", "userdel"))
    made = subprocess.run([useradd, "--no-create-home", "--system", USER], check=False)
    try:
        yield pwd.getpwnam(USER)
    finally:
        if made.returncode == 0:
            subprocess.run([userdel, USER], check=False, capture_output=True)


@pytest.fixture(scope="session")
def make_tree() -> Iterator[Callable[..., Path]]:
    """A function that copies what grading needs to a fresh folder and gives it to a user."""
    made = []

    def make(owner: pwd.struct_passwd | None = None) -> Path:
        base = Path(tempfile.mkdtemp(prefix="redteam-"))
        made.append(base)
        base.chmod(0o755)
        tree = base / "tree"
        copy_tree(tree)
        (base / "home").mkdir(mode=0o700)
        (base / "tmp").mkdir(mode=0o755)
        if owner is not None and os.getuid() == 0:
            subprocess.run(["chown", "-R", f"{owner.pw_uid}:{owner.pw_gid}", base], check=True)
        return tree

    yield make
    for base in made:
        leftovers.remove_tree(base)


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
def reports(request, make_tree, ordinary_user) -> Callable[[str], dict[str, dict]]:
    """Return a function that runs a mode's selected attacks once, and returns reports by attack."""

    @functools.cache
    def run(mode: str) -> dict[str, dict]:
        items = [item for item in request.session.items if "reports" in item.fixturenames]
        chosen = [item.callspec.params for item in items]
        attacks = [each["attack"] for each in chosen if each["mode"] == mode]
        as_root, _ = arena.MODES[mode]
        tree = make_tree(None if as_root else ordinary_user)
        uid, gid = ordinary_user.pw_uid, ordinary_user.pw_gid
        identity = {}
        if not as_root and os.getuid() == 0:  # only root may become somebody else
            identity = {"user": uid, "group": gid, "extra_groups": []}
        secret, report = plant(tree), tree.parent / "tmp" / "report.jsonl"
        command = [sys.executable, "-B", tree / "tests/redteam/arena.py", tree, mode, report]
        ran = subprocess.run(
            command + attacks,
            env={
                "PATH": os.defpath,
                "GRADER_SECRET": secret,
                "HOME_SECRET": str(tree.parent / "home" / "secret"),
                "TMPDIR": str(tree.parent / "tmp"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
            cwd=tree.parent / "tmp",
            **identity,
        )
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
    """A folder that tests' own users can pass through, unlike pytest's."""
    folder = Path(tempfile.mkdtemp(prefix="redteam-"))
    folder.chmod(0o755)
    yield folder
    leftovers.remove_tree(folder)


@pytest.fixture
def grade(tree, open_folder):
    """Run the grader with a temporary folder of its own; check that it leaves nothing there."""

    def run(upload: Path, *more, **keywords):
        environment = {"PATH": os.defpath, "TMPDIR": str(keywords.pop("tmpdir", open_folder))}
        keywords = {"stdin": subprocess.DEVNULL, "capture_output": True, **keywords}
        arguments = command(tree, upload, *(more or (ASKED,)))
        return subprocess.run(
            arguments, env=environment, encoding="utf-8", errors="replace", **keywords
        )

    yield run
    assert list(open_folder.iterdir()) == []


def whole(path: Path, tree: Path) -> dict:
    """Return the results, whose file must be valid and contain every test of the edition."""
    results = json.loads(path.read_text(encoding="utf-8"))
    expected = [test.test_id for test in load_assignment(tree).edition(None).tests]
    assert [test["test_id"] for test in results["tests"]] == expected
    return results


@pytest.fixture(scope="session")
def grader(tmp_path_factory):
    """Return a grader whose workers' answers are given; see fuzzing.py."""
    from . import fuzzing  # imports torch

    course = fuzzing.lay_out(tmp_path_factory.mktemp("course"))
    return fuzzing.Grader(tmp_path_factory.mktemp("work"), course)
