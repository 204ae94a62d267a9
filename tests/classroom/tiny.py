"""A course with one quick question, and classes that hand it in."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.classroom.contents import Files, lay
from tests.project import append, copy_of_the_project, make

TINY = """
[editions.tiny]
title = "A question"
questions = [{ number = "1a", topic = "attention_copying", coding = 8 }]

[editions.tiny.gradescope]
hidden_tests = "visible"
hidden_feedback_a_day = 0
leaderboard = false
"""
HEAD = "import numpy as np\n\ndef copying_query(keys, j):\n    "
# What a student hands in, by name: the body of copying_query, one of the two functions that the
# tiny edition asks for. Nobody writes the other one, so "right" earns 4 of 8 points.
BODIES = {
    "right": "return 1000 * keys[j]\n",
    "wrong": "return keys[j]\n",
    "exits": "import os; os._exit(3)\n",
    "raises": "raise ValueError('no')\n",
    "daemon": "import os, time\n    if not vars(copying_query) and os.fork() == 0:\n"
    "        os.setsid()\n        time.sleep(600 if os.fork() == 0 else 0)\n        os._exit(0)\n"
    "    copying_query.once = True\n    return 1000 * keys[j]\n",
    "slow": "import time; time.sleep(0.05)\n    return 1000 * keys[j]\n",
}


def upload_of(name: str) -> Files:
    """Return what a student hands in; `name` is a key of BODIES."""
    return {"submission/attention_exploration.py": (HEAD + BODIES[name]).encode()}


def class_of(folder: Path, *names: str) -> Path:
    """Write a class: a folder for each name, which is a key of BODIES; names may be repeated."""
    for number, name in enumerate(names):
        lay(folder / f"{number:03}-{name}", upload_of(name))
    return folder


@pytest.fixture(scope="session")
def course() -> Iterator[Path]:
    """Yield a copy of the project with an edition of four quick tests, and a smoke world.

    Other users can access its folder, unlike pytest's own temporary folders.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        tree = Path(folder)
        tree.chmod(0o755)
        copy_of_the_project(tree)
        (tree / "solutions").chmod(0o700)
        append(tree / "assignment.toml", TINY)
        made = make(tree, "world", "DATASET=smoke", "SEED=1")
        assert made.returncode == 0, made.stderr
        yield tree


@pytest.fixture(scope="session")
def temporary() -> Iterator[Path]:
    """Yield a folder for workers' temporary files, which other users can access."""
    with tempfile.TemporaryDirectory(prefix="temporary-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)
