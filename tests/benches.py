"""Benches, on which the grader's tests are run on variants (see variants.py).

Each variant changes a line or two of the same reference, and is asked the same questions. So the
reference is composed once, and each question is put to it once.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from autograder.isolation import confined_pool
from autograder.judging import Judging, course_runner
from grading import wire
from grading.cases import BoundTest, Run, bind
from grading.edition import Assignment, TestSpec, load_assignment
from grading.pool import Finished, InProcessPool, Job, LocalPool, Pool, clean_environment
from grading.runner import judge
from grading.staging import Staged, stage
from grading.verdicts import TestResult
from questions.course import Course
from questions.provided import CourseData
from tests import pinned

from .variants import ROOT, Variant, lay_out

# "in process" takes a third of the time of "local", whose processes are a student's.
POOLS = {
    "in process": InProcessPool,
    "local": lambda: LocalPool(hash_seed=1),
    "confined": lambda: confined_pool(hash_seed=1),
}


class RememberingPool:
    """A pool that asks the reference each question once: its answer depends on nothing else."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._answers: dict[bytes, Finished] = {}

    def run(self, job: Job) -> Finished:
        if job.role != "reference":
            return self._pool.run(job)
        request = job.request
        question = wire.encode([request["probe"], str(request["seed"]), request["args"]])
        if question not in self._answers:
            self._answers[question] = self._pool.run(job)
        return self._answers[question]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


class Bench:
    """Runs the grader's tests on variants, whose jobs share workers."""

    def __init__(self, work: Path, pool: str = "in process") -> None:
        """
        Args:
            work: an empty folder.
            pool: a key of POOLS.
        """
        self._assignment = _with_every_topic()
        self._work = work
        data = work / "data"
        data.mkdir()
        (data / "dataset.json").write_text('{"name": "world"}\n', encoding="utf-8")
        self._data = CourseData(self._assignment, data, None)
        self._runner = course_runner(self._assignment, Course())
        judging = self._runner.judging
        assert isinstance(judging, Judging)
        self.pool: Pool = RememberingPool(POOLS[pool]())
        self.hidden, self.judges = judging.hidden, judging.judges
        self.tests = bind(self._every_test(), Course().cases())
        self._complete = lay_out(None, work / "complete")
        self._reference = work / "reference"
        Judging.stage_reference(self._reference, Course().provided)
        self._add_recipes(self._reference)

    def _every_test(self) -> tuple[TestSpec, ...]:
        """The tests of each topic, as the first edition that has it gives them."""
        found: dict[str, tuple[TestSpec, ...]] = {}
        for edition in self._assignment.editions.values():
            for question in edition.questions:
                found.setdefault(question.topic, question.tests)
        return tuple(test for tests in found.values() for test in tests)

    def verdicts(
        self, variant: Variant | None, tests: list[BoundTest], seed: int
    ) -> dict[tuple[str, str], TestResult]:
        """Run `tests` on a variant, or on the reference (None); by topic and name."""
        with self._staged(variant) as (staged, work):
            run = Run(
                assignment=self._assignment,
                edition=self._assignment.edition(None),
                judging=self._runner.judging,
                find_probe=Course().probe,
                staged=staged,
                work=work,
                pool=self.pool,
                data=self._data,
                seed=seed,
                deadline=time.monotonic() + 3600,
                to_confirm=0,  # what a job leaves behind would change verdicts here
            )
            staged.reference = self._reference
            self.pool.admit(work, staged.root, [])
            results = [
                judge(run, t, TestResult(spec=t.spec, description=t.description)) for t in tests
            ]
        return {(r.spec.topic, r.spec.name): r for r in results}

    @contextmanager
    def _staged(self, variant: Variant | None) -> Iterator[tuple[Staged, Path]]:
        name = variant.name.replace("/", ".") if variant else "reference"
        work = self._work / f"{name}.{time.monotonic_ns()}"
        try:
            lay_out(variant, work / "source", self._complete)
            (work / "staged").mkdir()
            staged = stage(work / "source", work / "staged", Course().provided)
            self._add_recipes(staged.root)
            yield staged, work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _add_recipes(self, root: Path) -> None:
        Course().prepare(self._assignment, root)


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
def here(pool: str = "in process") -> Bench:
    """Return this process's bench of a kind; the process is one of `open_executor`."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o711)
    return Bench(folder, pool)
