"""Benches, on which the grader's tests are run on variants (see variants.py).

Each variant changes a line or two of the same reference, and is asked the same questions. So the
reference is composed once, and each question is put to it once.
"""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from autograder.isolation import ConfinedPool
from autograder.judging import Judging, course_runner
from grading import wire
from grading.cases import BoundTest, Run, bind
from grading.edition import Assignment, Question, load_assignment
from grading.pool import Finished, InProcessPool, Job, LocalPool, Pool, clean_environment
from grading.runner import judge
from grading.staging import Staged, stage
from grading.verdicts import TestResult
from questions.course import Course
from questions.provided import CourseData
from tests import pinned

from .variants import ROOT, Variant, lay_out

# Those of "local" are a student's. "in process" takes less time, and judges can be changed there.
POOLS = {
    "in process": InProcessPool,
    "local": lambda: LocalPool(hash_seed=1),
    "confined": lambda: ConfinedPool(hash_seed=1),
}

KEPT_BYTES = 200 << 20  # of remembered answers; the largest is of 25 MB


class RememberingPool:
    """A pool that asks the reference each question once: its answer depends on nothing else.

    Attributes:
        roles: of the jobs whose answers are remembered, by all such pools of this process.
    """

    roles: tuple[str, ...] = ("reference",)
    _answers: ClassVar[dict[bytes, Finished]] = {}

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # The reference needs no process of its own besides a student's.
        self._of_the_reference = InProcessPool() if isinstance(pool, LocalPool) else pool

    def run(self, job: Job) -> Finished:
        if job.role not in self.roles:
            return self._pool.run(job)
        request, answers = job.request, self._answers
        words = [job.role, request["probe"], str(request["seed"]), request["args"]]
        question = hashlib.sha256(wire.encode(words)).digest()
        if question not in answers:
            answers[question] = self._of_the_reference.run(job)
        while sum(len(each.frame or b"") for each in answers.values()) > KEPT_BYTES:
            del answers[next(iter(answers))]  # the oldest
        return answers[question]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


class Bench:
    """Runs the grader's tests on variants, whose jobs share workers."""

    def __init__(self, work: Path, pool: Pool | None = None) -> None:
        """
        Args:
            work: an empty folder.
            pool: by default, the one in this process.
        """
        self._assignment, self._work = _with_every_topic(), work
        (work / "data").mkdir()
        (work / "data/dataset.json").write_text('{"name": "world"}\n', encoding="utf-8")
        self._data = CourseData(self._assignment, work / "data", None)
        self._judging = course_runner(self._assignment, Course()).judging
        self.pool = RememberingPool(pool or InProcessPool())
        self.tests = every_test(self._assignment)
        self._complete = lay_out(None, work / "complete")
        self._reference = work / "reference"
        Judging.stage_reference(self._reference, Course().provided)
        Course().prepare(self._assignment, self._reference)

    def run(self, staged: Staged, work: Path, seed: int) -> Run:
        """Return a run of the grader on a staged submission."""
        staged.reference = self._reference
        return Run(
            assignment=self._assignment,
            edition=self._assignment.edition(None),
            judging=self._judging,
            find_probe=Course().probe,
            staged=staged,
            work=work,
            pool=self.pool,
            data=self._data,
            seed=seed,
            deadline=time.monotonic() + 3600,
            to_confirm=0,  # what a job leaves behind would change verdicts here
        )

    def verdicts(
        self, variant: Variant | None, tests: list[BoundTest], seed: int
    ) -> dict[tuple[str, str], TestResult]:
        """Run `tests` on a variant, or on the reference (None); by topic and name."""
        with tempfile.TemporaryDirectory(dir=self._work, ignore_cleanup_errors=True) as folder:
            work = Path(folder)
            work.chmod(0o755)  # users of confined workers enter it
            lay_out(variant, work / "source", self._complete)
            (work / "staged").mkdir()
            staged = stage(work / "source", work / "staged", Course().provided)
            Course().prepare(self._assignment, staged.root)
            run = self.run(staged, work, seed)
            self.pool.admit(work, staged.root, [])
            results = [
                judge(run, t, TestResult(spec=t.spec, description=t.description)) for t in tests
            ]
        return {(r.spec.topic, r.spec.name): r for r in results}


def every_test(assignment: Assignment) -> list[BoundTest]:
    """Return the tests of each topic, as the first edition that has it gives them.

    Those that a course has dropped are judged like the others.
    """
    found: dict[str, Question] = {}
    for edition in assignment.editions.values():
        for question in edition.questions:
            found.setdefault(question.topic, question)
    tests = bind([*found.values()], Course().cases())
    return [replace(test, spec=replace(test.spec, dropped="")) for test in tests]


def _with_every_topic() -> Assignment:
    """The editions that tests know by heart, and the shipped ones, which may have other topics."""
    known, shipped = pinned.load(), load_assignment(ROOT)
    others = {f"shipped {name}": edition for name, edition in shipped.editions.items()}
    return replace(known, editions=known.editions | others)


@contextmanager
def open_executor(count: int = 0) -> Iterator[Executor]:
    """Open processes whose functions have benches: `here()`.

    Args:
        count: how many; by default one for each processor, at most four.
    """
    count = count or min(os.cpu_count() or 1, 4)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="golden-") as work:
        Path(work).chmod(0o711)  # the users of confined workers pass through
        with ProcessPoolExecutor(count, context, _begin, (work,)) as executor:
            yield executor


def _begin(work: str) -> None:
    os.environ.update(clean_environment(hash_seed=1))
    tempfile.tempdir = work


@functools.cache
def here(pool: str) -> Bench:
    """Return this process's bench of a kind; the process is one of `open_executor`."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o711)
    return Bench(folder, POOLS[pool]())
