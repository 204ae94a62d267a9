"""A submission to break, and a way to grade it in a process pool that all tests share."""

import shutil
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import grading
from autograder.isolation import ConfinedPool
from autograder.isolation.sandbox import Layers
from autograder.judging import course_runner
from grading import worker
from grading.pool import LocalPool
from grading.runner import Observer, Options, Runner
from grading.verdicts import Results, TestResult
from grading.worker import Limits
from questions.course import Course
from tests import pinned
from tools.reference import compose

SHORTER = 4  # times shorter than elsewhere are the limits of a hasty runner: half a second
POOLS = ["zygote", "local"]  # staff's, and the one of students' computers
HEAD = "import numpy as np\n\ndef copying_query(keys, j):\n"


@pytest.fixture(scope="session")
def runner() -> Runner:
    return course_runner(pinned.load(), Course())


@pytest.fixture(scope="session")
def pools() -> Iterator[dict]:
    """Both pools of workers."""
    made = {"zygote": ConfinedPool(hash_seed=1), "local": LocalPool(hash_seed=1)}
    yield made
    for pool in made.values():
        pool.close()


@pytest.fixture
def submission(tmp_path) -> Path:
    """A copy of the reference, to be broken."""
    target = tmp_path / "upload"
    compose(grading.ROOT, target)
    shutil.rmtree(target / "pretraining")  # nobody hands it in
    return target


@pytest.fixture
def run(runner, pools) -> Callable[..., Results]:
    """Grade a submission; a module may have a `runner` or `pools` of its own."""

    def run(
        submission: Path,
        *wanted: str,
        way: str = "zygote",
        seed: int = 7,
        layers: Layers | None = None,
        answers: Path | None = None,
        **options,
    ) -> Results:
        asked = Options(submission=submission, selection=wanted, **options)
        with pytest.MonkeyPatch.context() as patch:
            if layers is not None:
                patch.setattr(pools[way], "layers", layers)
            if answers is not None:
                patch.setattr(runner.judging, "answers", answers)
            return runner.run(asked, seed, Observer(), pools[way])

    return run


@pytest.fixture
def grade(run) -> Callable[..., dict[str, TestResult]]:
    """Grade a submission; returns results by test id."""
    return lambda *given, **named: {t.spec.test_id: t for t in run(*given, **named).tests}


@pytest.fixture
def grade_hastily(grade, monkeypatch) -> Callable[..., dict[str, TestResult]]:
    """Grade like `grade`, with short limits of CPU time, for code that never ends.

    Right code takes some milliseconds, except with torch, when it is used for the first time.
    Limits of wall time end no test, however busy the machine.
    """
    for_test = Limits.for_test

    def hasty(cpu_s: float, *left_s: float) -> Limits:
        return for_test(cpu_s if cpu_s > 2 else cpu_s / SHORTER, *left_s)

    monkeypatch.setattr(Limits, "for_test", hasty)
    monkeypatch.setattr("grading.worker.WALL_FACTOR", worker.WALL_FACTOR * SHORTER * 10)
    monkeypatch.setattr("grading.worker.IMPORT_S", 5.0)
    return grade


@pytest.fixture
def write_query(submission) -> Callable[[str], Path]:
    """Replace attention_exploration.py by a copying_query with this body."""

    def write(body: str, before: str = "") -> Path:
        text = before + HEAD + textwrap.indent(textwrap.dedent(body), "    ")
        path = submission / "submission" / "attention_exploration.py"
        path.write_text(text, encoding="utf-8")
        return submission

    return write
