"""A submission to break, and a way to grade it in a process pool that all tests share."""

import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grading import paths
from grading.observer import Observer
from grading.processes import FreshPool, ZygotePool
from grading.results import TestResult
from grading.runner import CourseTestRunner, Options
from questions.course import Course
from tests import pinned
from tools.reference import compose

EXPLORATION = "attention_exploration.py"
HEAD = "import numpy as np\n\ndef copying_query(keys, j):\n"


@pytest.fixture(scope="session")
def runner() -> CourseTestRunner:
    return CourseTestRunner(pinned.load(), Course())


@pytest.fixture(scope="session")
def pools() -> Iterator[dict]:
    """Both ways of starting workers; the one of Windows and macOS is forced on Linux here."""
    made = {"zygote": ZygotePool(hash_seed=1), "fresh": FreshPool(hash_seed=1)}
    yield made
    for pool in made.values():
        pool.close()


@pytest.fixture
def submission(tmp_path) -> Path:
    """A copy of the reference, to be broken."""
    target = tmp_path / "upload"
    compose(paths.ROOT, target)
    shutil.rmtree(target / "pretraining")  # nobody hands it in
    return target


@pytest.fixture
def grade(runner, pools) -> Callable[..., dict[str, TestResult]]:
    """Grade a submission; returns results by test id."""

    def run(submission: Path, *wanted: str, way: str = "zygote", seed: int = 7, **options) -> dict:
        asked = Options(submission=submission, wanted=wanted, **options)
        results = runner.run(asked, seed, Observer(), pools[way])
        return {t.spec.test_id: t for t in results.tests}

    return run


@pytest.fixture
def write_query(submission) -> Callable[[str], Path]:
    """Replace attention_exploration.py by a copying_query with this body."""

    def write(body: str, before: str = "") -> Path:
        text = before + HEAD + textwrap.indent(textwrap.dedent(body), "    ")
        path = submission / "submission" / EXPLORATION
        path.write_text(text, encoding="utf-8")
        return submission

    return write
